"""In which releases of vllm-ascend a feature's conditions are checked, or its fault is present.

Each range has the first release, and the first that is no longer meant (None: up to the newest). Source:
vllm_ascend/platform.py and vllm_ascend/ascend_config.py in the wheels of 0.18.0, 0.19.1rc1, 0.20.2rc1, 0.21.0rc1,
0.22.1rc1, 0.23.0rc1, 0.23.0, 0.24.0rc1, 0.25.1rc1 and 0.26.0rc1; the main branch for 0.27.1rc1; the source packages of
0.28.0rc1, 0.29.0rc1, 0.30.0rc1 and 0.30.0rc2, whose lines stand beside what is new in them.
"""

from __future__ import annotations

from pd_launch.schemas.target import Target

Ranges = tuple[tuple[str, str | None], ...]
Sized = dict[str, tuple[tuple[str, str | None, int], ...]]
"""Module of finegrained_tp_config → ranges, each with the least size that is meant."""

LAYER_SHARDING: Ranges = (("0.18.0", "0.24.0rc1"),)
KV_NZ: Ranges = (("0.18.0", None),)
REDUCE_SAMPLE: Ranges = (("0.23.0", "0.24.0rc1"), ("0.27.1rc1", "0.30.0rc1"))
"""The option is gone from 0.30.0rc1 on (vllm_ascend/ascend_config.py has no field of that name)."""
SPARSE_OFFLOAD: Ranges = (("0.26.0rc1", None),)
MTP_PIPELINE: Ranges = (("0.22.1rc1", "0.24.0rc1"),)
MAMBA_PREFIX: Ranges = (("0.18.0", "0.23.0rc1"),)
"""Prefix caching of Mamba states reached decode nodes with 0.23 (pull request 7796, issues 7944 and 10908)."""
FINEGRAINED_RECOMPUTE: Sized = {
    "oproj": (("0.23.0rc1", None, 1),),
    "embedding": (("0.23.0rc1", "0.30.0rc1", 1),),
    "mlp": (("0.30.0rc1", None, 1),),
}
"""What needs the recompute scheduler (ascend_config.py:150 at 0.23.0, :687 at 0.29.0rc1, :822 at 0.30.0rc1)."""
FINEGRAINED_DECODE: Sized = {
    "oproj": (("0.18.0", "0.30.0rc1", 1), ("0.30.0rc1", None, 2)),
    "olora": (("0.20.2rc1", "0.28.0rc1", 1),),
    "mlp": (("0.30.0rc1", None, 2),),
}
"""What is for decode nodes and graph mode only (from 0.30.0rc1 on: ascend_config.py:1362)."""
FINEGRAINED_ONE_RANK: Sized = {
    "oproj": (("0.23.0rc1", "0.30.0rc1", 1), ("0.30.0rc1", None, 2)),
    "mlp": (("0.30.0rc1", None, 2),),
}
"""What needs tensor-parallel size 1 (from 0.30.0rc1 on: ascend_config.py:1364)."""
FINEGRAINED_OFFLOAD: Sized = {"oproj": (("0.30.0rc1", None, 2),), "mlp": (("0.30.0rc1", None, 2),)}
"""What needs a connector of the name PreemptOffloadConnector (platform.py:1143 at 0.30.0rc1), and refuses prefill
context parallelism (ascend_config.py:1381)."""
FINEGRAINED_MOE: Ranges = (("0.21.0rc1", None),)
OLORA: Ranges = (("0.20.2rc1", "0.28.0rc1"),)
RENAMED: Ranges = (("0.28.0rc1", None),)
"""Where the built-in offload connector is PreemptOffloadConnector (kv_transfer/__init__.py:120 at 0.28.0rc1), works
with decode context parallelism and refuses a budget of nothing (kv_offload/preempt_offload/)."""
FUSED_MC2_KEY: Ranges = (("0.20.2rc1", None),)
MC2_ALGORITHM: Ranges = (("0.26.0rc1", None),)
MIX_PLACEMENT: Ranges = (("0.19.1rc1", None),)
DUMP_TWICE: Ranges = (("0.20.2rc1", None),)
STATIC_KERNEL: Ranges = (("0.18.0", None),)
XLITE: Ranges = (("0.18.0", None),)
FLASHCOMM_KEY: Ranges = (("0.20.2rc1", "0.27.1rc1"),)
FLASHCOMM_VARIABLE: Ranges = (("0.18.0", "0.27.1rc1"),)
SHORT_FIRST_PROFILING: Ranges = (("0.25.1rc1", "0.28.0rc1"),)
"""Where short_request_first and profiling_chunk exclude each other (platform.py:985 at 0.27.1rc1)."""
SHORT_FIRST_PROFILING_ASYNC: Ranges = (("0.28.0rc1", "0.30.0rc1"),)
"""Where the two work together, but not with async scheduling (platform.py:965 at 0.28.0rc1)."""
PROFILING_ASYNC: Ranges = (("0.30.0rc1", None),)
"""Where profiling_chunk takes async scheduling only with the V2 model runner (platform.py:1071 at 0.30.0rc1)."""
DSA_CP: Ranges = (("0.30.0rc1", None),)
"""Where enable_dsa_cp is refused with the V2 model runner and with prefill context parallelism; before, the latter was
a warning (ascend_config.py:703 at 0.30.0rc1, :630 at 0.29.0rc1)."""
PREFILL_CONTEXT_WITH_DATA: Ranges = (("0.22.0", "0.25.0"),)
PREFILL_CONTEXT: Ranges = (("0.25.0", None),)


def applies(ranges: Ranges, target: Target) -> bool:
    """Whether ``target`` lies in one of the ranges."""
    return any(
        target.ascend_at_least(since) and (until is None or target.ascend_before(until)) for since, until in ranges
    )


def asks(rows: Sized, module: str, size: int, target: Target) -> bool:
    """Whether ``target`` asks it of a module of finegrained_tp_config with that size."""
    return any(size >= least and applies(((since, until),), target) for since, until, least in rows.get(module, ()))
