"""Which ports an engine binds, and which it only names.

Source: the facts port-of-*, side-channel-by-rank and default-* of the tables; P2pNcclConnector: vLLM's
p2p_nccl_engine.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import Node, Origin, as_integer
from pd_launch.schemas.engine.kv_transfer import Connector, connectors

DEFAULT_HTTP = 8000
DEFAULT_KV_PORT = 14579
DEFAULT_SIDE_CHANNEL = 5600
DEFAULT_SUPERVISOR = 9256
SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"
PRODUCER_BINDS = frozenset({"MooncakeConnectorV1", "MooncakeHybridConnector", "MooncakeConnectorV2"})
CONSUMER_BINDS = frozenset({"MooncakeLayerwiseConnector", "SfaRemoteD2HConnector"})
BOTH_BIND = frozenset({"P2pNcclConnector"})


@dataclass(frozen=True)
class PortRange:
    """``count`` ports from ``first``; ``binds`` tells whether this engine opens them or only dials or names them."""

    first: int
    count: int
    use: str
    binds: bool
    origin: Origin
    written: bool = True
    """Whether the number is written in the input, not a default."""

    @property
    def ports(self) -> range:
        """The ports."""
        return range(self.first, self.first + self.count)


def first_rank(node: NodeLaunch) -> int | None:
    """Return the global DP rank of the first engine that ``node`` starts, or None where it is unknown."""
    if node.external_dp:
        return node.number("data-parallel-rank", 0)
    return node.number("data-parallel-start-rank", 0)


def kv_ports(node: NodeLaunch, connector: Connector) -> PortRange | None:
    """Return the ports of ``connector`` on ``node``, or None where it has none or they are unknown."""
    name = connector.name
    if name not in PRODUCER_BINDS | CONSUMER_BINDS | BOTH_BIND:
        return None
    binds = name in BOTH_BIND or node.role == ("kv_producer" if name in PRODUCER_BINDS else "kv_consumer")
    written = connector.tree.get("kv_port")
    base = DEFAULT_KV_PORT if written is None else as_integer(written.value)
    start, engines, world = first_rank(node), node.local_engines, node.world_size
    if base is None or start is None or engines is None or world is None:
        return None
    origin = written.origin if written else connector.tree.origin
    return PortRange(base + start * world, engines * world, "kv", binds, origin, written is not None)


def http_port(node: NodeLaunch) -> PortRange | None:
    """Return the HTTP port, or None for a headless or offline engine or an unknown port."""
    if node.switch("headless") or node.program == "python":
        return None
    written = node.value("port")
    port = node.number("port", DEFAULT_HTTP)
    if port is None:
        return None
    count = (node.local_engines or 1) if node.switch("data-parallel-multi-port-external-lb") else 1
    return PortRange(port, count, "http", True, _origin(node, written), written is not None)


def rpc_port(node: NodeLaunch) -> PortRange | None:
    """Return the port of the DP master, or None.

    The first rank binds it, and only where ranks run under other commands: else vLLM talks to them over local sockets.
    """
    written = node.value("data-parallel-rpc-port")
    port = as_integer(written.value) if written else None
    if port is None or (node.data or 1) == 1:
        return None
    local = node.local_engines
    binds = first_rank(node) == 0 and node.node_rank == 0 and local is not None and local != node.data
    return PortRange(port, 1, "dp_rpc", binds and not node.switch("headless"), _origin(node, written))


def side_channel(node: NodeLaunch) -> PortRange | None:
    """Return the ports on which NixlConnector answers handshakes: one for each local DP rank."""
    if not any(c.name == "NixlConnector" for c in connectors(node.kv_transfer)):
        return None
    variable = node.env.get(SIDE_CHANNEL)
    if variable is None and node.env_open is not None:
        return None
    base = DEFAULT_SIDE_CHANNEL if variable is None else as_integer(variable.value.value)
    start, engines = first_rank(node), node.local_engines
    if base is None or start is None or engines is None:
        return None
    origin = variable.value.origin if variable else node.origin
    return PortRange(base + start, engines, "side_channel", True, origin, variable is not None)


def supervisor_port(node: NodeLaunch) -> PortRange | None:
    """Return the port on which vLLM's own supervisor of several ranks answers, or None where there is none."""
    if not node.switch("data-parallel-multi-port-external-lb"):
        return None
    written = node.value("data-parallel-supervisor-port")
    port = node.number("data-parallel-supervisor-port", DEFAULT_SUPERVISOR)
    if port is None:
        return None
    return PortRange(port, 1, "dp_supervisor", True, _origin(node, written), written is not None)


def on_host_network(node: NodeLaunch) -> bool:
    """Whether the engine's ports are the machine's own, and not those of a container's network."""
    container = node.container
    return container is None or container.form == "profile" or container.host_network is True


def bound_ports(node: NodeLaunch) -> list[PortRange]:
    """Return the ports that ``node`` really opens, as far as they are known."""
    return [ports for ports in all_ports(node) if ports.binds]


def all_ports(node: NodeLaunch) -> list[PortRange]:
    """Return every port that is known of ``node``, bound or only named."""
    found = [http_port(node), rpc_port(node), side_channel(node), supervisor_port(node)]
    found += [kv_ports(node, connector) for connector in connectors(node.kv_transfer)]
    return [ports for ports in found if ports is not None]


def _origin(node: NodeLaunch, value: Node | None) -> Origin:
    return value.origin if value else node.origin
