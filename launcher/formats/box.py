"""One container: everything that a profile starts on one node of one side, before any form spells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from pd_launch.launcher.formats.ending import ADD, UNTIL_ONE_ENDS, grace_of, stop_seconds, together
from pd_launch.launcher.formats.words import shell_word
from pd_launch.launcher.launch.plan import Word, command_words, environment, launch_devices
from pd_launch.launcher.secrets.masking import Held
from pd_launch.launcher.sources.profiles.arguments import argument_words
from pd_launch.schemas.core.joins import Join
from pd_launch.schemas.core.launch import Deployment, EnvVar, NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.engine.connector_ports import NIXL_HOST
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.machines import offload_bytes
from pd_launch.schemas.engine.ports import all_ports
from pd_launch.schemas.memory.host_memory import engine_memory
from pd_launch.schemas.memory.shared_memory import ShmNeed, shm_need
from pd_launch.schemas.profile import ContainerSection, Profile

Ask = Literal["", "secret", "auto", "join"]
ADDRESS = ("HCCL_IF_IP", "VLLM_HOST_IP", NIXL_HOST)
"""Variables that name the node's own address."""
SMALLEST_SHM = GIB


class FormatError(Exception):
    """A deployment that a form cannot express; the message says why and what to do."""


@dataclass(frozen=True)
class Variable:
    """A variable of the engine. ``ask`` says that its value is a secret, or known only where the engine runs.

    That of a ``join`` is put around what the variable holds there.
    """

    value: str
    ask: Ask = ""
    join: Join | None = None

    def word(self, name: str, quote: Callable[[str], str]) -> str:
        """Return the value as a word of a shell script."""
        if self.join is None or self.ask == "secret":
            return quote(self.value)
        before = quote(self.join.before) if self.join.before else ""
        after = quote(self.join.after) if self.join.after else ""
        if before and after:
            return f'{before}"${{{name}:+:${name}}}":{after}'
        return f'{before}"${{{name}:+:${name}}}"' if before else f'"${{{name}:+${name}:}}"{after}'


@dataclass(frozen=True)
class Piece:
    """A word of the engine's command. ``raw`` is shell text, for a shell in the container."""

    text: str
    raw: bool = False


Changes = Mapping[str, Piece | None]
"""Arguments by name whose value a form replaces, or leaves out (None)."""


@dataclass
class Box:
    """A container. Sizes are bytes; ``devices`` are the node's device numbers, None where any will do."""

    name: str
    side: str
    number: int
    nodes: int
    image: str
    launches: list[NodeLaunch]
    variables: dict[str, Variable]
    devices: list[int] | None
    ranks: int
    shm: int
    memory: int
    limit: int | None
    section: ContainerSection
    hardware: str
    ascend: bool
    grace: int
    """Seconds between TERM and KILL."""
    stop: int
    """Seconds that whoever stops the container waits before it kills."""
    replicas: int = 1
    """Instances of the whole side."""
    asked_words: dict[str, Ask] = field(default_factory=dict)
    address: str | None = None

    @property
    def own(self) -> list[dict[str, Variable]]:
        """For each launch, the variables that are not the same for all of them."""
        every = [(launch, renumbered(launch, self.devices)) for launch in self.launches]
        return [
            {n: Variable(value, join=launch.env[n].joins) for n, value in one.items() if n not in self.variables}
            for launch, one in every
        ]

    @property
    def joins(self) -> dict[str, Variable]:
        """The variables that are put around what the image says, which only a shell inside can do."""
        return {name: v for name, v in self.variables.items() if v.ask == "join"}

    @property
    def asked(self) -> dict[str, Ask]:
        """The variables that whoever runs the container must give."""
        own = {name: v.ask for name, v in self.variables.items() if v.ask in ("secret", "auto")}
        return own | self.asked_words

    @property
    def secrets(self) -> list[str]:
        """The names of secrets."""
        return [name for name, ask in self.asked.items() if ask == "secret"]


