"""From a profile to a launch: load, render, check, and plan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from pd_launch.launcher import host as host_module
from pd_launch.launcher.check.fix import vetted_profile
from pd_launch.launcher.check.run import check
from pd_launch.launcher.inputs import host_option, installed_option, read_profile
from pd_launch.launcher.launch.plan import make_plan
from pd_launch.launcher.launch.program import Refused, find_program
from pd_launch.launcher.secrets.masking import all_secrets, hide
from pd_launch.launcher.sources.engine.command_line import read_arguments
from pd_launch.launcher.sources.engine.named import COMMAND_LINE
from pd_launch.launcher.sources.profiles.arguments import replace_arguments
from pd_launch.launcher.sources.profiles.deployment import profile_deployment
from pd_launch.launcher.sources.profiles.load import LoadedProfile, load_profile
from pd_launch.launcher.sources.profiles.shipped import find_profile
from pd_launch.launcher.sources.release.targets import Given
from pd_launch.launcher.sources.text.interpolate import GIVEN, expand
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.launch import Deployment, EnvVar, NodeLaunch, ProfileSide
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, SourceFile, Text, Unknown
from pd_launch.schemas.engine.connector_ports import NIXL_HOST
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.plan import LaunchPlan


@dataclass(frozen=True)
class LaunchOptions:
    """What ``decode`` and ``prefill`` were asked."""

    side: ProfileSide
    profile: str
    settings: Sequence[str] = ()
    extra: Sequence[str] = ()
    dry_run: bool = False
    node_rank: int | None = None
    dp_rank: int | None = None
    host: bool | None = None
    host_facts: str | None = None
    """A file that describes the machine, for a dry run."""
    force: Sequence[str] = ()
    target: Target | None = None
    config: Target | None = None
    """The target of the configuration file."""
    lang: str = "en"
    grace: float | None = None
    show_origin: bool = False
    ready_timeout: float | None = None
    health: float | None = None
    """Seconds between looks at engines that were ready; 0: never; None: as often as the place wants."""
    restart: int | None = None
    log_dir: str | None = None
    log_size: int | None = None
    """Bytes of a log file before the next one begins."""
    log_files: int | None = None
    notify: bool = False
    whole: bool = False
    """Whether all nodes of both sides are asked for, as forms that describe the whole deployment need them."""
    addressed: bool = False
    """Whether the form gives NixlConnector each node's own address."""

    @property
    def watched(self) -> bool:
        """Whether something is asked for that only a supervisor can do, also of one engine alone."""
        return bool(self.ready_timeout or self.health or self.restart or self.log_dir or self.notify)


@dataclass
class Launch:
    """A prepared launch. ``launches`` are this node's processes; ``blocking`` the errors that keep it from starting."""

    options: LaunchOptions
    loaded: LoadedProfile
    deployment: Deployment
    findings: list[Finding]
    launches: list[NodeLaunch] = field(default_factory=list)
    plan: LaunchPlan | None = None
    whole: Deployment | None = None
    """All nodes of both sides, where they were asked for."""

    @property
    def blocking(self) -> list[Finding]:
        """Errors whose code is not forced; where nothing could be rendered, nothing can be forced."""
        forced = {code.upper() for code in self.options.force} if self.launches else set()
        return [f for f in self.findings if f.severity == "error" and f.code not in forced]


def prepare(options: LaunchOptions) -> Launch:
    """Load, render and check a profile for one side.

    Raises:
        ProfileNotFound: there is no such profile.
        SettingError: a ``--set`` cannot be applied.
        Refused: the profile has no such side, or this node's rank is not known.
    """
    source = read_profile(str(find_profile(options.profile)))
    loaded = load_profile(source, options.settings)
    use_host = (not options.dry_run) if options.host is None else options.host
    facts = host_option(use_host, options.host_facts)
    installed = installed_option(use_host or not options.dry_run, options.host_facts, _program())
    facts = _with_versions(facts, installed)
    given = Given.of(options.target, options.config, facts, installed)
    deployment = profile_deployment(loaded, given, facts, single=options.dp_rank is not None, assume=True)
    _add_extra(deployment, options)
    if options.addressed:
        _address(deployment)
    whole = replace(deployment)
    _keep_side(deployment, options)
    if not options.dry_run:
        _resolve(deployment)
    findings = _findings(whole, deployment, options)
    launch = Launch(options, loaded, deployment, findings, whole=whole if options.whole else None)
    if loaded.profile is not None and deployment.nodes:
        launch.launches = _this_node(deployment.nodes, options)
        launch.findings = _with_host(findings, deployment, launch.launches, options.lang)
    launch.findings = hide(vetted_profile(launch.findings, deployment, options.lang), all_secrets([deployment]))
    if loaded.profile is None or not launch.launches:
        return _without_launches(launch)
    launch.plan = make_plan(loaded.profile.name, options.side, deployment.target, launch.launches, launch.findings)
    return launch


