"""The launch plan of one node: what would be executed, with its numbers and where they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from pd_launch.launcher.secrets.masking import MASK, Held, is_held, is_secret_flag, mask, tells
from pd_launch.launcher.sources.profiles.arguments import argument_words, json_text
from pd_launch.schemas.core.findings import Finding, Summary
from pd_launch.schemas.core.launch import Arg, NodeLaunch, ProfileSide
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.parallel import device_range
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Choice, Target
from pd_launch.schemas.core.values import Node, Origin, Unknown
from pd_launch.schemas.core.whole import whole
from pd_launch.schemas.engine.budget import host_blocks
from pd_launch.schemas.engine.offload import budget_of, offloads
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.ports import all_ports
from pd_launch.schemas.finding import FileTarget, TargetInfo
from pd_launch.schemas.memory.host_memory import ring_bytes
from pd_launch.schemas.memory.kv_geometry import geometry_of
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.plan import BudgetPlan, LaunchPlan, Place, PortUse, ProcessPlan

PROGRAM = "vllm"


@dataclass(frozen=True)
class Part:
    """A part of a word; ``asked`` is the shell variable that a script asks for in place of a secret."""

    text: str
    asked: str = ""


@dataclass(frozen=True)
class Word:
    """A word of the command, and the place that it came from."""

    text: str
    origin: Origin | None = None
    secret: bool = False
    asked: str = ""
    """The shell variable that a script asks for instead, where the word is a secret or not known before the launch."""
    parts: tuple[Part, ...] = ()
    """The parts of a JSON word in which single values are secret."""

    @property
    def shown(self) -> str:
        """The word, or a mask where it is a secret."""
        if self.parts:
            return "".join(MASK if part.asked else part.text for part in self.parts)
        return MASK if self.secret else self.text

    @property
    def asks(self) -> list[str]:
        """The shell variables that a script asks for."""
        return [name for name in (self.asked, *(part.asked for part in self.parts)) if name]

    def quoted(self, quote: Callable[[str], str]) -> str:
        """Return the word as a shell reads it; what is asked for is a variable."""
        parts = self.parts or (Part(self.text, self.asked),)
        return "".join(f'"${{{part.asked}:?}}"' if part.asked else quote(part.text) for part in parts)


def command_words(launch: NodeLaunch, held: Held | None = None) -> list[Word]:
    """Return the whole command. ``held`` is what is secret in the launch, where that is known already."""
    held = held or Held.of([launch])
    words = [Word(PROGRAM), Word("serve")]
    if launch.model is not None:
        text = str(launch.model.value)
        secret = held.in_text(text)
        words.append(Word(text, launch.model.origin, secret, "MODEL" if secret else ""))
    for text, arg, value in argument_words(launch.args):
        words.append(Word(text, arg.origin) if value is None else _value_word(text, arg, value, held))
    return words


def shown_words(launch: NodeLaunch, held: Held) -> list[str]:
    """Return the whole command as it may be shown: names too may be secrets."""
    return [mask(word.shown, held.secrets) for word in command_words(launch, held)]


def _value_word(text: str, arg: Arg, value: Node, held: Held) -> Word:
    name = variable_name(arg.name)
    count = (arg.value, *arg.more).index(value)
    asked = f"{name}_{count + 1}" if count else name
    if is_secret_flag(arg.name):
        return Word(text, value.origin, True, asked)
    if isinstance(value.value, (dict, list)):
        parts = json_parts(value, asked, held)
        return Word(text, value.origin, len(parts) > 1, parts=parts if len(parts) > 1 else ())
    secret = held.in_text(text)
    return Word(text, value.origin, secret, asked if secret or not value.known else "")


def variable_name(name: str) -> str:
    """Return the shell variable that stands for an option; any text may be an option's name in a profile."""
    made = re.sub(r"[^A-Z0-9_]", "_", name.upper())
    return f"_{made}" if made[:1].isdigit() else made


