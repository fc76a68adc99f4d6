"""vllm-ascend's KV pool connectors: what a node does with its pool."""

from __future__ import annotations

from pd_launch.schemas.engine.kv_transfer import Connector

POOLS = frozenset({"AscendStoreConnector", "MooncakeConnectorStoreV1"})
LOADS = "consumer_is_to_load"
STORES = ("consumer_is_to_put", "save_decode_cache")


def is_pool(connector: Connector) -> bool:
    """Whether this is a KV pool connector by its registered name."""
    return connector.name in POOLS and connector.module is None


def loads_from_pool(connector: Connector) -> bool:
    """Whether the pool is surely read: on consumers only where they are told to."""
    if not is_pool(connector):
        return False
    role, loads = connector.text("kv_role"), connector.option(LOADS)
    return role in ("kv_producer", "kv_both") or (role == "kv_consumer" and loads is not None and loads.value is True)


def idle_consumer(connector: Connector) -> bool:
    """Whether a pool connector surely neither loads nor stores: a consumer without any of the switches."""
    if not is_pool(connector) or connector.text("kv_role") != "kv_consumer":
        return False
    extra = connector.extra
    if extra is not None and not isinstance(extra.value, dict):
        return False
    switches = [connector.option(key) for key in (LOADS, *STORES)]
    return all(node is None or node.value is False for node in switches)


def lookup_port(connector: Connector) -> str | None:
    """Return the lookup port as it goes into the socket's path; None where it is unknown. Without one it is 0."""
    node = connector.option("lookup_rpc_port") or connector.option("mooncake_rpc_port")
    if node is None:
        return None if connector.extra is not None and not connector.extra.known else "0"
    return str(node.value) if isinstance(node.value, (int, str)) else None