def _with_versions(facts: dict[str, Any] | None, installed: Target | None) -> dict[str, Any] | None:
    """Return the facts with the versions of the build that is launched, which may be another Python's."""
    build = installed.build if installed is not None else None
    if facts is None or build is None:
        return facts
    parts = {"vllm": build.vllm, "vllm_ascend": build.ascend}
    return {**facts, **{name: part.version for name, part in parts.items() if part is not None and part.version}}


def _program() -> str | None:
    """Return the vllm that a launch starts; None where there is none, of which the launch itself speaks."""
    try:
        return find_program()
    except Refused:
        return None


def _without_launches(launch: Launch) -> Launch:
    """Say why there is nothing to launch, where no finding does."""
    if not any(finding.severity == "error" for finding in launch.findings):
        path, side = launch.loaded.source.path, launch.options.side
        raise Refused(Msg(f"{path} has no section {side}", f"{path} 中没有 {side} 这一侧"))
    return launch


def _findings(whole: Deployment, own: Deployment, options: LaunchOptions) -> list[Finding]:
    """Return what `check` says of both sides, without what it would say of the other side alone.

    So that a launch of either side goes by what `check` reports: each of its findings is one of this side, of the
    other, or of both and then of what is between them.
    """
    other = [node for node in whole.nodes if node.side != options.side]
    found = check([replace(whole, host=None)], lang=options.lang)
    if not other:
        return found
    here, there = (
        {finding.identity() for finding in check([replace(whole, nodes=nodes, host=None)], lang=options.lang)}
        for nodes in (own.nodes, other)
    )
    return [finding for finding in found if finding.identity() in here or finding.identity() not in there]


def _with_host(findings: list[Finding], deployment: Deployment, launches: list[NodeLaunch], lang: str) -> list[Finding]:
    """Put in what this host's facts add for its own launches, and take out what they disprove.

    The other nodes' ports, devices and memory are none of its business.
    """
    if deployment.host is None:
        return findings
    own = replace(deployment, nodes=launches)
    known = {finding.identity(): finding for finding in check([own], lang=lang)}
    guessed = {finding.identity(): finding for finding in check([replace(own, host=None)], lang=lang)}
    kept = [
        known.get(finding.identity(), finding)
        for finding in findings
        if finding.identity() not in guessed or finding.identity() in known
    ]
    there = {finding.identity() for finding in kept}
    added = [finding for place, finding in known.items() if place not in guessed and place not in there]
    return sorted([*kept, *added], key=Finding.sort_key)


def _keep_side(deployment: Deployment, options: LaunchOptions) -> None:
    """Check this side alone against this host: the other side runs elsewhere, or is started by its own command."""
    deployment.nodes = [node for node in deployment.nodes if node.side == options.side]


def _add_extra(deployment: Deployment, options: LaunchOptions) -> None:
    texts = []
    for word in options.extra:
        source = SourceFile(COMMAND_LINE, word)
        texts.append(Text.verbatim(source, 0, len(word)))
    for node in deployment.nodes if texts else ():
        if node.side != options.side:
            continue
        extra = NodeLaunch("command", texts[0].origin(), "extra", model=node.model)
        faults = read_arguments(expand(texts, GIVEN), extra)
        deployment.faults += [fault for fault in faults if fault not in deployment.faults]
        replace_arguments(node, extra.args)