def json_parts(node: Node, name: str, held: Held) -> tuple[Part, ...]:
    """Return a JSON argument in parts, each value that is secret as one of its own: its text without its quotes."""
    hidden: list[Part] = []

    def without(value: Any, path: str, secret: bool) -> Any:
        if isinstance(value, dict):
            return {k: without(v, f"{path}_{k}", secret or tells(str(k), v)) for k, v in value.items()}
        if isinstance(value, list):
            return [without(v, f"{path}_{i}" if i else path, secret) for i, v in enumerate(value)]
        if not (is_held(value) and (secret or held.in_text(str(value)))):
            return value
        written = json.dumps(value, ensure_ascii=False)
        hidden.append(Part(written.strip('"') if isinstance(value, int) else written[1:-1], variable_name(path)))
        return f"\0{len(hidden) - 1}\0" if isinstance(value, str) else f"\0{len(hidden) - 1}\0number"

    text = json_text(without(node.plain(), name, False))
    parts: list[Part] = []
    at = 0
    for match in _HIDDEN.finditer(text):
        quote = "" if match["number"] else '"'
        parts += [Part(text[at : match.start()] + quote), hidden[int(match["index"])]]
        at = match.end() - len(quote)
    return (*parts, Part(text[at:]))


_HIDDEN = lazy_pattern(r'"\\u0000(?P<index>\d+)\\u0000(?P<number>number)?"')


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
    held = Held.of(launches)
    processes = [_process(launch, held) for launch in launches]
    first = processes[0]
    return LaunchPlan(
        role=side,
        name=name,
        target=TargetInfo.of(target),
        targets=[FileTarget.of_file(launches[0].origin.file, Choice.of(target))],
        argv=first.argv,
        env=first.env,
        kv_transfer_config=first.kv_transfer_config,
        additional_config=first.additional_config,
        budget=_budget(launches, target),
        ports=first.ports,
        devices=first.devices,
        findings=findings,
        summary=Summary.of(findings, files),
        provenance=_provenance(launches[0], held),
        processes=processes,
    )


def _process(launch: NodeLaunch, held: Held) -> ProcessPlan:
    kv_transfer, additional = launch.kv_transfer, launch.additional
    return ProcessPlan(
        node=launch.node_rank,
        dp_rank=first_rank(launch) if launch.external_dp else None,
        argv=shown_words(launch, held),
        env=held.keyed({name: held.value_of(name, value) for name, value in environment(launch).items()}),
        kv_transfer_config=held.masked(kv_transfer.plain()) if kv_transfer else None,
        additional_config=held.masked(additional.plain()) if additional else None,
        ports=[PortUse(port=p.first, count=p.count, use=p.use, binds=p.binds) for p in all_ports(launch)],
        devices=launch_devices(launch),
    )


def launch_devices(launch: NodeLaunch) -> list[int] | None:
    """Return the device numbers that a launch takes on its node; None where it needs none or they are unknown."""
    hardware, world, engines = launch.hardware, launch.local_world, launch.local_engines
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
        plan["shm_bytes"] = ring_bytes(launch.local_world or world, data, engines, cpu)
    offload = next(iter(offloads(launch)), None)
    budget = budget_of(launch, offload, target) if offload is not None else None
    if budget is not None:
        plan["per_rank_bytes"] = budget.per_rank_bytes
        plan["per_engine_bytes"] = budget.per_engine_bytes
        plan["per_node_bytes"] = None if engines is None else budget.per_node_bytes(engines, launch.local_world)
        plan["decided_by"] = budget.source
        geometry = geometry_of(launch, model_of(launch), target)
        if budget.per_rank_bytes is not None and geometry is not None and geometry.exact:
            plan["blocks"] = host_blocks(budget.per_rank_bytes, geometry.block_bytes)
    return BudgetPlan(**plan)


def _provenance(launch: NodeLaunch, held: Held) -> dict[str, Place]:
    words = enumerate(command_words(launch, held))
    places = {f"/argv/{i}": word.origin for i, word in words if word.origin is not None}
    variables = held.keyed({name: variable.value.origin for name, variable in launch.env.items()})
    places |= {f"/env/{name}": origin for name, origin in variables.items()}
    return {key: Place(file=o.file, line=o.line, column=o.column, via=o.via) for key, o in places.items()}
