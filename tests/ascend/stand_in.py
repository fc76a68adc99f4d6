"""Makes vllm-ascend's own modules importable without its plugin, its NPU libraries or its kernels.

Bare packages with ``__path__`` stand for those whose ``__init__`` would load the rest, a namespace for torch.npu, and
an empty class for the one P/D connector that the wrapper of connectors asks the type of.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = (
    "vllm_ascend",
    "vllm_ascend.core",
    "vllm_ascend.distributed",
    "vllm_ascend.distributed.kv_transfer",
    "vllm_ascend.distributed.kv_transfer.kv_pool",
    "vllm_ascend.distributed.kv_transfer.kv_pool.recompute_cpu_offload",
    "vllm_ascend.distributed.kv_transfer.kv_pool.kv_offload",
    "vllm_ascend.distributed.kv_transfer.kv_pool.kv_offload.preempt_offload",
    "vllm_ascend.distributed.kv_transfer.kv_p2p",
    "vllm_ascend.patch",
    "vllm_ascend.patch.platform",
)
# Its scheduler counts on this patch of vLLM 0.23.0, which its plugin applies.
PATCH = "vllm_ascend.patch.platform.patch_async_swa_kv_lifetime"
LAYERWISE = "vllm_ascend.distributed.kv_transfer.kv_p2p.mooncake_layerwise_connector"
OFFLOAD = "vllm_ascend.distributed.kv_transfer.kv_pool.recompute_cpu_offload.recompute_cpu_offload_connector"
# The same connector's place from 0.28.0rc1 on, or before.
LATER_OFFLOAD = "vllm_ascend.distributed.kv_transfer.kv_pool.kv_offload.preempt_offload.preempt_offload_connector"
WRAPPER = "vllm_ascend.distributed.kv_transfer.ascend_multi_connector"
SCHEDULER = "vllm_ascend.core.recompute_scheduler"


class _Event:
    def record(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True


def why_not() -> str:
    """Return why the contract cannot be tested in this environment; empty where it can."""
    if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("vllm_ascend") is None:
        return "needs vllm-ascend's source beside vLLM: scripts/setup_engine.py 0.23.0-contract --venv DIR"
    return ""


def install() -> None:
    """Put the stand-ins in place; once, before anything of vllm-ascend is imported."""
    if "vllm_ascend" in sys.modules:
        return
    spec = importlib.util.find_spec("vllm_ascend")
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent
    for name in PACKAGES:
        module = types.ModuleType(name)
        module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    _stand_for_npu()
    layerwise = types.ModuleType(LAYERWISE)
    layerwise.MooncakeLayerwiseConnector = type("MooncakeLayerwiseConnector", (), {})  # type: ignore[attr-defined]
    sys.modules[LAYERWISE] = layerwise
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch

    torch.set_num_threads(1)  # the tensors are small: threads would only wait for each other
    torch.npu = types.SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: False,
        Stream=object,
        Event=_Event,
        stream=lambda stream: contextlib.nullcontext(),
        synchronize=lambda: None,
        current_stream=lambda: types.SimpleNamespace(wait_stream=lambda stream: None),
    )
    if importlib.util.find_spec(PATCH):
        import_module(PATCH)


def _stand_for_npu() -> None:
    """What releases from 0.28.0rc1 on import at once: the NPU's library, and what their build would have written."""
    npu = types.ModuleType("torch_npu")
    npu.__spec__ = importlib.machinery.ModuleSpec("torch_npu", None)
    sys.modules.setdefault("torch_npu", npu)
    built = types.ModuleType("vllm_ascend._build_info")
    built.__device_type__ = "A2"  # type: ignore[attr-defined]
    sys.modules["vllm_ascend._build_info"] = built
    sys.modules["vllm_ascend"]._build_info = built  # type: ignore[attr-defined]


def ascend(module: str) -> Any:
    """Return one of vllm-ascend's own modules."""
    install()
    return import_module(module)
