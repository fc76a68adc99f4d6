"""The KV pool's segment: host memory that each rank gives to a Mooncake pool.

Source: vllm_ascend/distributed/kv_transfer/kv_pool/ascend_store/backend/mooncake_backend.py at 0.26.0rc1: the variable
wins over the configuration file, GB, MB and KB are powers of 1024, and every rank registers one segment.
"""

from __future__ import annotations

import re

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Origin

VARIABLE = "MOONCAKE_GLOBAL_SEGMENT_SIZE"
_SIZE = lazy_pattern(r"(\d{1,15}(?:\.\d{0,6})?)\s*(gb|mb|kb|b)?", re.ASCII)
_FACTORS = {"gb": 1024**3, "mb": 1024**2, "kb": 1024, "b": 1}


def segment_bytes(node: NodeLaunch) -> tuple[int, Origin] | None:
    """Return the segment of one rank and where it is written; None where it is not set in the input or unknown."""
    text, variable = node.variable(VARIABLE), node.env.get(VARIABLE)
    match = _SIZE.fullmatch(text.strip().lower()) if text else None
    if match is None or variable is None:
        return None
    size = int(float(match[1]) * _FACTORS[match[2] or "b"])
    return (size, variable.value.origin) if size > 0 else None
