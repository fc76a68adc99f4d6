"""The bundled connector keeps the KV of preempted requests in host memory.

vLLM loads it through ``kv_connector_module_path``. That also registers both class names with vLLM's KVConnectorFactory
in the process, in place of entries of the same names: MultiConnector rebuilds its children's statistics by registered
name, in the API server too. The classes are loaded on first use, so that the pure modules here work without vLLM.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pd_launch.schemas.engine.budget import OFFLOAD_NAMES

if TYPE_CHECKING:
    from pd_launch.connector.connector import PreemptOffloadConnector, RecomputeCPUOffloadConnector

__all__ = ["PreemptOffloadConnector", "RecomputeCPUOffloadConnector"]


def __getattr__(name: str) -> Any:
    if name not in OFFLOAD_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("pd_launch.connector.registry").register()
    return getattr(import_module("pd_launch.connector.connector"), name)


if "vllm.distributed.kv_transfer.kv_connector.factory" in sys.modules:
    import_module("pd_launch.connector.registry").register()