def slug(name: str) -> str:
    """Return ``name`` as Kubernetes, Docker and systemd all accept it."""
    made = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return (f"pd-{made}" if made[:1].isdigit() else made)[:40].rstrip("-") or "pd"


def make_boxes(
    deployment: Deployment, profile: Profile, launches: Sequence[NodeLaunch], grace: float | None = None
) -> list[Box]:
    """Return a box for each node of each side in ``launches``, in their order.

    ``grace`` is the grace period that was asked for, in seconds; None: what the engines themselves need.
    """
    grouped: dict[tuple[str, int], list[NodeLaunch]] = {}
    for launch in launches:
        grouped.setdefault((launch.side or "", launch.node_rank), []).append(launch)
    return [_box(deployment, profile, group, grace) for group in grouped.values()]


def _box(deployment: Deployment, profile: Profile, launches: list[NodeLaunch], grace: float | None) -> Box:
    first, target = launches[0], deployment.target
    section = profile.container or ContainerSection()
    side, number, nodes = first.side or "engine", first.node_rank, first.nodes or 1
    need = sum((n for launch in launches if (n := shm_need(launch, target))), ShmNeed()).total
    budget = sum(offload_bytes(launch, deployment) or 0 for launch in launches)
    ranks = sum((launch.local_world or 1) * (launch.local_engines or 1) for launch in launches)
    devices = _devices(launches)
    held = Held.of(launches)
    words = [word for launch in launches for word in command_words(launch, held)]
    asked = {name: _ask(word.secret) for word in words for name in word.asks}
    hosts = getattr(profile.nodes, side, [])
    return Box(
        f"{slug(profile.name)}-{side}" + (f"-{number}" if nodes > 1 else ""),
        side,
        number,
        nodes,
        section.image or default_image(profile, target),
        launches,
        _common(launches, devices, held),
        devices,
        ranks,
        section.shm_size or _whole(max(SMALLEST_SHM, need + (budget if target.is_ascend else 0))),
        _whole(budget + need + engine_memory(ranks)),
        section.memory,
        section,
        first.hardware.kind if first.hardware else "",
        target.is_ascend,
        grace_of(launches, grace),
        stop_seconds(launches, grace),
        getattr(profile, side).replicas if getattr(profile, side, None) is not None else 1,
        asked,
        hosts[number].address if number < len(hosts) else None,
    )


def _ask(secret: bool) -> Ask:
    return "secret" if secret else "auto"


