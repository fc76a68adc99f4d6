"""What a proxy's command line lists: hosts and ports of both sides."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pd_launch.schemas.core.launch import Proxy
from pd_launch.schemas.core.values import HOLE, Node, Origin, as_integer
from pd_launch.schemas.engine.pairs import PROXY_LISTS
from pd_launch.schemas.engine.sides import PairSide

_ONE = re.compile(
    r"(?:\\{0,3}\")?\\{0,3}\$\{?\w*(?:ip|host|addr|address|port|node)_?\d*\}?(?:\\{0,3}\")?", re.IGNORECASE
)
"""A variable that stands for one host or port, as its name says; one named in the plural may stand for many. It may be
escaped, as in a here-document."""


@dataclass
class SideList:
    """The hosts and ports of one side as they are written; None where they are not, or a part of them is unknown.

    How many there are is known where each word surely is one, its value known or not.
    """

    origin: Origin
    hosts: list[str] | None = None
    ports: list[int] | None = None
    host_count: int | None = None
    port_count: int | None = None

    def entries(self) -> list[tuple[str, int]] | None:
        """Return hosts and ports together, or None where they are not known or not equally long."""
        if not self.hosts or not self.ports or len(self.hosts) != len(self.ports):
            return None
        return list(zip(self.hosts, self.ports, strict=True))


def side_lists(proxy: Proxy) -> dict[PairSide, SideList]:
    """Return what ``proxy`` lists for each side that it names at all."""
    found: dict[PairSide, SideList] = {}
    sides: tuple[PairSide, PairSide] = ("prefill", "decode")
    for side in sides:
        host_names, port_names = PROXY_LISTS[side]
        hosts, ports = _values(proxy, host_names), _values(proxy, port_names)
        if hosts is None and ports is None:
            continue
        places = [node.origin for node in (ports or hosts or ())] or [proxy.origin]
        found[side] = SideList(places[0], _texts(hosts), _numbers(ports), _count(hosts), _count(ports))
    return found


def _values(proxy: Proxy, names: tuple[str, ...]) -> list[Node] | None:
    """Return the words behind an option; None where it is not given."""
    found: list[Node] | None = None
    taking = False
    for word in proxy.words:
        text = word.value if isinstance(word.value, str) else None
        if text is not None and text.startswith("--"):
            name, sign, value = text[2:].replace("_", "-").partition("=")
            taking = name in names and not sign
            if name in names:
                found = (found or []) + ([Node(value, word.origin)] if sign else [])
        elif taking and found is not None:
            found.append(word)
    return found


def _texts(values: list[Node] | None) -> list[str] | None:
    texts = [node.value for node in values or () if isinstance(node.value, str)]
    return texts if values and len(texts) == len(values) else None


def _numbers(values: list[Node] | None) -> list[int] | None:
    numbers = [number for node in values or () if (number := as_integer(node.value)) is not None]
    return numbers if values and len(numbers) == len(values) else None


def _count(values: list[Node] | None) -> int | None:
    return len(values) if values and all(map(_is_one, values)) else None


def _is_one(node: Node) -> bool:
    """Whether a word stands for one host or port."""
    if node.known or node.text is None:
        return node.known
    if node.text.value != HOLE:
        return False
    source = node.text.source
    return _ONE.fullmatch(source.text[node.text.spots[0] : node.text.spots[-1]]) is not None
