"""Registration with vLLM's factory."""

from __future__ import annotations

from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

from pd_launch.schemas.engine.budget import OFFLOAD_NAMES

MODULE = "pd_launch.connector.connector"


def register() -> None:
    """Register both class names in this process, in place of entries of the same names (vllm-ascend has one)."""
    for name in OFFLOAD_NAMES:
        KVConnectorFactory._registry.pop(name, None)
        KVConnectorFactory.register_connector(name, MODULE, name)