def _address(deployment: Deployment) -> None:
    """Let the address at which NixlConnector hands over be the node's own, where the profile names none.

    What the form fills in is then not reported as missing.
    """
    for node in deployment.nodes:
        nixl = next((found for found in connectors(node.kv_transfer) if found.name == "NixlConnector"), None)
        if nixl is not None:
            own = EnvVar(NIXL_HOST, Node(Unknown("auto"), nixl.tree.origin), "profile")
            node.env.setdefault(NIXL_HOST, own)


def no_such_node(rank: int, last: int) -> Msg:
    """Return that a side has no node of this rank."""
    en = f"--node-rank {rank}: this side has the nodes 0 to {last}"
    return Msg(en, f"--node-rank {rank}：这一侧的节点是 0 到 {last}")


def _this_node(nodes: list[NodeLaunch], options: LaunchOptions) -> list[NodeLaunch]:
    if options.dp_rank is not None:
        return _one_rank(nodes, options.dp_rank, options.node_rank)
    ranks = sorted({node.node_rank for node in nodes})
    rank = options.node_rank if options.node_rank is not None else 0 if options.whole else _own_rank(nodes, ranks)
    if rank is None:
        raise Refused(
            Msg(
                f"this side has {len(ranks)} nodes and none has an address of this host:"
                " say which it is with --node-rank",
                f"这一侧有 {len(ranks)} 个节点，地址都不属于本机：请用 --node-rank 指明是哪一个",
            )
        )
    mine = [node for node in nodes if node.node_rank == rank]
    if not mine:
        raise Refused(no_such_node(rank, ranks[-1]))
    return mine


def _one_rank(nodes: list[NodeLaunch], dp_rank: int, node_rank: int | None) -> list[NodeLaunch]:
    """Return the launch of one rank of external DP; the rank tells the node too."""
    ranks = [node for node in nodes if node.external_dp]
    if not ranks:
        en = f"--dp-rank {dp_rank}: only external DP has a command for each rank"
        raise Refused(Msg(en, f"--dp-rank {dp_rank}：只有外部 DP 的每个 rank 才有自己的命令"))
    chosen = [node for node in ranks if first_rank(node) == dp_rank]
    if not chosen:
        en = f"--dp-rank {dp_rank}: this side has the ranks 0 to {len(ranks) - 1}"
        raise Refused(Msg(en, f"--dp-rank {dp_rank}：这一侧的 rank 是 0 到 {len(ranks) - 1}"))
    if node_rank is not None and chosen[0].node_rank != node_rank:
        own = chosen[0].node_rank
        en = f"--dp-rank {dp_rank} runs on node {own}, not on --node-rank {node_rank}"
        raise Refused(Msg(en, f"--dp-rank {dp_rank} 在节点 {own} 上运行，而不是 --node-rank {node_rank}"))
    return chosen


def _own_rank(nodes: list[NodeLaunch], ranks: list[int]) -> int | None:
    if len(ranks) == 1:
        return ranks[0]
    own = host_module.addresses()
    return next((node.node_rank for node in nodes if node.host in own), None)


def _resolve(deployment: Deployment) -> None:
    """Fill in what ``auto`` stands for on this host."""
    interface = host_module.default_interface()
    address = next((a for a, name in host_module.addresses().items() if name == interface), None)
    for node in deployment.nodes:
        for name, variable in node.env.items():
            if variable.joins is not None:
                variable.value.value = variable.joins.around(os.environ.get(name))
            elif _is_auto(variable.value):
                found = address if name == "HCCL_IF_IP" else interface
                if found is None:
                    en = f"{name} is auto, and this host has no default route: name the interface and address"
                    raise Refused(Msg(en, f"{name} 是 auto，而本机没有默认路由：请写明网卡和地址"))
                variable.value.value = found
        for master in filter(None, (node.value("data-parallel-address"), node.value("master-addr"))):
            if not _is_auto(master):
                continue
            if address is None or node.node_rank:
                en = "the address of node 0 is auto, which other nodes cannot know: write it"
                raise Refused(Msg(en, "节点 0 的地址是 auto，其他节点无从得知：请写明地址"))
            master.value = address


def _is_auto(node: Node) -> bool:
    return isinstance(node.value, Unknown) and node.value.text == "auto"
