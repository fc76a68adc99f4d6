"""What a proxy's command line lists: hosts and ports of both sides."""

from __future__ import annotations

from dataclasses import dataclass

from pd_launch.schemas.launch import Proxy
from pd_launch.schemas.releases.pairs import PROXY_LISTS
from pd_launch.schemas.sides import PairSide
from pd_launch.schemas.values import Origin, as_integer


@dataclass
class SideList:
    """The hosts and ports of one side as they are written; None where they are not, or a part of them is unknown."""

    origin: Origin
    hosts: list[str] | None = None
    ports: list[int] | None = None

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
        origin = (ports or hosts or [("", proxy.origin)])[0][1]
        found[side] = SideList(origin, _texts(hosts), _numbers(ports))
    return found


def _values(proxy: Proxy, names: tuple[str, ...]) -> list[tuple[object, Origin]] | None:
    """Return the words behind an option, each with its place; None where it is not given."""
    found: list[tuple[object, Origin]] | None = None
    taking = False
    for word in proxy.words:
        text = word.value if isinstance(word.value, str) else None
        if text is not None and text.startswith("--"):
            name, sign, value = text[2:].replace("_", "-").partition("=")
            taking = name in names and not sign
            if name in names:
                found = (found or []) + ([(value, word.origin)] if sign else [])
        elif taking and found is not None:
            found.append((word.value, word.origin))
    return found


def _texts(values: list[tuple[object, Origin]] | None) -> list[str] | None:
    texts = [value for value, _ in values or () if isinstance(value, str)]
    return texts if values and len(texts) == len(values) else None


def _numbers(values: list[tuple[object, Origin]] | None) -> list[int] | None:
    numbers = [number for value, _ in values or () if (number := as_integer(value)) is not None]
    return numbers if values and len(numbers) == len(values) else None
