"""Everything that an engine binds: one table, which rules only compare.

Source: the facts port-of-*, side-channel-by-rank and default-* of the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import as_integer
from pd_launch.schemas.engine.connector_ports import connector_ports
from pd_launch.schemas.engine.port_range import PortRange, first_rank, place_of

DEFAULT_HTTP = 8000
DEFAULT_SUPERVISOR = 9256
DEFAULT_EVENTS = 5557
DEFAULT_MASTER = 29501


def http_port(node: NodeLaunch) -> PortRange | None:
    """Return the HTTP port; None where it is unknown or another program's: an offline or headless engine, a worker."""
    if node.switch("headless") or node.program in ("python", "dynamo", "kserve"):
        return None
    written = node.value("port")
    port = node.number("port", DEFAULT_HTTP)
    if not port:  # unknown, or 0: any that is free
        return None
    count = (node.local_engines or 1) if node.switch("data-parallel-multi-port-external-lb") else 1
    return PortRange(port, count, "http", True, place_of(node, written), written is not None)


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
    return PortRange(port, 1, "dp_rpc", binds and not node.switch("headless"), place_of(node, written))


def supervisor_port(node: NodeLaunch) -> PortRange | None:
    """Return the port on which vLLM's own supervisor of several ranks answers, or None where there is none."""
    if not node.switch("data-parallel-multi-port-external-lb"):
        return None
    written = node.value("data-parallel-supervisor-port")
    port = node.number("data-parallel-supervisor-port", DEFAULT_SUPERVISOR)
    if port is None:
        return None
    return PortRange(port, 1, "dp_supervisor", True, place_of(node, written), written is not None)


def master_port(node: NodeLaunch) -> PortRange | None:
    """Return the port at which the ranks of one engine over several machines meet; the first machine binds it."""
    machines = node.number("nnodes", 1)
    if machines is None or machines < 2:
        return None
    written = node.value("master-port")
    port = node.number("master-port", DEFAULT_MASTER)
    if port is None:
        return None
    first = node.number("node-rank", 0) == 0 and node.node_rank == 0
    return PortRange(port, 1, "master", first, place_of(node, written), written is not None)


def event_ports(node: NodeLaunch) -> Iterator[PortRange]:
    """Give the ports at which an engine publishes KV cache events, and hands out old ones: one per local DP rank.

    An address with a host of its own is dialled, not bound; the one for old events is always bound.
    """
    config = node.value("kv-events-config")
    enabled = config.get("enable_kv_cache_events") if config is not None else None
    if config is None or enabled is None or enabled.value is not True:
        return
    publisher = config.get("publisher")
    if publisher is not None and publisher.value not in ("zmq", None):
        return
    start, engines = first_rank(node), node.local_engines
    if start is None or engines is None:
        return
    for key, default, use in (
        ("endpoint", f"tcp://*:{DEFAULT_EVENTS}", "kv_events"),
        ("replay_endpoint", None, "kv_events_replay"),
    ):
        written = config.get(key)
        address = default if written is None else written.value
        port = _tcp_port(address)
        if port and isinstance(address, str):
            binds = use == "kv_events_replay" or "*" in address or "::" in address
            yield PortRange(port + start, engines, use, binds, place_of(node, written or config), written is not None)


def _tcp_port(address: object) -> int | None:
    """Return the port of ``tcp://HOST:PORT``, or None; 0 is one that the system picks."""
    if not isinstance(address, str) or not address.startswith("tcp://"):
        return None
    return as_integer(address.rpartition(":")[2])


def on_host_network(node: NodeLaunch) -> bool:
    """Whether the engine's ports are the machine's own, and not those of a container's network."""
    container = node.container
    return container is None or container.form == "profile" or container.host_network is True


def bound_ports(node: NodeLaunch) -> list[PortRange]:
    """Return the ports that ``node`` really opens, as far as they are known."""
    return [ports for ports in all_ports(node) if ports.binds]


ONE: tuple[Callable[[NodeLaunch], PortRange | None], ...] = (http_port, rpc_port, supervisor_port, master_port)
"""Ports of which an engine has one range at most."""
SEVERAL: tuple[Callable[[NodeLaunch], Iterator[PortRange]], ...] = (connector_ports, event_ports)


def all_ports(node: NodeLaunch) -> list[PortRange]:
    """Return every port that is known of ``node``, bound or only named."""
    found = [ports for one in ONE if (ports := one(node)) is not None]
    return [*found, *chain.from_iterable(several(node) for several in SEVERAL)]
