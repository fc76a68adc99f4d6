"""Host memory of one rank: exactly the budget, in one anonymous mapping, backed by the kernel as it is used."""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import torch

from pd_launch.schemas.budget import host_blocks


class HostPool:
    """``blocks`` host blocks, as one array [blocks, width] per region of the device cache.

    Each array is contiguous, so a run of host blocks takes one copy per region. What is left of the budget after the
    last whole block stays untouched.

    Args:
        budget: bytes of host memory.
        widths: bytes of one block in each region.
    """

    def __init__(self, budget: int, widths: Sequence[int]) -> None:
        self.budget = budget
        self.block_bytes = sum(widths)
        self.blocks = host_blocks(budget, self.block_bytes)
        self._memory = mmap.mmap(-1, budget)
        whole = torch.frombuffer(self._memory, dtype=torch.uint8)
        self._pinned = 0
        self.address = whole.data_ptr()
        self.regions: list[torch.Tensor] = []
        start = 0
        for width in widths:
            size = self.blocks * width
            self.regions.append(whole[start : start + size].view(self.blocks, width))
            start += size

    def pin(self) -> bool:
        """Register the memory with CUDA for faster copies; False where CUDA refuses. Not run on a device so far."""
        status = torch.cuda.cudart().cudaHostRegister(self.address, self.budget, 0)
        self._pinned = self.address if int(status) == 0 else 0
        return bool(self._pinned)

    def close(self) -> None:
        """Let go of the memory; nothing may use the regions afterwards."""
        if self._pinned:
            torch.cuda.cudart().cudaHostUnregister(self._pinned)
            self._pinned = 0
        self.regions.clear()
