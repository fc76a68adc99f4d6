"""The built-in offload connector of vllm-ascend: which options it reads, and what it takes where none is given."""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Code, ascend

_OLD = "vllm_ascend/distributed/kv_transfer/kv_pool/recompute_cpu_offload/*.py"
_NEW = "vllm_ascend/distributed/kv_transfer/kv_pool/kv_offload/preempt_offload/*.py"
_BOTH = f"{_OLD} {_NEW}"

BUILTIN = ascend(
    "offload-builtin", "0.23.0rc1", None, "there is a built-in offload connector, which refuses prefill context "
    "parallelism",
    Code("vllm_ascend/distributed/kv_transfer/__init__.py",
         r"\"(RecomputeCPUOffloadConnector|PreemptOffloadConnector)\""),
    Code(_BOTH, r"assert .{0,80}(pcp|prefill_context)"),
)  # fmt: skip
RATIO = ascend(
    "offload-ratio", "0.28.0rc1", None, "offload_host_memory_ratio is read, and there is no default in bytes",
    Code(_BOTH, r"offload_host_memory_ratio"),
    Code(_BOTH, r"DEFAULT_CPU_CAPACITY_BYTES = 8 \*", absent=True, within=True),
)  # fmt: skip
DEFAULT_BYTES = ascend(
    "offload-default-bytes", "0.23.0rc1", "0.28.0rc1", "without an option an engine gets 8 GiB, divided by its ranks",
    Code(_OLD, r"DEFAULT_CPU_CAPACITY_BYTES = 8 \* \(?1024"),
)  # fmt: skip
DIVIDED = ascend(
    "offload-divided-by-world-size", "0.23.0rc1", None,
    "cpu_bytes_to_use is divided by the world size, whatever the data-parallel size",
    Code(_BOTH, r"cpu_\w+_bytes\w* // \w*world_size|// world_size"),
)  # fmt: skip
PREFIX_CACHING = ascend(
    "offload-prefix-caching", "0.23.0rc1", None, "enable_offload_prefix_caching is read, off by default, and must be "
    "a boolean",
    Code(_BOTH, r"enable_offload_prefix_caching must be a bool"),
)  # fmt: skip
