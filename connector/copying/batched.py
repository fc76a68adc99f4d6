"""Copies in one call of a batched memcpy, for all blocks and regions, in the stream that needs them.

The save stops the compute stream for the time of the copy (:mod:`staging` does not), but needs no staging area and no
gather. Not run on a device so far: tested on CPU tensors, with a stand-in for the device's call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from pd_launch.connector.copying.backend import Ticket
from pd_launch.connector.copying.lanes import Lane, Lanes, Point, TorchLanes

# Addresses of sources and of targets and sizes in bytes, int64 on the host, and whether it goes to the host.
BatchedCopy = Callable[["torch.Tensor", "torch.Tensor", "torch.Tensor", bool], None]

TO_DEVICE, TO_HOST = 0, 1  # vllm-ascend's names for directions


def batched_copy(device: torch.device) -> BatchedCopy:
    """Return the device's batched memcpy, which runs in the current stream.

    Raises:
        ValueError: the installed software has none.
    """
    space, name = {"cuda": ("_C_cache_ops", "swap_blocks_batch"), "npu": ("_C_ascend", "swap_blocks_batch")}.get(
        device.type, ("", "")
    )
    call: Any = getattr(getattr(torch.ops, space, None), name, None) if space else None
    if call is None:
        raise ValueError(
            f"copy_backend 'batched': there is no batched memcpy for {device.type} here; leave the option out"
        )
    if device.type == "cuda":
        return lambda sources, targets, sizes, to_host: call(sources, targets, sizes, False)
    return lambda sources, targets, sizes, to_host: call(sources, targets, sizes, TO_HOST if to_host else TO_DEVICE)


class BatchedCopies:
    """For a device with a batched memcpy.

    Args:
        device: uint8 views [blocks, width] of the cache.
        host: uint8 views [host blocks, width] of the pool, in the same order.
        copy: the batched memcpy.
        lanes: the device's streams.
    """

    def __init__(
        self,
        device: Sequence[torch.Tensor],
        host: Sequence[torch.Tensor],
        copy: BatchedCopy | None = None,
        lanes: Lanes | None = None,
    ) -> None:
        self._device = _Places(device)
        self._host = _Places(host)
        self._copy = copy or batched_copy(device[0].device)
        self._lanes = lanes or TorchLanes(device[0].device)
        self._side = self._lanes.side()

    def save(self, device: Sequence[int], host: Sequence[int]) -> Ticket:
        """Copy in the compute stream."""
        return self._run(self._lanes.current(), self._device.of(device), self._host.of(host), True)

    def load(self, device: Sequence[int], host: Sequence[int]) -> Ticket:
        """Copy in the compute stream."""
        return self._run(self._lanes.current(), self._host.of(host), self._device.of(device), False)

    def load_aside(self, device: Sequence[int], host: Sequence[int]) -> Ticket:
        """Copy beside the compute stream, after all that it was given so far, saves included."""
        self._side.wait(self._lanes.current().record())
        return self._run(self._side, self._host.of(host), self._device.of(device), False)

    def _run(self, lane: Lane, sources: torch.Tensor, targets: torch.Tensor, to_host: bool) -> Ticket:
        sizes = torch.from_numpy(np.repeat(self._device.widths, len(sources) // len(self._device.widths)))
        lane.do(lambda: self._copy(sources, targets, sizes, to_host))
        return Point(lane.record())

    def close(self) -> None:
        """Wait for the side stream."""
        self._side.record().synchronize()


class _Places:
    """Where the blocks of some regions are."""

    def __init__(self, regions: Sequence[torch.Tensor]) -> None:
        self._starts = np.array([region.data_ptr() for region in regions], dtype=np.int64)
        self._strides = np.array([region.stride(0) for region in regions], dtype=np.int64)
        self.widths = np.array([region.shape[1] for region in regions], dtype=np.int64)

    def of(self, blocks: Sequence[int]) -> torch.Tensor:
        """Return the addresses of blocks, region by region."""
        ids = np.asarray(blocks, dtype=np.int64)
        places: torch.Tensor = torch.from_numpy((self._starts[:, None] + self._strides[:, None] * ids[None, :]).ravel())
        return places
