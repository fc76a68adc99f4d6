"""In which releases of vllm-ascend a feature's conditions are checked, or its fault is present.

Each range has the first release, and the first that is no longer meant (None: up to the newest). Source:
vllm_ascend/platform.py and vllm_ascend/ascend_config.py in the wheels of 0.18.0, 0.19.1rc1, 0.20.2rc1, 0.21.0rc1,
0.22.1rc1, 0.23.0rc1, 0.23.0, 0.24.0rc1, 0.25.1rc1 and 0.26.0rc1; the main branch for 0.27.1rc1 and 0.28.0.
"""

from __future__ import annotations

from pd_launch.schemas.target import Target

Ranges = tuple[tuple[str, str | None], ...]

LAYER_SHARDING: Ranges = (("0.18.0", "0.24.0rc1"),)
KV_NZ: Ranges = (("0.18.0", None),)
REDUCE_SAMPLE: Ranges = (("0.23.0", "0.24.0rc1"), ("0.27.1rc1", None))
SPARSE_OFFLOAD: Ranges = (("0.26.0rc1", None),)
MTP_PIPELINE: Ranges = (("0.22.1rc1", "0.24.0rc1"),)
MAMBA_PREFIX: Ranges = (("0.18.0", "0.23.0rc1"),)
"""Prefix caching of Mamba states reached decode nodes with 0.23 (pull request 7796, issues 7944 and 10908)."""
FINEGRAINED_RECOMPUTE: Ranges = (("0.23.0rc1", None),)
FINEGRAINED_MOE: Ranges = (("0.21.0rc1", None),)
OLORA: Ranges = (("0.20.2rc1", "0.28.0"),)
FUSED_MC2_KEY: Ranges = (("0.20.2rc1", None),)
MC2_ALGORITHM: Ranges = (("0.26.0rc1", None),)
MIX_PLACEMENT: Ranges = (("0.19.1rc1", None),)
DUMP_TWICE: Ranges = (("0.20.2rc1", None),)
STATIC_KERNEL: Ranges = (("0.18.0", None),)
XLITE: Ranges = (("0.18.0", None),)
FLASHCOMM_KEY: Ranges = (("0.20.2rc1", "0.27.1rc1"),)
FLASHCOMM_VARIABLE: Ranges = (("0.18.0", "0.27.1rc1"),)
PREFILL_CONTEXT_WITH_DATA: Ranges = (("0.22.0", "0.25.0"),)
PREFILL_CONTEXT: Ranges = (("0.25.0", None),)


def applies(ranges: Ranges, target: Target) -> bool:
    """Whether ``target`` lies in one of the ranges."""
    return any(
        target.ascend_at_least(since) and (until is None or target.ascend_before(until)) for since, until in ranges
    )
