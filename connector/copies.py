"""Block copies between the device cache and the host pool, behind one small interface.

=========== ================================================== ==========================================
backend     how                                                run on its device?
=========== ================================================== ==========================================
CPU         one gather or scatter per region, no staging       yes
torch       gather on the device, blocking copy, in bounded    no: tested on CPU tensors only. The default
            pieces; ordered with compute by the current stream on CUDA and NPU, because it needs nothing
                                                               but blocking torch copies
=========== ================================================== ==========================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch

from pd_launch.connector.blocks import runs

STAGING_BYTES = 64 << 20


class CopyBackend(Protocol):
    """Copies whole blocks. After a call its source may be overwritten, and later compute may read its target."""

    def save(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Copy device block ``device[i]`` to host block ``host[i]``, for all i and all regions."""

    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Copy host block ``host[i]`` to device block ``device[i]``, for all i and all regions."""


class CpuCopies:
    """For a device cache in CPU memory: one call per region and run of host blocks, memory speed.

    Args:
        device: uint8 views [blocks, width] of the cache.
        host: uint8 views [host blocks, width] of the pool, in the same order.
    """

    def __init__(self, device: Sequence[torch.Tensor], host: Sequence[torch.Tensor]) -> None:
        self._pairs = list(zip(device, host, strict=True))
        # numpy scatters whole rows five times faster than torch's index_copy_ (bench figures in docs/connector.md)
        self._arrays = [(d.numpy(), h.numpy()) for d, h in self._pairs]

    def save(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Gather straight into the host blocks; the caller hands out neighbours where it can."""
        ids = torch.tensor(device, dtype=torch.int64)
        for offset, start, count in _pieces(host):
            for source, target in self._pairs:
                torch.index_select(source, 0, ids[offset : offset + count], out=target[start : start + count])

    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Scatter from the host blocks."""
        ids = torch.tensor(device, dtype=torch.int64).numpy()
        for offset, start, count in _pieces(host):
            for target, source in self._arrays:
                target[ids[offset : offset + count]] = source[start : start + count]


class TorchCopies:
    """For any torch device: blocking copies on the current stream, which orders them with the model's compute.

    Args:
        device: uint8 views [blocks, width] of the cache.
        host: uint8 views [host blocks, width] of the pool, in the same order.
        staging_bytes: device memory that one gathered piece may take.
    """

    def __init__(
        self, device: Sequence[torch.Tensor], host: Sequence[torch.Tensor], staging_bytes: int = STAGING_BYTES
    ) -> None:
        self._pairs = list(zip(device, host, strict=True))
        self._staging = staging_bytes

    def save(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Gather on the device, then copy each piece to its host blocks; returns when the bytes are there."""
        for source, target in self._pairs:
            ids = torch.tensor(device, dtype=torch.int64, device=source.device)
            for offset, start, count in _pieces(host, self._limit(source)):
                target[start : start + count].copy_(source.index_select(0, ids[offset : offset + count]))

    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        """Copy each piece to the device, then scatter it there."""
        for target, source in self._pairs:
            ids = torch.tensor(device, dtype=torch.int64, device=target.device)
            for offset, start, count in _pieces(host, self._limit(target)):
                target.index_copy_(0, ids[offset : offset + count], source[start : start + count].to(target.device))

    def _limit(self, region: torch.Tensor) -> int:
        return max(1, self._staging // int(region.shape[1]))


def make_copies(device: Sequence[torch.Tensor], host: Sequence[torch.Tensor]) -> CopyBackend:
    """Return the backend for the device that the cache is on."""
    return CpuCopies(device, host) if device[0].device.type == "cpu" else TorchCopies(device, host)


def _pieces(host: Sequence[int], limit: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield (offset into ``host``, first block, count) of runs of neighbours, none longer than ``limit``."""
    offset = 0
    for start, count in runs(host):
        step = limit or count
        for done in range(0, count, step):
            size = min(step, count - done)
            yield offset + done, start + done, size
        offset += count
