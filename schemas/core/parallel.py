"""The parallel layout of one side: world size, local ranks, devices and port ranges. Pure arithmetic.

Names as vLLM spells them: TP, PP, PCP (prefill context parallel) and DP; DCP lives inside TP and adds no rank. One
*engine* is one DP rank; its ``world_size`` is TP × PP × PCP and never includes DP.
"""

from __future__ import annotations

from typing import NamedTuple


class Parallel(NamedTuple):
    """Sizes of one side. ``data`` counts the DP ranks of the whole side, over all its nodes."""

    tensor: int = 1
    pipeline: int = 1
    prefill_context: int = 1
    decode_context: int = 1
    data: int = 1

    @property
    def world_size(self) -> int:
        """Ranks (devices) of one engine: TP × PP × PCP."""
        return self.tensor * self.pipeline * self.prefill_context


def device_range(local_index: int, world_size: int) -> range:
    """Return the device numbers of the ``local_index``-th engine of a node: ``[i·w, (i+1)·w)``."""
    return range(local_index * world_size, (local_index + 1) * world_size)
