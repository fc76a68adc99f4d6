"""The free list of host blocks: runs of neighbours, because one run is one copy per tensor. Pure Python."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable


class HostBlocks:
    """Numbers 0 … ``total`` − 1, each free or taken."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total
        self._starts = [0] if total else []
        self._length = {0: total} if total else {}

    def take(self, count: int) -> list[int]:
        """Take ``count`` blocks, in few runs.

        Raises:
            ValueError: fewer are free; nothing is taken then.
        """
        if count > self.free:
            raise ValueError(f"{count} host blocks are asked for, but {self.free} are free")
        out: list[int] = []
        while len(out) < count:
            missing = count - len(out)
            fitting = [s for s in self._starts if self._length[s] >= missing]
            if fitting:
                start = min(fitting, key=self._length.__getitem__)
            else:
                start = max(self._starts, key=self._length.__getitem__)
            size = min(missing, self._length[start])
            out += range(start, start + size)
            self._cut(start, size)
        self.free -= count
        return out

    def give(self, blocks: Iterable[int]) -> None:
        """Give blocks back; those beyond :meth:`limit` are not used again.

        Raises:
            ValueError: a block is free already or was never there.
        """
        for start, size in runs(sorted(blocks)):
            usable = min(size, max(0, self.total - start))
            if usable:
                self._insert(start, usable)
                self.free += usable

    def limit(self, capacity: int) -> None:
        """Shrink to ``capacity`` blocks; taken ones beyond it are not used again once given back."""
        if capacity >= self.total:
            return
        self.total = capacity
        for start in [s for s in self._starts if s + self._length[s] > capacity]:
            size = self._length[start]
            keep = max(0, capacity - start)
            self.free -= size - keep
            if keep:
                self._length[start] = keep
            else:
                self._remove(start)

    def _cut(self, start: int, size: int) -> None:
        rest = self._length[start] - size
        index = self._remove(start)
        if rest:
            self._starts.insert(index, start + size)
            self._length[start + size] = rest

    def _remove(self, start: int) -> int:
        index = bisect_left(self._starts, start)
        del self._starts[index], self._length[start]
        return index

    def _insert(self, start: int, size: int) -> None:
        index = bisect_left(self._starts, start)
        before = self._starts[index - 1] if index else None
        after = self._starts[index] if index < len(self._starts) else None
        overlaps = (before is not None and before + self._length[before] > start) or (
            after is not None and after < start + size
        )
        if start < 0 or overlaps:
            raise ValueError(f"host blocks {start} to {start + size - 1} are given back twice")
        if after == start + size:
            size += self._length[after]
            self._remove(after)
        if before is not None and before + self._length[before] == start:
            self._length[before] += size
            return
        self._starts.insert(index, start)
        self._length[start] = size


def runs(blocks: Iterable[int]) -> list[tuple[int, int]]:
    """Return ``blocks``, kept in their order, as (first, count) of stretches that count up by one."""
    out: list[tuple[int, int]] = []
    for block in blocks:
        if out and block == out[-1][0] + out[-1][1]:
            out[-1] = (out[-1][0], out[-1][1] + 1)
        else:
            out.append((block, 1))
    return out
