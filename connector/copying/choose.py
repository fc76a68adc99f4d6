"""Block copies between the device cache and the host pool, behind one small interface.

======= ======================================================== ============ =============================
backend how                                                      host layout  run on its device?
======= ======================================================== ============ =============================
CPU     one gather or scatter per region, nothing in between;    region-major yes; the default there
        large ones past the caches (:mod:`streaming`)
torch   gather on the device, blocking copy, in bounded pieces;  region-major no; the default on CUDA, NPU
        ordered with compute by the current stream                            and others, because it needs
                                                                              nothing but blocking copies
staged  :mod:`staging`: through a device staging area, drained   block-major  no; ``copy_backend: staged``
        and filled on side streams while the model computes
batched :mod:`batched`: one call for all blocks and regions,     block-major  no; ``copy_backend: batched``
        vLLM's on CUDA, CANN's through vllm-ascend on NPU
======= ======================================================== ============ =============================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from pd_launch.connector.copying.backend import CopyBackend, Ticket
from pd_launch.connector.copying.streaming import streaming
from pd_launch.schemas.offload.blocks import runs

PIECE_BYTES = 64 << 20
AUTO, STAGED, BATCHED = "auto", "staged", "batched"


class CpuCopies:
    """For a device cache in CPU memory: one call per region and run of host blocks, or one for all; memory speed.

    numpy moves whole rows with memcpy, in both directions, faster than torch's index_select and index_copy_. What is
    larger than the caches goes past them, and what is so small that numpy's calls show takes one call for all regions,
    where this machine has a way (figures in docs/performance.md).

    Args:
        device: uint8 views [blocks, width] of the cache.
        host: uint8 views [host blocks, width] of the pool, in the same order.
        past_caches: let large copies go past the caches, where this machine has a way.
    """

    def __init__(self, device: Sequence[torch.Tensor], host: Sequence[torch.Tensor], past_caches: bool = True) -> None:
        self._pairs = [(d.numpy(), h.numpy()) for d, h in zip(device, host, strict=True)]
        self._blocks = min(int(region.shape[0]) for region in device)
        self._save_streaming = streaming(device, host) if past_caches else None
        self._load_streaming = streaming(host, device) if past_caches else None
        self._thread: ThreadPoolExecutor | None = None

    def save(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Gather straight into the host blocks; the caller hands out neighbours where it can."""
        if self._save_streaming and self._save_streaming.takes(len(device)):
            self._save_streaming.copy(device, host)
            return
        ids = self._ids(device)
        for offset, start, count in pieces(host):
            part = ids[offset : offset + count]
            for source, target in self._pairs:
                _take(source, part, target[start : start + count])

    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Scatter from the host blocks."""
        if self._load_streaming and self._load_streaming.takes(len(device)):
            self._load_streaming.copy(host, device)
            return
        ids = self._ids(device)
        for offset, start, count in pieces(host):
            part = ids[offset : offset + count]
            for target, source in self._pairs:
                target[part] = source[start : start + count]

    def load_aside(self, device: Sequence[int], host: Sequence[int]) -> Ticket:
        """Scatter from the host blocks in a thread; numpy holds no lock while it moves bytes."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="pd-launch-load")
        return _Pending(self._thread.submit(self.load, device, host))

    def close(self) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def _ids(self, device: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        ids = np.asarray(device, dtype=np.int64)
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < self._blocks:
            raise ValueError(f"device block {int(ids.max())} does not exist, {self._blocks} do")
        return ids


def _take(source: np.ndarray, ids: np.ndarray, target: np.ndarray) -> None:
    if source.flags.c_contiguous:
        source.take(ids, 0, target, "clip")  # checked already; "raise" would go through a buffer
    else:
        target[:] = source[ids]  # padded pages: take would copy all of them first


class _Pending:
    """A ticket for work in a thread."""

    def __init__(self, future: Future[None]) -> None:
        self._future = future

    def done(self) -> bool:
        """Whether it is over; raises what it raised."""
        if not self._future.done():
            return False
        self._future.result()
        return True


class TorchCopies:
    """For any torch device: blocking copies on the current stream, which orders them with the model's compute.

    Args:
        device: uint8 views [blocks, width] of the cache.
        host: uint8 views [host blocks, width] of the pool, in the same order.
        piece_bytes: device memory that one gathered piece may take.
    """

    def __init__(
        self, device: Sequence[torch.Tensor], host: Sequence[torch.Tensor], piece_bytes: int = PIECE_BYTES
    ) -> None:
        self._pairs = list(zip(device, host, strict=True))
        self._piece = piece_bytes

    def save(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Gather on the device, then copy each piece to its host blocks; returns when the bytes are there."""
        for source, target in self._pairs:
            ids = torch.tensor(device, dtype=torch.int64, device=source.device)
            for offset, start, count in pieces(host, self._limit(source)):
                target[start : start + count].copy_(source.index_select(0, ids[offset : offset + count]))

    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Copy each piece to the device, then scatter it there."""
        for target, source in self._pairs:
            ids = torch.tensor(device, dtype=torch.int64, device=target.device)
            for offset, start, count in pieces(host, self._limit(target)):
                target.index_copy_(0, ids[offset : offset + count], source[start : start + count].to(target.device))

    def load_aside(self, device: Sequence[int], host: Sequence[int]) -> None:
        """The same as :meth:`load`: these copies block anyway."""
        self.load(device, host)

    def close(self) -> None:
        """Nothing is under way."""

    def _limit(self, region: torch.Tensor) -> int:
        return max(1, self._piece // int(region.shape[1]))


Make = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor]], CopyBackend]


@dataclass(frozen=True)
class Choice:
    """A backend, the host layout that it was measured to want, and how to make it."""

    name: str
    block_major: bool
    make: Make


def choose(device: torch.device, wanted: str = AUTO) -> Choice:
    """Return the backend for the device that the cache is on.

    Args:
        device: where the cache is.
        wanted: ``auto``, ``staged`` or ``batched``.

    Raises:
        ValueError: that backend cannot work on this device.
    """
    if device.type == "cpu":
        if wanted != AUTO:
            raise ValueError(f"copy_backend {wanted!r} is for devices; with a KV cache in CPU memory leave it out")
        return Choice("cpu", False, CpuCopies)
    if wanted == STAGED:
        from pd_launch.connector.copying.staging import StagedCopies

        return Choice(STAGED, True, StagedCopies)
    if wanted == BATCHED:
        from pd_launch.connector.copying.batched import BatchedCopies

        return Choice(BATCHED, True, BatchedCopies)
    return Choice("torch", False, TorchCopies)


def pieces(host: Sequence[int], limit: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield (offset into ``host``, first block, count) of runs of neighbours, none longer than ``limit``."""
    offset = 0
    for start, count in runs(host):
        step = limit or count
        for done in range(0, count, step):
            size = min(step, count - done)
            yield offset + done, start + done, size
        offset += count
