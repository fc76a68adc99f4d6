"""Host memory of one rank: exactly the budget, in one mapping, near the device, pinned or touched where asked."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
from collections.abc import Sequence
from itertools import accumulate

import torch

from pd_launch.connector.hostmem import Registrar, prefer_node
from pd_launch.connector.reserve import MOST_AHEAD, SHARE_AHEAD, Reserve
from pd_launch.schemas.engine.budget import host_blocks

POPULATE_WRITE = 23  # madvise: back pages as a write would, without changing a byte. Linux 5.14
# madvise: a fork copies neither page tables nor pages, and has zeros there; Linux 4.14. Without the mapping itself, as
# MADV_DONTFORK leaves it, the child's copy of the mmap object would one day unmap what lies there by then.
WIPE_ON_FORK = 18 if sys.platform == "linux" else None
PAGE = mmap.PAGESIZE
HUGE_PAGE = 2 << 20
PIECE_BYTES = 4 << 20  # one call, which locks the address space against mmap: short, and never at a low priority
TOUCH_BYTES = 64 << 20  # the same at start, when nobody waits for the address space


def _madvise(address: int, size: int, advice: int) -> int:
    call = ctypes.CDLL(None, use_errno=True).madvise
    call.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return int(call(address, size, advice))


class HostPool:
    """``blocks`` host blocks in one anonymous private mapping of exactly ``budget`` bytes.

    ``regions`` are uint8 views [blocks, width], one per region of the device cache. Region-major, each is contiguous,
    so that one gather per region writes straight into a run of host blocks. Block-major, the regions of one block are
    neighbours, so that a run of blocks is one copy for all regions. What is left of the budget stays untouched. Pages
    come as blocks are used, and with :meth:`start_reserve` some ahead of that.

    Args:
        budget: bytes of host memory.
        widths: bytes of one block in each region.
        block_major: the layout.
        node: NUMA node to place the memory on, if known.
    """

    def __init__(self, budget: int, widths: Sequence[int], block_major: bool = False, node: int | None = None) -> None:
        self.budget = budget
        self.block_bytes = sum(widths)
        self.blocks = host_blocks(budget, self.block_bytes)
        self._memory = mmap.mmap(-1, budget, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._advise()
        whole = torch.frombuffer(self._memory, dtype=torch.uint8)
        self.address = whole.data_ptr()
        self.node = node if node is not None and prefer_node(self.address, budget, node) else None
        self.pinned = False
        self._registrar: Registrar | None = None
        self.reserve: Reserve | None = None
        self._widths = list(widths)
        self._block_major = block_major
        starts = accumulate(widths, initial=0)
        if block_major:
            rows = whole[: self.blocks * self.block_bytes].view(self.blocks, self.block_bytes)
            self.regions = [rows[:, start : start + width] for start, width in zip(starts, widths, strict=False)]
        else:
            n = self.blocks
            self.regions = [
                whole[n * start : n * (start + width)].view(n, width)
                for start, width in zip(starts, widths, strict=False)
            ]

    def _advise(self) -> None:
        for advice in (getattr(mmap, "MADV_HUGEPAGE", None), WIPE_ON_FORK):
            try:
                if advice is not None:
                    self._memory.madvise(advice)
            except OSError:
                continue  # a kernel without it: slower, not wrong

    def pin(self, registrar: Registrar) -> bool:
        """Register the memory with the device, which also touches it; False where the device refuses."""
        self.pinned = registrar.register(self.address, self.budget)
        self._registrar = registrar if self.pinned else None
        return self.pinned

    def touch(self) -> None:
        """Back all of the memory with pages, before anything is saved in it; pinned memory has them.

        Raises:
            OSError: there is no such memory.
        """
        if self.pinned:
            return
        for start in range(0, self.budget, TOUCH_BYTES):
            if not self._populate(start, min(self.budget, start + TOUCH_BYTES)):
                ctypes.memset(self.address, 0, self.budget)
                return

    def start_reserve(self) -> None:
        """Let pages come ahead of need, and go when they are long not needed; not for memory that has them all."""
        ahead = min(MOST_AHEAD, self.budget // SHARE_AHEAD) - self._rounding()
        self.reserve = Reserve(self, self.blocks, self.block_bytes, max(1, ahead // self.block_bytes))

    def _rounding(self) -> int:
        """Return the bytes that may be backed beyond the blocks: a huge page at the end of each array."""
        return HUGE_PAGE * (1 if self._block_major else len(self._widths))

    def back(self, first: int, stop: int) -> bool:
        """Back blocks with pages, as a write would, without changing a byte; False where the kernel cannot."""
        try:
            return all(
                self._populate(piece, min(end, piece + PIECE_BYTES))
                for start, end in self._extents(first, stop)
                for piece in range(start, end, PIECE_BYTES)
            )
        except OSError:
            return False  # no memory: who writes there will be told

    def release(self, first: int) -> None:
        """Give the pages of a block and all after it back, whose content is lost; not pages that others are on too.

        To the end, because huge pages reach beyond the last block that was backed.
        """
        for start, end in self._extents(first, self.blocks):
            start, end = -(-start // PAGE) * PAGE, end // PAGE * PAGE
            if start < end:
                _madvise(self.address + start, end - start, mmap.MADV_DONTNEED)

    def _extents(self, first: int, stop: int) -> list[tuple[int, int]]:
        """Return the bytes of blocks, as offsets, one stretch for each array."""
        if self._block_major:
            return [(first * self.block_bytes, stop * self.block_bytes)]
        starts = accumulate(self._widths, initial=0)
        return [
            (self.blocks * start + first * width, self.blocks * start + stop * width)
            for start, width in zip(starts, self._widths, strict=False)
        ]

    def _populate(self, start: int, end: int) -> bool:
        start = start // PAGE * PAGE
        if not _madvise(self.address + start, end - start, POPULATE_WRITE):
            return True
        error = ctypes.get_errno()
        if error == errno.EINVAL:
            return False  # a kernel before 5.14
        raise OSError(error, os.strerror(error))

    def close(self) -> None:
        """Let go of the memory; nothing may use the regions afterwards."""
        if self.reserve is not None:
            self.reserve.close()
            self.reserve = None
        if self._registrar is not None:
            self._registrar.unregister(self.address)
            self._registrar = None
            self.pinned = False
        self.regions.clear()
