"""The values that flags and fields take, where it is a range or a few words.

Source: vLLM's argument parser and config classes at 0.23.0, 0.27.1 and 0.32.0 (vllm/config/compilation.py,
vllm/config/kv_transfer.py, vllm/config/scheduler.py); the pool's backends from
vllm_ascend/distributed/kv_transfer/kv_pool/ascend_store in the wheels of 0.18.0 to 0.26.0rc1.
"""

from __future__ import annotations

_SIZE = (1, None, True)
_RANK = (0, None, True)
_PORT = (1, 65535, True)

NUMBERS: dict[str, tuple[float, float | None, bool]] = {
    "port": _PORT,
    "data-parallel-rpc-port": _PORT,
    "tensor-parallel-size": _SIZE,
    "pipeline-parallel-size": _SIZE,
    "prefill-context-parallel-size": _SIZE,
    "decode-context-parallel-size": _SIZE,
    "data-parallel-size": _SIZE,
    "data-parallel-rank": _RANK,
    "data-parallel-start-rank": _RANK,
    "gpu-memory-utilization": (0.0, 1.0, False),
}
"""Flag → least value, most value (None: no limit), and whether it is a whole number."""

CHOICES = {
    "scheduling-policy": frozenset({"fcfs", "priority"}),
    "dtype": frozenset({"auto", "half", "float16", "bfloat16", "float", "float32"}),
    "mamba-cache-mode": frozenset({"all", "align", "none"}),
}
"""Flag → its words."""

BOOLEAN_WORDS = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})
"""Words that people write behind a flag that takes no value."""

CUDAGRAPH_MODES = frozenset({"NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"})
FAILURE_POLICIES = frozenset({"recompute", "fail"})

POOL_CONNECTORS = frozenset({"AscendStoreConnector", "MooncakeConnectorStoreV1"})
POOL_BACKENDS = {"mooncake": "0.18.0", "memcache": "0.18.0", "yuanrong": "0.19.1rc1"}
"""Backend of a KV pool → the first release that has it."""
