"""Ports that connectors bind: KV transfer, handshakes and side channels.

Source: the facts port-of-*, side-channel-by-rank and default-* of the tables; P2pNcclConnector: vLLM's
p2p_nccl_engine.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import Node, as_integer
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.port_range import PortRange, first_rank, place_of

DEFAULT_KV_PORT = 14579
PRODUCER_BINDS = frozenset({"MooncakeConnectorV1", "MooncakeHybridConnector", "MooncakeConnectorV2"})
CONSUMER_BINDS = frozenset({"MooncakeLayerwiseConnector", "SfaRemoteD2HConnector"})
BOTH_BIND = frozenset({"P2pNcclConnector"})
NIXL_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
"""The variable with the address at which NIXL's connectors hand over."""
NIXL = frozenset({"NixlConnector", "NixlPullConnector", "NixlPushConnector"})
DEFAULT_SIDE_CHANNEL = 5600
SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"
DEFAULT_BOOTSTRAP = 8998
BOOTSTRAP = "VLLM_MOONCAKE_BOOTSTRAP_PORT"
DEFAULT_TIER = 5710
TIER = "VLLM_P2P_SIDE_CHANNEL_PORT"
DEFAULT_HANDSHAKE, DEFAULT_NOTIFY = 6301, 61005
"""MoRIIOConnector's."""


def connector_ports(node: NodeLaunch) -> Iterator[PortRange]:
    """Give the ports of all connectors of ``node``, as far as they are known."""
    of_nixl = False
    for connector in connectors(node.kv_transfer):
        if connector.name in NIXL:
            of_nixl = True
        elif connector.name == "MooncakeConnector":
            yield from _known(bootstrap_port(node, connector))
        elif connector.name == "MoRIIOConnector":
            yield from moriio_ports(node, connector)
        elif connector.name == "OffloadingConnector":
            yield from tier_ports(node, connector)
        else:
            yield from _known(kv_ports(node, connector))
    if of_nixl:
        yield from _known(side_channel(node))


def _known(ports: PortRange | None) -> Iterator[PortRange]:
    if ports is not None:
        yield ports


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


def side_channel(node: NodeLaunch) -> PortRange | None:
    """Return the ports on which NIXL's connectors answer handshakes: one for each local DP rank."""
    if not any(connector.name in NIXL for connector in connectors(node.kv_transfer)):
        return None
    return _by_rank(node, "side_channel", SIDE_CHANNEL, DEFAULT_SIDE_CHANNEL, None)


def bootstrap_port(node: NodeLaunch, connector: Connector) -> PortRange | None:
    """Return the port at which vLLM's MooncakeConnector tells consumers where its ranks are, or None.

    A producer's first engine binds it on all addresses: of the whole group where one server balances the load, else of
    this command. ``bootstrap_server_address`` names a server that runs elsewhere.
    """
    extra = connector.extra
    if node.role not in ("kv_producer", "kv_both") or (extra is not None and extra.get("bootstrap_server_address")):
        return None
    own = node.external_dp or node.switch("data-parallel-hybrid-lb")
    if not own and first_rank(node) != 0:
        return None
    found = _variable(node, BOOTSTRAP, DEFAULT_BOOTSTRAP)
    if found is None:
        return None
    port, written = found
    return PortRange(port, 1, "mooncake_bootstrap", True, place_of(node, written), written is not None)


def moriio_ports(node: NodeLaunch, connector: Connector) -> Iterator[PortRange]:
    """Give the ports of MoRIIOConnector: for the handshake and for notices, one for each local rank.

    The offset is the local DP rank plus the TP rank; of one rank of an external group it depends on the release.
    """
    engines, tensor = node.local_engines, node.tensor
    if engines is None or tensor is None or (node.external_dp and first_rank(node) != 0):
        return
    for key, default, use in (
        ("handshake_port", DEFAULT_HANDSHAKE, "moriio_handshake"),
        ("notify_port", DEFAULT_NOTIFY, "moriio_notify"),
    ):
        written = connector.extra.get(key) if connector.extra is not None else None
        port = as_integer(written.value) if written is not None else default
        if port:
            origin = written.origin if written is not None else connector.tree.origin
            yield PortRange(port, engines - 1 + tensor, use, True, origin, written is not None)


def tier_ports(node: NodeLaunch, connector: Connector) -> Iterator[PortRange]:
    """Give the ports of OffloadingConnector's tiers that fetch from peers: one for each local DP rank."""
    tiers = connector.extra.get("secondary_tiers") if connector.extra is not None else None
    for place in range(len(tiers.value)) if tiers is not None and isinstance(tiers.value, list) else ():
        tier = tiers.get(place) if tiers is not None else None
        kind = tier.get("type") if tier is not None else None
        if tier is not None and kind is not None and kind.value == "p2p":
            yield from _known(_by_rank(node, "p2p_tier", TIER, DEFAULT_TIER, tier.get("port")))


def _by_rank(node: NodeLaunch, use: str, variable: str, default: int, written: Node | None) -> PortRange | None:
    """Return one port for each local DP rank, counted from what is written, else from a variable."""
    start, engines = first_rank(node), node.local_engines
    found = _variable(node, variable, default)
    if written is not None:
        port = as_integer(written.value)
        found = None if port is None else (port, written)
    if found is None or start is None or engines is None:
        return None
    return PortRange(found[0] + start, engines, use, True, place_of(node, found[1]), found[1] is not None)


def _variable(node: NodeLaunch, name: str, default: int) -> tuple[int, Node | None] | None:
    """Return the port that a variable says and where, or the default; None where it is unknown."""
    variable = node.env.get(name)
    if variable is None:
        return (default, None) if node.env_open is None else None
    port = as_integer(variable.value.value)
    return None if port is None else (port, variable.value)
