"""What a release of vllm-ascend does with a block size.

Source: refresh_block_size in vllm_ascend/utils.py at 0.18.0 to 0.27.1rc1, and _validate_sfa_dcp_kv_sp in
vllm_ascend/platform.py of the same tags.
"""

from __future__ import annotations

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.transfers import V4_BLOCKS as V4_BLOCKS_OF_ITS_OWN

FORCED_BLOCK = 128
"""The block size of every model without Mamba layers while prefix caching or chunked prefill is on."""
VLLM_BLOCK = 16
"""What vLLM hands over where no size is given: CacheConfig.DEFAULT_BLOCK_SIZE, the same in every release."""
V4_FAMILY = "deepseek-v4"
V4_BLOCKS = (32, 64, 128)
V4_FALLBACK = 32
DEFAULT_INTERLEAVE = 1
"""--cp-kv-cache-interleave-size where it is not given."""


def real_block(written: int, family: str, target: Target) -> int:
    """Return the block size that the release really uses for a model without Mamba layers."""
    if family == V4_FAMILY and V4_BLOCKS_OF_ITS_OWN.holds(target):
        return written if written in V4_BLOCKS else V4_FALLBACK
    return FORCED_BLOCK
