"""What a set of inputs starts: engines, and what is still to be read for them. Reading adds to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import NamedTuple

from pd_launch.launcher.sources.engine.around import NOTHING, Around, Offered, Place
from pd_launch.launcher.sources.shell.scope import Journal
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.schemas.core.launch import Container, EnvVar, Fault, NodeLaunch, Proxy, Request
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text

Finish = Callable[[NodeLaunch], None]
"""Completes a node that a form found: its container, side and host."""
_GUESSED = -6
"""Marks branches among those of engines in texts for people, which show one way or another."""


def keep(_: NodeLaunch) -> None:
    """Complete nothing."""


def texts_of(env: Mapping[str, EnvVar], place: Text) -> dict[str, Text | list[Text]]:
    """Return variables as a script at ``place`` has them."""
    hole = place.stand_in(HOLE)
    return {name: variable.value.text or hole for name, variable in env.items()}


class Nested(NamedTuple):
    """A script inside another form, what completes the engines that it starts, and the variables that it is given."""

    text: Text
    finish: Finish
    env: Mapping[str, EnvVar] = MappingProxyType({})
    around: Around = NOTHING
    positional: Mapping[int, Text] = MappingProxyType({})

    def scope(self) -> Scope:
        """Return the scope in which the script begins; a variable that is set to something unknown is unknown."""
        return Scope(Journal(texts_of(self.env, self.text)), positional=dict(self.positional))


class Followed(NamedTuple):
    """A profile that a command of pd-launch names, and the ``--target`` that it is given with it."""

    name: Text
    target: Text | None = None


class Started(NamedTuple):
    """A container that a command starts, and what it gives to all that runs in it."""

    container: Container
    env: dict[str, EnvVar]
    env_open: Origin | None = None
    named: Collection[str] = ()
    """The scripts that its command names."""


class Pod(NamedTuple):
    """A container with the pod that it is in, and the labels by which Services select that pod."""

    container: Container
    own: Node
    pod: Node
    labels: Node | None


@dataclass
class Found:
    """What a set of inputs starts. ``nested`` are scripts inside other forms, still to be read."""

    nodes: list[NodeLaunch] = field(default_factory=list)
    proxies: list[Proxy] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    nested: list[Nested] = field(default_factory=list)
    maps: dict[str, Node] = field(default_factory=dict)
    """The data of ConfigMaps by name."""
    offered: list[Offered] = field(default_factory=list)
    """Scripts of ConfigMaps, which are read alone where no container runs them."""
    run: set[Place] = field(default_factory=set)
    """Where the scripts begin that containers run as files."""
    containers: dict[str, Started] = field(default_factory=dict)
    idle: list[Started] = field(default_factory=list)
    """Containers that are started without an engine."""
    online_dp: list[list[Text]] = field(default_factory=list)
    profiles: list[Followed] = field(default_factory=list)
    forms: set[str] = field(default_factory=set)
    """Forms that were recognised, with or without an engine."""
    guessed: list[Origin] = field(default_factory=list)
    """Where texts are of which it is a guess that they are scripts: nothing about their grammar is an error."""
    apart: list[Origin] = field(default_factory=list)
    """Where texts are, in a file that holds many, of which each starts its own engines only."""
    said: set[Fault] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)
    services: list[Node] = field(default_factory=list)
    """Services of Kubernetes."""
    pods: list[Pod] = field(default_factory=list)
    """Containers of pods, with and without an engine."""

    written: dict[str, Text] = field(default_factory=dict)
    """Here-documents that scripts write into files, by path and by name, the last one of each."""
    trees: dict[Place, Node | None] = field(default_factory=dict)
    """What was read of such texts, by where they begin: many engines may have the same file."""

    def size(self) -> int:
        """Return how much was found so far: engines, scripts and faults."""
        return len(self.nodes) + len(self.nested) + len(self.offered) + len(self.faults)

    def guess(self, part: Text, finish: Finish, env: Mapping[str, EnvVar] = MappingProxyType({})) -> None:
        """Add a part of a text for people: what it starts runs beside nothing else of the text."""
        number = len(self.guessed)

        def alone(node: NodeLaunch) -> None:
            finish(node)
            node.branches = (*node.branches, (_GUESSED, number))

        self.guessed.append(part.origin())
        self.nested.append(Nested(part, alone, env))

    def take_guess(self, other: Found) -> None:
        """Take in the engines of a part of a text for people that was read by itself."""
        number = len(self.guessed)
        for node in other.nodes:
            node.branches = (*node.branches, (_GUESSED, number))
        self.nodes += other.nodes
        self.guessed += other.guessed
        self.add_faults(other.faults)

    def add_faults(self, more: Sequence[Fault]) -> None:
        """Add faults, each once."""
        for fault in more:
            if fault not in self.said:
                self.said.add(fault)
                self.faults.append(fault)


def into_containers(found: Found) -> None:
    """Put engines into the containers that other files start for them: by the script's name, or the only one there is.

    The guides start a container with a shell, and the engine by a script inside it.
    """
    bare = [node for node in found.nodes if node.container is None and node.form == "shell"]
    for started in found.idle:
        text = next((text for text in found.apart if text.holds(started.container.origin)), None)
        near = bare if text is None else [node for node in bare if text.holds(node.origin)]
        inside = [node for node in near if node.origin.file.rpartition("/")[2] in started.named]
        if len(found.idle) == 1 and not started.named:
            inside = near
        for node in inside:
            node.container = started.container
            node.env = {**started.env, **node.env}
            node.env_open = node.env_open or started.env_open
