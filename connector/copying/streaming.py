"""Rows of bytes copied past the caches, for a KV cache in CPU memory.

An ordinary store first reads the line that it is about to overwrite, so a copy that is larger than the caches moves
three bytes for each one it copies. Neither numpy nor torch offers a copy of rows without that, so the few instructions
that do are compiled when a cache is registered, by the llvmlite that comes with vLLM (:mod:`streaming_code`). Only on
x86-64, where it was measured (docs/performance.md); elsewhere, or where anything about it is missing, numpy copies.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence

import numpy as np
import torch

from pd_launch.connector.copying.streaming_code import LINE, load

LEAST_BYTES = 16 << 20  # from here on it is no slower even where all of it was in the caches
MOST_BYTES = 4 << 20  # up to here one call for all regions costs less than numpy's calls

Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


class StreamingCopy:
    """Copies rows of all regions of one side to the other's, in one call.

    Args:
        source: uint8 views [blocks, width].
        target: uint8 views [blocks, width], as many, each as wide as its source and aligned to cache lines.

    Raises:
        OSError, subprocess.SubprocessError: its code cannot be had, see :func:`streaming_code.load`.
    """

    def __init__(self, source: Sequence[torch.Tensor], target: Sequence[torch.Tensor]) -> None:
        self._past, self._near = load()
        self._tensors = [*source, *target]  # the addresses are theirs
        self._widths = _numbers([int(region.shape[1]) for region in target])
        addresses = [_numbers([r.data_ptr() for r in side]) for side in (source, target)]
        strides = [_numbers([r.stride(0) for r in side]) for side in (source, target)]
        self._arrays = [*addresses, *strides, self._widths]
        self._pointers = [array.ctypes.data for array in self._arrays]
        self._blocks = tuple(min(int(r.shape[0]) for r in side) for side in (source, target))
        self._row = int(self._widths.sum())

    def takes(self, rows: int) -> bool:
        """Whether so many rows are better copied this way."""
        return not MOST_BYTES < rows * self._row < LEAST_BYTES

    def copy(self, source: Sequence[int] | Ids, target: Sequence[int] | Ids) -> None:
        """Copy row ``source[i]`` to row ``target[i]``, for all i and all regions; it is over when this returns.

        Raises:
            ValueError: there is no such row, or not as many of one as of the other.
        """
        if len(source) != len(target):
            raise ValueError(f"{len(source)} rows cannot be copied to {len(target)}")
        for ids, blocks in zip((source, target), self._blocks, strict=True):
            if len(ids) and not 0 <= min(ids) <= max(ids) < blocks:
                raise ValueError(f"rows {min(ids)} to {max(ids)} do not exist, {blocks} do")
        source, target = (np.ascontiguousarray(ids, dtype=np.int64) for ids in (source, target))
        call = self._past if len(source) * self._row >= LEAST_BYTES else self._near
        call(
            len(self._widths),
            *self._pointers,
            len(source),
            source.ctypes.data,
            target.ctypes.data,
        )


def _numbers(values: Sequence[int]) -> Ids:
    return np.asarray(values, dtype=np.int64)


def streaming(source: Sequence[torch.Tensor], target: Sequence[torch.Tensor]) -> StreamingCopy | None:
    """Return a way from source to target past the caches, None where there is none for this machine or these rows."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    if any(region.shape[1] % LINE or region.stride(1) != 1 for region in (*source, *target)):
        return None
    if any(region.data_ptr() % LINE or region.stride(0) % LINE for region in target):
        return None
    try:
        return StreamingCopy(source, target)
    except (OSError, subprocess.SubprocessError):
        return None
