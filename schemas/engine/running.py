"""The connectors that an engine really starts: those that are configured, or what ``--kv-offloading-size`` brings."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.releases.stock import LMCACHE_MP, SIMPLE_OFFLOAD

SIZE = "kv-offloading-size"


def running(node: NodeLaunch, target: Target) -> list[Connector]:
    """Return the connectors that start, the top-level one first.

    What the flag brings takes the place of all that are configured, as vLLM does it; its place is the flag. Where it is
    not known which one that is, none is returned.
    """
    if target.is_ascend or not is_sized(node):
        return connectors(node.kv_transfer)
    names, place = put_in_place(node, target), node.named(SIZE)[-1].origin
    if len(names) != 1:
        return []
    fields = {"kv_connector": Node(names[0], place), "kv_role": Node("kv_both", place)}
    return connectors(Node(fields, place))


def is_sized(node: NodeLaunch) -> bool:
    """Whether ``--kv-offloading-size`` is given, so that it brings a connector."""
    size = node.value(SIZE)
    return size is not None and size.value not in (None, "None")


def put_in_place(node: NodeLaunch, target: Target) -> tuple[str, ...]:
    """Return the connector that the flag configures; more than one where the backend is not known."""
    backend, simple = node.value("kv-offloading-backend"), node.env.get("VLLM_USE_SIMPLE_KV_OFFLOAD")
    lmcache = "LMCacheMPConnector" if LMCACHE_MP.holds(target) else "LMCacheConnectorV1"
    native: tuple[str, ...] = ("OffloadingConnector",)
    if simple is not None and SIMPLE_OFFLOAD.holds(target):
        known = {"0": native, "1": ("SimpleCPUOffloadConnector",)}
        native = known.get(simple.value.string() or "", (*native, "SimpleCPUOffloadConnector"))
    if backend is None or backend.value == "native":
        return native
    return (lmcache,) if backend.value == "lmcache" else (*native, lmcache)