def _whole(size: int) -> int:
    return -(-size // GIB) * GIB


def _devices(launches: Sequence[NodeLaunch]) -> list[int] | None:
    found: list[int] = []
    for launch in launches:
        devices = launch_devices(launch)
        if devices is None:
            return None
        found += devices
    return sorted(set(found))


def default_image(profile: Profile, target: Target) -> str:
    """Return the image where the profile names none: upstream's, or the one that is built on it for pd-launch."""
    offload = profile.decode.offload if profile.decode else None
    bundled = offload is not None and offload.connector == "bundled"
    kind = profile.hardware_kind().kind
    if target.is_ascend:
        tag = f"v{target.vllm_ascend}" + ("-a3" if kind == "a3" else "")
        return f"vllm-ascend-pd-launch:{tag}" if bundled else f"quay.io/ascend/vllm-ascend:{tag}"
    name = "vllm-cpu" if kind == "cpu" else "vllm-openai"
    return f"{name}-pd-launch:v{target.vllm}" if bundled or kind == "cpu" else f"vllm/{name}:v{target.vllm}"


def renumbered(launch: NodeLaunch, devices: Sequence[int] | None) -> dict[str, str]:
    """Return the launch's variables, with its devices as the container counts its own: from 0."""
    values = environment(launch)
    name = launch.hardware.device_variable if launch.hardware else None
    own = launch_devices(launch) if name in values else None
    if name is not None and own is not None and devices is not None and set(own) <= set(devices):
        if own == list(devices):
            del values[name]  # it sees no others
        else:
            values[name] = ",".join(str(list(devices).index(device)) for device in own)
    return values


def _common(launches: Sequence[NodeLaunch], devices: Sequence[int] | None, held: Held) -> dict[str, Variable]:
    """Return the variables that all launches of a box have alike."""
    every = [renumbered(launch, devices) for launch in launches]
    shared = {name: value for name, value in every[0].items() if all(one.get(name) == value for one in every)}
    known = launches[0].env
    return {
        name: Variable(value, "secret" if held.variable(name, value) else _means(known[name]), known[name].joins)
        for name, value in shared.items()
    }


def _means(variable: EnvVar) -> Ask:
    if variable.joins is not None:
        return "join"
    return "" if variable.value.known else "auto"


def pieces(launch: NodeLaunch, changes: Changes) -> list[Piece]:
    """Return the words after ``vllm``, with some arguments' values replaced or left out."""
    words = command_words(launch)
    found = [_piece(word) for word in words[1 : len(words) - len(argument_words(launch.args))]]
    rest = words[len(found) + 1 :]
    for word, (_, arg, value) in zip(rest, argument_words(launch.args), strict=True):
        if arg.name not in changes:
            found.append(_piece(word))
            continue
        change = changes[arg.name]
        if change is not None:
            found.append(Piece(word.text) if value is None else change)
    return found


def _piece(word: Word) -> Piece:
    return Piece(word.quoted(shell_word), True) if word.asks else Piece(word.text)


def script(box: Box, quote: Callable[[str], str], changes: Sequence[Changes], before: Sequence[str] = ()) -> str:
    """Return the script that starts the box's launches inside the container.

    One launch replaces the shell. Of several, the first that ends ends the container, and with it the others.
    """
    return "\n".join(["set -eu", *before, *script_body(box, quote, changes)]) + "\n"


def script_body(box: Box, quote: Callable[[str], str], changes: Sequence[Changes]) -> list[str]:
    """Return the lines of the script that start the launches."""
    many = len(box.launches) > 1
    lines = [f"export {name}={v.word(name, quote)}" for name, v in box.joins.items()]
    lines += together(box.grace) if many else []
    for launch, own, change in zip(box.launches, box.own, changes, strict=True):
        command = _lines([(p.text, p.text if p.raw else quote(p.text)) for p in pieces(launch, change)])
        exports = "".join(f"export {name}={value.word(name, quote)}; " for name, value in own.items())
        lines.append(f"( {exports}exec vllm {command} ) & {ADD}" if many else f"{exports}exec vllm {command}")
    return [*lines, *(UNTIL_ONE_ENDS if many else ())]


def _lines(words: Sequence[tuple[str, str]]) -> str:
    """Return words, each with its quoted form, on a line for each flag."""
    lines: list[str] = []
    for text, quoted in words:
        if text.startswith("--") or not lines:
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
    return " \\\n  ".join(lines)


def bound(box: Box, use: str) -> list[int]:
    """Return the ports of one use that the box's launches open."""
    return [port for node in box.launches for p in all_ports(node) if p.use == use and p.binds for port in p.ports]


def one_instance(boxes: Sequence[Box], form: str) -> None:
    """Refuse several instances where a form names each node.

    Raises:
        FormatError: a side has replicas.
    """
    for box in boxes:
        if box.replicas > 1:
            raise FormatError(
                f"{form} names each node, and nodes.{box.side} has those of one instance: print it without "
                f"{box.side}.replicas, once for the nodes of each instance; k8s and llm-d have replicas"
            )


def needs_shell(box: Box) -> bool:
    """Whether the command is a script: several engines, or a word that only the container's environment knows."""
    return len(box.launches) > 1 or bool(box.asked_words or box.joins)


def has_connector(box: Box, name: str) -> bool:
    """Whether one of the box's launches uses a connector of that name."""
    return any(c.name == name for launch in box.launches for c in connectors(launch.kv_transfer))
