"""The values that flags and fields take, where it is a range or a few words.

Source: vLLM's argument parser and config classes at 0.23.0, 0.27.1 and 0.32.0 (vllm/config/compilation.py,
vllm/config/kv_transfer.py, vllm/config/scheduler.py); the pool's backends from
vllm_ascend/distributed/kv_transfer/kv_pool/ascend_store in the wheels of 0.18.0 to 0.26.0rc1.
"""

from __future__ import annotations

from pd_launch.schemas.target import Target

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

ASCEND_WORDS: dict[str, tuple[tuple[str, str], ...]] = {
    "kv-cache-dtype": (("int8", "0.30.0rc1"), ("mxfp8", "0.30.0rc1")),
}
"""Flag → words that vllm-ascend adds to vLLM's own, each with the first release that takes it on the command line.

Source: pre_register_and_update in vllm_ascend/platform.py (line 330 at 0.30.0rc1), with the words of
patch/platform/patch_kv_cache_dtype.py; 0.29.0rc1 has only the latter, so its parser still refuses int8.
"""

FLOAT_CACHE = frozenset({"float16", "bfloat16"})
FLOAT_NAMES = {
    "half": "float16", "float16": "float16", "bfloat16": "bfloat16", "float": "float32", "float32": "float32",
}  # fmt: skip
FLOAT_CACHE_SINCE = "0.33.0"
"""vLLM from which a floating-point --kv-cache-dtype must be the model's own (vllm/config/vllm.py:1492 at 0.33.0)."""

POOL_CONNECTORS = frozenset({"AscendStoreConnector", "MooncakeConnectorStoreV1"})
POOL_BACKENDS = {"mooncake": "0.18.0", "memcache": "0.18.0", "yuanrong": "0.19.1rc1"}
"""Backend of a KV pool → the first release that has it."""


def added_words(flag: str, target: Target) -> tuple[str, ...]:
    """Return the words that ``target``'s vllm-ascend takes behind a flag beside vLLM's own."""
    return tuple(word for word, since in ASCEND_WORDS.get(flag, ()) if target.ascend_at_least(since))
