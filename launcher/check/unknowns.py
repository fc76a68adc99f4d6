"""What a check could not know, for ``--verbose``: unknown values, and the rules that asked for them in vain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, NamedTuple

from pd_launch.launcher import budget
from pd_launch.launcher.rules.registry import Rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Node, Origin, Unknown, readable

_OF_ALL = ("PD0", "PD9", "PD707")
"""Rules that look at every word, whatever it means: that a value is unknown keeps them from nothing."""
MORE = "…"
"""Stands for arguments that an unknown word may hold."""
_asked: set[int] = set()


class _Watched(Node):
    """A node that notes when it is asked for its value."""

    @property
    def value(self) -> Any:
        _asked.add(id(self))
        return self.__dict__["value"]


class Unseen(NamedTuple):
    """The unknown values of a file, each with its place, and the rules that asked for one of them."""

    file: str
    values: tuple[tuple[str, Origin], ...]
    rules: tuple[str, ...]


@dataclass
class Blind:
    """What could not be looked at in a call."""

    unseen: list[Unseen] = field(default_factory=list)
    hostless: bool = False
    """Whether there were engines and no facts of a host."""
    one_sided: bool = False
    """Whether no deployment showed both sides."""

    def add(self, other: Blind) -> None:
        """Take in another part of the call."""
        self.unseen += [one for one in other.unseen if one not in self.unseen]
        self.hostless = self.hostless or other.hostless
        self.one_sided = self.one_sided or other.one_sided


def blind(deployments: Iterable[Deployment], rules: Sequence[Rule]) -> Blind:
    """Return what rules could not look at; each is run once more, on nodes that note what they are asked."""
    found = Blind()
    for deployment in deployments:
        if not deployment.nodes:
            continue
        found.add(_of_one(deployment, [rule for rule in rules if not rule.code.startswith(_OF_ALL)]))
    return found


def _of_one(deployment: Deployment, rules: Sequence[Rule]) -> Blind:
    named = {id(node): (name, node) for name, node in _unknown(deployment.nodes)}
    by_rule: dict[str, set[int]] = {}
    for _, node in named.values():
        node.__class__ = _Watched
    try:
        for rule in rules:
            _asked.clear()
            with suppress(budget.Spent):
                for _ in rule.hits(deployment):
                    pass
            by_rule[rule.code] = _asked & set(named)
    finally:
        for _, node in named.values():
            node.__class__ = Node
    sides = {node.side for node in deployment.nodes} | {_side(node.role) for node in deployment.nodes}
    return Blind(
        list(_by_file(deployment.nodes, named, by_rule)), deployment.host is None, not {"prefill", "decode"} <= sides
    )


def _by_file(
    launches: Iterable[NodeLaunch], named: dict[int, tuple[str, Node]], by_rule: dict[str, set[int]]
) -> Iterator[Unseen]:
    files: dict[str, dict[tuple[str, Origin], set[int]]] = {}
    for launch in launches:
        if launch.partial:
            files.setdefault(launch.origin.file, {}).setdefault((MORE, launch.origin), set())
        for arg in launch.args:
            if HOLE in arg.name:  # any flag
                files.setdefault(arg.origin.file, {}).setdefault((readable(arg.written), arg.origin), set())
    for key, (name, node) in named.items():
        files.setdefault(node.origin.file, {}).setdefault((name, node.origin), set()).add(key)
    for file, values in sorted(files.items()):
        own = {key for keys in values.values() for key in keys}
        yield Unseen(file, tuple(values), tuple(code for code, asked in by_rule.items() if asked & own))


def _unknown(launches: Iterable[NodeLaunch]) -> Iterator[tuple[str, Node]]:
    """Iterate over the unknown values of engines, with names for them."""
    for launch in launches:
        if launch.model is not None and isinstance(launch.model.value, Unknown):
            yield "model", launch.model
        for arg in launch.args:
            for node in (arg.value, *arg.more) if arg.value is not None else ():
                yield from ((f"--{readable(arg.name)}{way}", one) for way, one in _walk(node))
        for name, variable in launch.env.items():
            yield from ((f"{name}{way}", one) for way, one in _walk(variable.value))


def _walk(node: Node, way: str = "") -> Iterator[tuple[str, Node]]:
    if isinstance(node.value, Unknown):
        yield way, node
    for key, child in node.items():
        if HOLE in key and child.known:
            yield f"{way}.{readable(key)}", child
        yield from _walk(child, f"{way}.{readable(key)}")
    for child in node.elements():
        yield from _walk(child, way)


def _side(role: str | None) -> str | None:
    return {"kv_producer": "prefill", "kv_consumer": "decode"}.get(role or "")
