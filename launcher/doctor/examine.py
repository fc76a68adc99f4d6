"""This host against a profile, or by itself: the rules that ask for host facts, and a line for each fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pd_launch.launcher.check.fix import vetted_profile
from pd_launch.launcher.check.run import Selection, check
from pd_launch.launcher.doctor.rows import Needs, Row, judged, rows_of
from pd_launch.launcher.launch.prepare import no_such_node
from pd_launch.launcher.launch.program import Refused, check_model, find_program
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.secrets.masking import all_secrets, hide
from pd_launch.launcher.sources.profiles.deployment import profile_deployment
from pd_launch.launcher.sources.profiles.load import LoadedProfile
from pd_launch.launcher.sources.release.targets import Given, assumed, decided
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.launch import Deployment, NodeLaunch, ProfileSide
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.machines import by_machine, offload_bytes
from pd_launch.schemas.memory.shared_memory import shm_need

HOST = "<host>"
_ALONE = ("PD310", "PD413", "PD414", "PD901")
"""The rules that say something of a host without a profile."""


@dataclass
class Examination:
    """What was found. ``readable`` is False where the profile is not valid, so that nothing could be compared."""

    deployment: Deployment
    rows: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    readable: bool = True

    @property
    def status(self) -> int:
        """0 fits, 1 findings, 2 unreadable."""
        if not self.readable:
            return 2
        serious = any(f.severity != "info" for f in self.findings)
        return int(serious or any(row.status in ("error", "warning") for row in self.rows))


@dataclass(frozen=True)
class Subject:
    """Which part of a profile this host is compared with; None is all of it."""

    side: ProfileSide | None = None
    node_rank: int | None = None


def examine_host(
    facts: dict[str, Any], target: Target | None, lang: str, installed: Target | None = None
) -> Examination:
    """Look at the host by itself. It counts as an Ascend host where it has NPUs or vllm-ascend."""
    ascend = bool(facts.get("devices") or facts.get("npus") or "vllm_ascend" in facts)
    node = NodeLaunch("command", Origin(HOST, 1, 1, 1, 1), "host")
    node.hardware = HARDWARE["a3" if ascend else "cuda"]
    given = Given.of(target, None, facts, installed)
    found = decided([*([target] if target else []), *given.installed], (ascend,)).decided or assumed(ascend)
    deployment = Deployment(found, [node], host=facts, ascend=ascend)
    findings = check([deployment], Selection(select=_ALONE), lang)
    examination = Examination(deployment, judged(rows_of(facts, None, ascend), findings), findings)
    examination.rows.append(_program())
    return examination


def examine_profile(
    loaded: LoadedProfile,
    facts: dict[str, Any],
    target: Target | None,
    subject: Subject,
    lang: str,
    here: bool,
    installed: Target | None = None,
) -> Examination:
    """Compare the host with a profile. ``here`` tells whether the facts are of this machine.

    ``installed`` is the build that this machine has installed, where its files were read.

    Raises:
        Refused: the profile has no such side or node.
    """
    deployment = profile_deployment(loaded, Given.of(target, None, facts, installed), facts, assume=True)
    if loaded.profile is None:
        return Examination(
            deployment, findings=_shown(check([deployment], lang=lang), deployment, lang), readable=False
        )
    _keep(deployment, subject)
    codes = [code for code, rule in all_rules().items() if "H" in rule.needs.split()]
    examination = Examination(deployment)
    examination.findings = _shown(check([deployment], Selection(select=codes), lang), deployment, lang)
    examination.rows = judged(rows_of(facts, _needs(deployment), deployment.ascend), examination.findings)
    if here:
        examination.rows += [_program(), *_models(deployment.nodes)]
    return examination


def _shown(findings: list[Finding], deployment: Deployment, lang: str) -> list[Finding]:
    return hide(vetted_profile(findings, deployment, lang), all_secrets([deployment]))


def _keep(deployment: Deployment, subject: Subject) -> None:
    nodes = [n for n in deployment.nodes if subject.side in (None, n.side)]
    if not nodes:
        raise Refused(Msg(f"the profile has no section {subject.side}", f"配置文件中没有 {subject.side} 这一侧"))
    kept = [n for n in nodes if subject.node_rank in (None, n.node_rank)]
    if not kept:
        last = max(n.node_rank for n in nodes)
        raise Refused(no_such_node(subject.node_rank or 0, last))
    deployment.nodes = kept


def _needs(deployment: Deployment) -> Needs:
    """Return the most that one machine of the deployment needs; what is unknown of one launch makes the sum unknown."""
    offloads: list[int | None] = []
    rings: list[int | None] = []
    ranks: list[int | None] = []
    for nodes in by_machine(deployment):
        shm = [shm_need(node, deployment.target) for node in nodes]
        offloads.append(_total([offload_bytes(node, deployment) for node in nodes]))
        rings.append(_total([None if one is None else one.total for one in shm]))
        ranks.append(_total([_ranks(node) for node in nodes]))
    on_devices = any(node.hardware is None or node.hardware.kind != "cpu" for node in deployment.nodes)
    return Needs(_most(offloads), _most(rings), _most(ranks), on_devices)


def _ranks(node: NodeLaunch) -> int | None:
    return None if node.local_world is None or node.local_engines is None else node.local_world * node.local_engines


def _total(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _most(parts: Sequence[int | None]) -> int | None:
    return max((part for part in parts if part is not None), default=None)


def _program() -> Row:
    label = Msg("engine program", "引擎程序")
    try:
        return Row("program", label, Msg(found := find_program(), found), "ok")
    except Refused as refused:
        return Row("program", label, refused.said, "error")


def _models(nodes: Sequence[NodeLaunch]) -> list[Row]:
    rows = []
    for model in dict.fromkeys(str(node.model.value) for node in nodes if node.model is not None):
        if not Path(model).is_absolute() and not model.startswith(("./", "../")):
            continue  # a hub name is not looked at
        try:
            check_model(model)
            rows.append(Row("model", Msg("model", "模型"), Msg(model, model), "ok"))
        except Refused as refused:
            rows.append(Row("model", Msg("model", "模型"), refused.said, "error"))
    return rows
