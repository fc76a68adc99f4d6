"""The launch plan of one node: what would be executed, with the numbers and places behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pd_launch.launcher.render import ProfileSide, argument_words
from pd_launch.launcher.secrets import MASK, is_secret
from pd_launch.schemas.budget import host_blocks
from pd_launch.schemas.finding import Finding, Summary, TargetInfo
from pd_launch.schemas.host_memory import ring_bytes
from pd_launch.schemas.kv_geometry import geometry_of
from pd_launch.schemas.launch import NodeLaunch
from pd_launch.schemas.models import model_of
from pd_launch.schemas.offload import budget_of, offloads
from pd_launch.schemas.parallel import device_range
from pd_launch.schemas.plan import BudgetPlan, LaunchPlan, Place, PortUse, ProcessPlan
from pd_launch.schemas.ports import all_ports, first_rank
from pd_launch.schemas.target import Target
from pd_launch.schemas.values import Origin, Unknown
from pd_launch.schemas.whole import whole

PROGRAM = "vllm"


@dataclass(frozen=True)
class Word:
    """A word of the command, and the place that it came from."""

    text: str
    origin: Origin | None = None
    secret: bool = False
    asked: str = ""
    """The shell variable that a script asks for instead, where the word is a secret or not known before the launch."""

    @property
    def shown(self) -> str:
        """The word, or a mask where it is a secret."""
        return MASK if self.secret else self.text


def command_words(launch: NodeLaunch) -> list[Word]:
    """Return the whole command."""
    words = [Word(PROGRAM), Word("serve")]
    if launch.model is not None:
        words.append(Word(str(launch.model.value), launch.model.origin))
    for text, arg, value in argument_words(launch.args):
        if value is None:
            words.append(Word(text, arg.origin))
            continue
        secret = is_secret(arg.name)
        name = _variable_name(arg.name)
        count = (arg.value, *arg.more).index(value)
        asked = f"{name}_{count + 1}" if count else name
        words.append(Word(text, value.origin, secret, asked if secret or not value.known else ""))
    return words


def _variable_name(name: str) -> str:
    """Return the shell variable that stands for an option; any text may be an option's name in a profile."""
    made = re.sub(r"[^A-Z0-9_]", "_", name.upper())
    return f"_{made}" if made[:1].isdigit() else made


def environment(launch: NodeLaunch) -> dict[str, str]:
    """Return the variables that the launch sets; an ``auto`` that is not resolved stays ``auto``."""
    values = {name: variable.value.value for name, variable in launch.env.items()}
    return {name: value.text if isinstance(value, Unknown) else str(value) for name, value in values.items()}


def make_plan(
    name: str,
    side: ProfileSide,
    target: Target,
    launches: Sequence[NodeLaunch],
    findings: list[Finding],
    files: int = 1,
) -> LaunchPlan:
    """Return the plan for the launches of one node; at least one. Secrets are masked."""
    processes = [_process(launch) for launch in launches]
    first = processes[0]
    return LaunchPlan(
        role=side,
        name=name,
        target=TargetInfo.of(target),
        argv=first.argv,
        env=first.env,
        kv_transfer_config=first.kv_transfer_config,
        additional_config=first.additional_config,
        budget=_budget(launches, target),
        ports=first.ports,
        devices=first.devices,
        findings=findings,
        summary=Summary.of(findings, files),
        provenance=_provenance(launches[0]),
        processes=processes,
    )


def _process(launch: NodeLaunch) -> ProcessPlan:
    argv = [word.shown for word in command_words(launch)]
    kv_transfer, additional = launch.kv_transfer, launch.additional
    return ProcessPlan(
        node=launch.node_rank,
        dp_rank=first_rank(launch) if launch.external_dp else None,
        argv=argv,
        env={name: MASK if is_secret(name) else value for name, value in environment(launch).items()},
        kv_transfer_config=kv_transfer.plain() if kv_transfer else None,
        additional_config=additional.plain() if additional else None,
        ports=[PortUse(port=p.first, count=p.count, use=p.use, binds=p.binds) for p in all_ports(launch)],
        devices=launch_devices(launch),
    )


def launch_devices(launch: NodeLaunch) -> list[int] | None:
    """Return the device numbers that a launch takes on its node; None where it needs none or they are unknown."""
    hardware, world, engines = launch.hardware, launch.world_size, launch.local_engines
    if hardware is None or hardware.device_variable is None or world is None or engines is None:
        return None
    written = launch.env.get(hardware.device_variable)
    if written is None:
        return list(device_range(0, world * engines))
    numbers = [whole(part.strip()) for part in (launch.variable(hardware.device_variable) or "").split(",")]
    return None if None in numbers else [number for number in numbers if number is not None]


def _budget(launches: Sequence[NodeLaunch], target: Target) -> BudgetPlan:
    launch = launches[0]
    world, data = launch.world_size, launch.data
    local = [node.local_engines for node in launches]
    engines = sum(n for n in local if n is not None) if None not in local else None
    plan: dict[str, Any] = {"ranks_per_engine": world, "engines_on_node": engines}
    if world is not None and data is not None and engines is not None:
        cpu = launch.hardware is not None and launch.hardware.kind == "cpu"
        plan["shm_bytes"] = ring_bytes(world, data, engines, cpu)
    offload = next(iter(offloads(launch)), None)
    budget = budget_of(launch, offload, target) if offload is not None else None
    if budget is not None:
        plan["per_rank_bytes"] = budget.per_rank_bytes
        plan["per_engine_bytes"] = budget.per_engine_bytes
        plan["per_node_bytes"] = None if engines is None else budget.per_node_bytes(engines)
        plan["decided_by"] = budget.source
        geometry = geometry_of(launch, model_of(launch), target)
        if budget.per_rank_bytes is not None and geometry is not None and geometry.exact:
            plan["blocks"] = host_blocks(budget.per_rank_bytes, geometry.block_bytes)
    return BudgetPlan(**plan)


def _provenance(launch: NodeLaunch) -> dict[str, Place]:
    places = {f"/argv/{i}": word.origin for i, word in enumerate(command_words(launch)) if word.origin is not None}
    places |= {f"/env/{name}": variable.value.origin for name, variable in launch.env.items()}
    return {key: Place(file=o.file, line=o.line, column=o.column, via=o.via) for key, o in places.items()}
