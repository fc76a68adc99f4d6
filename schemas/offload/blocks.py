"""The free list of host blocks: runs of neighbours, because one run is one copy per tensor. Pure Python."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from heapq import heapify, heappop, heappush


class HostBlocks:
    """Numbers 0 … ``total`` − 1, each free or taken.

    Taking costs time in proportion to what is taken, whatever else is free: the scheduler waits for it. So runs are
    found by their two ends and by their length; there are few lengths, at most √(2 × total). Nor does a pool without
    bounds, as a simulation has it, cost more than what is taken of it.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total
        self._taken: set[int] = set()
        self._beyond: set[int] = set()  # those of the taken ones that are not used again, after a limit
        self._length: dict[int, int] = {}  # first block of a free run → its length
        self._first: dict[int, int] = {}  # the block after a free run → its first block
        self._starts: dict[int, list[int]] = {}  # length → heap of first blocks, with some that are so no more
        self._alive: dict[int, int] = {}  # length → how many runs of it there are
        self._lengths: list[int] = []  # those that there are, sorted
        if total:
            self._add(0, total)

    @property
    def used_below(self) -> int:
        """The lowest number that all taken blocks are below."""
        if self._beyond:
            return max(self._beyond) + 1
        return self._first.get(self.total, self.total)

    def take(self, count: int) -> list[int]:
        """Take ``count`` blocks, in few runs and with low numbers.

        Raises:
            ValueError: fewer are free; nothing is taken then.
        """
        if count > self.free:
            raise ValueError(f"{count} host blocks are asked for, but {self.free} are free")
        out: list[int] = []
        while len(out) < count:
            missing = count - len(out)
            fitting = bisect_left(self._lengths, missing)
            length = self._lengths[min(fitting, len(self._lengths) - 1)]  # the shortest that is enough, or the longest
            start = self._lowest(length)
            size = min(missing, length)
            self._remove(start)
            if size < length:
                self._add(start + size, length - size)
            out += range(start, start + size)
        self._taken.update(out)
        self.free -= count
        return out

    def give(self, blocks: Iterable[int]) -> None:
        """Give blocks back; those beyond :meth:`limit` are not used again.

        Raises:
            ValueError: a block is free already or was never there.
        """
        for start, size in runs(sorted(blocks)):
            given = range(start, start + size)
            if not self._taken.issuperset(given):
                raise ValueError(f"host blocks {start} to {start + size - 1} are given back twice")
            self._taken.difference_update(given)
            self._beyond.difference_update(given)
            usable = min(size, max(0, self.total - start))
            if usable:
                self._insert(start, usable)
                self.free += usable

    def limit(self, capacity: int) -> None:
        """Shrink to ``capacity`` blocks; taken ones beyond it are not used again once given back."""
        if capacity >= self.total:
            return
        for start, size in [(s, n) for s, n in self._length.items() if s + n > capacity]:
            keep = max(0, capacity - start)
            self._remove(start)
            self.free -= size - keep
            if keep:
                self._add(start, keep)
        self.total = capacity
        self._beyond = {block for block in self._taken if block >= capacity}

    def _insert(self, start: int, size: int) -> None:
        """Add a run, as one with its neighbours."""
        after = self._length.get(start + size)
        if after is not None:
            self._remove(start + size)
            size += after
        before = self._first.get(start)
        if before is not None:
            size += self._remove(before)
            start = before
        self._add(start, size)

    def _add(self, start: int, size: int) -> None:
        self._length[start] = size
        self._first[start + size] = start
        alive = self._alive.get(size, 0)
        if not alive:
            self._lengths.insert(bisect_left(self._lengths, size), size)
        self._alive[size] = alive + 1
        heap = self._starts.setdefault(size, [])
        if len(heap) > 2 * alive + 16:  # mostly runs that are gone
            heap[:] = {s for s in heap if self._length.get(s) == size and s != start}
            heapify(heap)
        heappush(heap, start)

    def _remove(self, start: int) -> int:
        """Take a run out of the books; returns its length."""
        size = self._length.pop(start)
        del self._first[start + size]
        self._alive[size] -= 1
        if not self._alive[size]:
            del self._alive[size], self._starts[size]
            del self._lengths[bisect_left(self._lengths, size)]
        return size

    def _lowest(self, size: int) -> int:
        """Return the first block of the lowest run of that length; there is one."""
        heap = self._starts[size]
        while self._length.get(heap[0]) != size:
            heappop(heap)
        return heap[0]


def runs(blocks: Iterable[int]) -> list[tuple[int, int]]:
    """Return ``blocks``, kept in their order, as (first, count) of stretches that count up by one."""
    out: list[tuple[int, int]] = []
    for block in blocks:
        if out and block == out[-1][0] + out[-1][1]:
            out[-1] = (out[-1][0], out[-1][1] + 1)
        else:
            out.append((block, 1))
    return out
