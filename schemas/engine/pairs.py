"""What a pair of connectors asks of both sides, and which proxy serves which connector.

Source: the connectors of vllm-ascend at 0.18.0 to 0.27.1rc1, its example proxies
(examples/disaggregated_prefill_v1), vLLM's NixlConnector at 0.23.0 to 0.32.0, its mooncake_connector.py and
p2p_nccl_connector.py at 0.18.0 to 0.33.0, and the proxies in its examples/disaggregated.
"""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import Target, release
from pd_launch.schemas.engine.kv_transfer import BUNDLES, Connector, connectors
from pd_launch.schemas.releases.transfers import ENGINE_ID_SUFFIX

POOLS = frozenset({"AscendStoreConnector", "MooncakeConnectorStoreV1", "UCMConnector", "MooncakeStoreConnector"})
"""Connectors of a KV pool; on Ascend a pool beside a P/D connector does not carry a request from side to side."""
LOCAL = frozenset(
    {"OffloadingConnector", "SimpleCPUOffloadConnector", "CPUOffloadingConnector", "DecodeBenchConnector"}
)
"""Connectors that keep to one engine."""
ALIASES = {"MooncakeConnectorStoreV1": "AscendStoreConnector"}

PREFILL_FIRST = frozenset({"MooncakeConnectorV1", "MooncakeHybridConnector", "NixlConnector"})
DECODE_FIRST = frozenset({"MooncakeLayerwiseConnector"})
PROXY_KINDS = {
    "load_balance_proxy_server_example.py": PREFILL_FIRST,
    "load_balance_proxy_layerwise_server_example.py": DECODE_FIRST,
    "toy_proxy_server.py": PREFILL_FIRST,
}
"""Program → the connectors whose order of calls it follows: prefill first, or decode first."""
PLAIN_PROXIES = frozenset({"disagg_proxy_demo.py"})
"""Programs of vLLM that send a request to the prefill side and then, as it came, to the decode side: they take nothing
from the first answer, so that no connector that looks into the request learns where its KV is."""
OWN_PROXIES = {
    "MooncakeConnector": "mooncake_connector_proxy.py",
    "MoRIIOConnector": "moriio_toy_proxy_server.py",
    "P2pNcclConnector": "disagg_proxy_p2p_nccl_xpyd.py",
}
"""vLLM's connectors that want more of a request than others do, and the program that puts it in: a transfer_id and the
bootstrap server's address, the peer's handshake, the peers' addresses in the request's name."""
PROXY_LISTS = {
    "prefill": (("prefiller-hosts", "prefiller-host"), ("prefiller-ports", "prefiller-port")),
    "decode": (("decoder-hosts", "decoder-host"), ("decoder-ports", "decoder-port")),
}
"""Side → the options for its hosts and its ports."""


def transfer_connectors(node: NodeLaunch) -> list[Connector] | None:
    """Return the connectors of ``node`` that may carry KV to the other side; None where one of them is unknown."""
    found = connectors(node.kv_transfer)
    if any(c.name is None for c in found) or (node.kv_transfer is not None and not node.kv_transfer.known):
        return None
    leaves = [c for c in found if not c.children and c.name not in BUNDLES]
    return [c for c in leaves if not c.is_offload and c.name not in LOCAL]


def canonical(connector: Connector) -> str:
    """Return the connector's name, without aliases."""
    return ALIASES.get(connector.name or "", connector.name or "")


def suffixes_engine_id(target: Target) -> bool:
    """Whether the release makes equal ids differ by itself. Releases older than the tables count as they are."""
    if target.vllm_ascend is None:
        return False
    return release(target.asked or target.vllm_ascend) >= release(ENGINE_ID_SUFFIX.first)
