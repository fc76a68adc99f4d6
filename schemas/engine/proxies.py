"""What a proxy's command line lists: hosts and ports of both sides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Literal

from pd_launch.schemas.core.launch import Deployment, NodeLaunch, Proxy
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Node, Origin, as_integer
from pd_launch.schemas.engine.connector_ports import DEFAULT_BOOTSTRAP
from pd_launch.schemas.engine.pairs import PROXY_LISTS
from pd_launch.schemas.engine.ports import http_port, on_host_network
from pd_launch.schemas.engine.sides import PairSide, exclusive, side_of

_ONE = lazy_pattern(
    r"(?:\\{0,3}\")?\\{0,3}\$\{?\w*(?:ip|host|addr|address|port|node)_?\d*\}?(?:\\{0,3}\")?", re.IGNORECASE
)
"""A variable that stands for one host or port, as its name says; one named in the plural may stand for many. It may be
escaped, as in a here-document."""
_SIDES: tuple[PairSide, PairSide] = ("prefill", "decode")
EncoderSide = Literal["encode", "rest"]
ENCODER_LISTS: dict[EncoderSide, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "encode": (("encoder-hosts", "encoder-host"), ("encoder-ports", "encoder-port")),
    "rest": (("pd-hosts", "pd-host"), ("pd-ports", "pd-port")),
}
"""Engines that encode images, or do all the rest → the options of vllm-ascend's proxy for their hosts and ports."""
_URL = lazy_pattern(r"(?:https?://)?([\w.-]{1,255}):(\d{1,5})/?")


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
    for side in _SIDES:
        listed = _side_list(proxy, *PROXY_LISTS[side]) or _of_urls(proxy, side)
        if listed is not None:
            found[side] = listed
    return found


def _of_urls(proxy: Proxy, side: PairSide) -> SideList | None:
    """Return what follows ``--prefill`` and ``--decode``: URLs, of Mooncake's proxy with a port after each."""
    words = _values(proxy, (side,))
    urls = [word for word in words or () if word.value != "none" and as_integer(word.value) is None]
    matches = [_URL.fullmatch(word.value) if isinstance(word.value, str) else None for word in urls]
    if not urls or not all(matches):
        return None
    found = [match for match in matches if match is not None]
    return SideList(urls[0].origin, [match[1].lower() for match in found], [int(match[2]) for match in found])


def encoder_lists(proxy: Proxy) -> dict[EncoderSide, SideList]:
    """Return what ``proxy`` lists of engines that encode images, and of those after them that do all the rest.

    vLLM's own program takes addresses, those of the rest as the decode side's where it has no prefill side.
    """
    found: dict[EncoderSide, SideList] = {}
    for side, (hosts, ports) in ENCODER_LISTS.items():
        listed = _side_list(proxy, hosts, ports)
        if listed is not None:
            found[side] = listed
    without = [word.value for word in _values(proxy, ("prefill-servers-urls",)) or ()] == ["disable"]
    named: list[tuple[EncoderSide, str]] = [("encode", "encode-servers-urls"), ("rest", "decode-servers-urls")]
    for side, name in named if without else named[:1]:
        words = _values(proxy, (name,))
        texts = _texts(words)
        urls = [_URL.fullmatch(url.strip()) for text in texts or () for url in text.split(",") if url.strip()]
        if words and urls and all(urls):
            hosts_found = [url[1].lower() for url in urls if url]
            found[side] = SideList(words[0].origin, hosts_found, [int(url[2]) for url in urls if url])
    return found


def _side_list(proxy: Proxy, host_names: tuple[str, ...], port_names: tuple[str, ...]) -> SideList | None:
    hosts, ports = _values(proxy, host_names), _values(proxy, port_names)
    if hosts is None and ports is None:
        return None
    places = [node.origin for node in (ports or hosts or ())] or [proxy.origin]
    return SideList(places[0], _texts(hosts), _numbers(ports), _count(hosts), _count(ports))


def bootstrap_asked(proxy: Proxy) -> list[tuple[int, Origin]] | None:
    """Return the ports at which a proxy asks for MooncakeConnector's bootstrap servers, and where each is written.

    ``--prefill URL [PORT]``, repeated; without a port it is the default. None where a part is unknown.
    """
    found: list[tuple[int, Origin]] = []
    words = proxy.words
    for index, word in enumerate(words):
        if not isinstance(word.value, str):
            return None
        if word.value != "--prefill":
            continue
        port = words[index + 2] if index + 2 < len(words) else None
        if port is None or (isinstance(port.value, str) and port.value.startswith("--")):
            found.append((DEFAULT_BOOTSTRAP, words[min(index + 1, len(words) - 1)].origin))
        else:
            number = DEFAULT_BOOTSTRAP if port.value == "none" else as_integer(port.value)
            if number is None:
                return None
            found.append((number, port.origin))
    return found


def behind_one_address(deployment: Deployment) -> Iterator[tuple[NodeLaunch, NodeLaunch]]:
    """Iterate over pairs of launches that a proxy asks at one address, each at its own port: they share a machine."""
    served = {side: _by_port(deployment, side) for side in _SIDES} if deployment.proxies else {}
    for proxy in deployment.proxies:
        hosts: dict[str, dict[int, NodeLaunch]] = {}
        for side, engines in served.items():
            for host, port in _entries(proxy, side):
                if port in engines:  # each engine once, however often the proxy lists it
                    hosts.setdefault(host, {})[id(engines[port])] = engines[port]
        for there in hosts.values():
            yield from (pair for pair in combinations(there.values(), 2) if not exclusive(*pair))


def _entries(proxy: Proxy, side: PairSide) -> list[tuple[str, int]]:
    """Return the hosts and ports of a side that a proxy lists."""
    listed = side_lists(proxy).get(side)
    return (listed.entries() or []) if listed is not None else []


def _by_port(deployment: Deployment, side: PairSide) -> dict[int, NodeLaunch]:
    """Return the engines of a side by the port of their machine that they serve at, where no other does."""
    found: dict[int, list[NodeLaunch]] = {}
    for node in deployment.nodes:
        port = http_port(node)
        if side_of(node) in (side, None) and port is not None and on_host_network(node):
            found.setdefault(port.first, []).append(node)
    return {port: nodes[0] for port, nodes in found.items() if len(nodes) == 1}


def _values(proxy: Proxy, names: tuple[str, ...]) -> list[Node] | None:
    """Return the words after an option; None where it is not given."""
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
