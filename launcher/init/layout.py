"""How a side's engines are spread over nodes, read back from their arguments."""

from __future__ import annotations

import ipaddress
from dataclasses import field
from typing import Any

from pd_launch.launcher.init.here import ADDRESSES, is_here
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.parallel import device_range
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Node, Unknown, as_integer
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.sides import is_loopback

AUTO = "auto"
_MOST_NODES = 256
VLLM_RPC_PORT = 29550
_SIZES = (
    ("tensor", "tensor-parallel-size"),
    ("pipeline", "pipeline-parallel-size"),
    ("prefill_context", "prefill-context-parallel-size"),
    ("decode_context", "decode-context-parallel-size"),
)


@dataclass
class Layout:
    """A side's ``parallel`` section, its nodes, and where each of the given engines is in it."""

    parallel: dict[str, Any] = field(default_factory=dict)
    addresses: list[str] = field(default_factory=list)
    port: int | None = None
    rpc_port: int | None = None
    starts: list[int] = field(default_factory=lambda: [0])
    """First rank of each node."""
    master_port: int | None = None
    spans: bool = False
    """Whether its nodes share engines, and so go by their own numbers."""
    index: int = 0
    """Which of its node's engines the first given one is."""

    def node_of(self, engine: NodeLaunch) -> int:
        """Which node an engine runs on."""
        if self.spans:
            return min(engine.number("node-rank", 0) or 0, max(len(self.addresses) - 1, 0))
        rank = first_rank(engine) or 0
        return max((i for i, start in enumerate(self.starts) if start <= rank), default=0)

    @property
    def external(self) -> bool:
        """Whether each rank has a command of its own."""
        return self.parallel.get("launch") == "external"


def read_layout(engines: list[NodeLaunch], devices: int | None, variable: str | None) -> Layout:
    """Return the layout that renders ``engines``: of one side, by rank. ``devices`` are those of one node, if known."""
    first = engines[0]
    layout = Layout({key: size for key, flag in _SIZES if (size := first.number(flag, 1) or 1) != 1})
    if first.switch("enable-expert-parallel"):
        layout.parallel["expert"] = True
    data = first.data or 1
    layout.port = _port(first)
    nodes = first.number("nnodes", 1) or 1
    if nodes > 1:
        _over_nodes(layout, engines, min(nodes, _MOST_NODES))
    if data == 1:
        if not layout.spans and (own := _own_address(first)) is not None:
            layout.addresses = [own]
        return layout
    layout.parallel["data"] = data
    rpc = first.arg("data-parallel-rpc-port")
    layout.rpc_port = (as_integer(rpc.value.value) if rpc and rpc.value else None) or VLLM_RPC_PORT
    if first.external_dp or first.switch("data-parallel-multi-port-external-lb"):
        layout.parallel["launch"] = "external"
    elif first.switch("data-parallel-hybrid-lb"):
        layout.parallel["launch"] = "hybrid"
    if layout.spans:
        return layout
    layout.starts = _node_starts(layout, engines, data, devices, variable)
    _spread(layout, engines, layout.starts, data)
    if layout.external and layout.port is not None:
        layout.port -= layout.index
    return layout


def _over_nodes(layout: Layout, engines: list[NodeLaunch], nodes: int) -> None:
    """Take the nodes of a side whose engines reach over several: all meet at node 0."""
    layout.spans = True
    layout.addresses = [AUTO] * nodes
    for engine in engines:
        layout.addresses[layout.node_of(engine)] = _own_address(engine) or AUTO
    layout.addresses[0] = _known(engines[0].value("master-addr")) or layout.addresses[0]
    port = engines[0].value("master-port")
    layout.master_port = as_integer(port.value) if port is not None else None


def _port(engine: NodeLaunch) -> int | None:
    arg = engine.arg("port")
    return as_integer(arg.value.value) if arg and arg.value else None


def _node_starts(
    layout: Layout, engines: list[NodeLaunch], data: int, devices: int | None, variable: str | None
) -> list[int]:
    """Return the first rank of each node."""
    first = engines[0]
    if not first.external_dp:
        local = first.number("data-parallel-size-local", data) or data
        known = sorted({first_rank(e) or 0 for e in engines})
        starts = sorted({*known, *range(0, data, local)}) if local < data else known
        return starts if starts[:1] == [0] else [0, *starts]
    groups: dict[tuple[str, int], list[int]] = {}
    for engine in engines:
        groups.setdefault(_machine(engine), []).append(first_rank(engine) or 0)
    ranks = next(iter(groups.values()))
    world = first.world_size or 1
    layout.index = _own_index(first, world, variable) if len(ranks) == 1 else 0
    start = min(ranks) - layout.index
    if start < 0:
        layout.index, start = 0, min(ranks)
    most = max(1, devices // world) if devices else data
    local = max(len(r) for r in groups.values())
    if len(groups) == 1 and local == 1:
        local = min(most, data) if start == 0 else start
    if start % local or data % local:
        local = 1
    return list(range(0, data, local))


def _machine(engine: NodeLaunch) -> tuple[str, int]:
    """Return what engines of one machine have in common; the pods of one template are as many machines."""
    pod = id(engine.container) if engine.container is not None and engine.container.form == "manifest" else 0
    return (engine.host, 0) if engine.host is not None else (engine.label, pod)


def _own_index(engine: NodeLaunch, world: int, variable: str | None) -> int:
    """Which engine of its node a rank is, by the devices that it sees."""
    numbers = (engine.variable(variable) or "").split(",") if variable else [""]
    first = as_integer(numbers[0])
    wanted = [str(n) for n in range(first, first + world)] if first is not None else []
    return first // world if first is not None and first % world == 0 and numbers == wanted else 0


def _spread(layout: Layout, engines: list[NodeLaunch], starts: list[int], data: int) -> None:
    lengths = [stop - start for start, stop in zip(starts, [*starts[1:], data], strict=True)]
    if len(set(lengths)) > 1:
        layout.parallel["ranks"] = lengths
    master = engines[0].value("data-parallel-address")
    if len(starts) == 1 and master is None and _own_address(engines[0]) != AUTO:
        return
    addresses = [AUTO] * len(starts)
    for engine in engines:
        node = layout.node_of(engine)
        addresses[node] = _own_address(engine) or addresses[node]
    addresses[0] = _known(master) or addresses[0]
    layout.addresses = addresses


def _own_address(engine: NodeLaunch) -> str | None:
    """Return the address by which an engine's variables call its own machine; ``auto``: the machine is asked."""
    for name in ADDRESSES:
        variable = engine.env.get(name)
        if name == "HCCL_IF_IP" and is_here(variable):
            return AUTO
        text = engine.variable(name)
        if text is not None and (name == "HCCL_IF_IP" or (_is_ip(text) and not is_loopback(text))):
            return text
    return None


def _is_ip(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_unspecified
    except ValueError:
        return False


def _known(node: Node | None) -> str | None:
    if node is None or isinstance(node.value, Unknown):
        return None
    text = str(node.value)
    return text if text and "$" not in text else None


def own_devices(layout: Layout, engine: NodeLaunch, variable: str) -> str:
    """Return the devices that the profile gives an engine by itself."""
    return ",".join(str(n) for n in device_range(layout.index, engine.world_size or 1))
