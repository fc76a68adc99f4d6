"""Host memory of one rank: exactly the budget, in one mapping, near the device, pinned or touched where asked."""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
import time
from collections.abc import Sequence
from itertools import accumulate

import torch

from pd_launch.connector.hostmem import Registrar, prefer_node
from pd_launch.schemas.engine.budget import host_blocks

POPULATE_WRITE = 23  # madvise: back pages as a write would, without changing a byte. Linux 5.14
# madvise: a fork copies neither page tables nor pages, and has zeros there; Linux 4.14. Without the mapping itself, as
# MADV_DONTFORK leaves it, the child's copy of the mmap object would one day unmap what lies there by then.
WIPE_ON_FORK = 18 if sys.platform == "linux" else None
TOUCHES = "pd-launch-touch"  # the name of the thread that does
TOUCH_BYTES = 4 << 20  # one call, which locks the address space against mmap: short, and never at a low priority


class HostPool:
    """``blocks`` host blocks in one anonymous private mapping of exactly ``budget`` bytes.

    ``regions`` are uint8 views [blocks, width], one per region of the device cache. Region-major, each is contiguous,
    so that one gather per region writes straight into a run of host blocks. Block-major, the regions of one block are
    neighbours, so that a run of blocks is one copy for all regions. What is left of the budget stays untouched.

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
        self._toucher: threading.Thread | None = None
        self._closed = threading.Event()
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
        """Back the memory with pages, in a thread that rests half of the time; not for pinned memory, and only once."""
        if self.pinned or self._toucher is not None:
            return
        self._toucher = threading.Thread(target=self._touch, name=TOUCHES, daemon=True)
        self._toucher.start()

    def _touch(self) -> None:
        madvise = ctypes.CDLL(None, use_errno=True).madvise
        madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for start in range(0, self.budget, TOUCH_BYTES):
            begin = time.monotonic()
            if madvise(self.address + start, min(TOUCH_BYTES, self.budget - start), POPULATE_WRITE):
                return  # an older kernel: pages come as they are used
            if self._closed.wait(time.monotonic() - begin):
                return

    def wait_touched(self) -> None:
        """Wait until :meth:`touch` is over."""
        if self._toucher is not None:
            self._toucher.join()

    def close(self) -> None:
        """Let go of the memory; nothing may use the regions afterwards."""
        self._closed.set()
        self.wait_touched()
        if self._registrar is not None:
            self._registrar.unregister(self.address)
            self._registrar = None
            self.pinned = False
        self.regions.clear()
