"""What the prefix cache keeps of a sliding-window group, and the longest prefix that all groups have cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm

from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.sim.work import Block

Find = Callable[[int, int], "Block | None"]
"""Gives the cached block of a group at a position."""


class Prefixes:
    """The lookup over groups. Groups that are alike are looked up together, full attention before windows."""

    def __init__(self, groups: Sequence[Group], retention: int | None) -> None:
        self.groups = groups
        self.align = lcm(*(group.block_size for group in groups))
        self.single = len(groups) == 1
        self._retention = retention
        self._alike: list[tuple[Group, list[int]]] = []
        for g, group in enumerate(groups):
            for other, members in self._alike:
                if other == group:
                    members.append(g)
                    break
            else:
                self._alike.append((group, [g]))
        self._alike.sort(key=lambda alike: alike[0].window is not None)

    def cacheable(self, tokens: int) -> int:
        """Return how many of a request's first ``tokens`` a hit may reach."""
        return tokens if self.single else tokens // self.align * self.align

    def longest(self, find: Find, most: int) -> tuple[list[list[Block | None]], int, int]:
        """Return the blocks of each group that all groups have cached, their tokens, and where one has more (or 0)."""
        found: list[list[Block | None]] = [[] for _ in self.groups]
        lengths: dict[int, int] = {}
        hit, longest = most, 0
        simple = len(self._alike) == 2 and self._alike[0][0].window is None
        while True:
            current = hit
            for n, (group, members) in enumerate(self._alike):
                if group.window is None and n in lengths:
                    current = min(current, lengths[n])
                    continue
                rows, current = self._one(find, group, members, current)
                lengths[n] = current
                for g, row in zip(members, rows, strict=True):
                    found[g] = row
                longest = max(longest, current)
            settled = current >= hit
            hit = current
            if settled or simple or self.single:
                break
        for group, members in self._alike:
            if group.window is None:
                for g in members:
                    del found[g][group.blocks(hit) :]
        return found, hit, longest if longest > hit and not self.single else 0

    def _one(self, find: Find, group: Group, members: list[int], most: int) -> tuple[list[list[Block | None]], int]:
        if group.window is None:
            return self._full(find, group, members, most)
        return self._window(find, group, members, most)

    def _full(self, find: Find, group: Group, members: list[int], most: int) -> tuple[list[list[Block | None]], int]:
        rows: list[list[Block | None]] = [[] for _ in members]
        for i in range(most // group.block_size):
            blocks = [find(g, i) for g in members]
            if not all(blocks):
                break
            for row, block in zip(rows, blocks, strict=True):
                row.append(block)
        hit = len(rows[0]) * group.block_size
        hit -= hit % self.align
        for row in rows:
            del row[group.blocks(hit) :]
        return rows, hit

    def _window(self, find: Find, group: Group, members: list[int], most: int) -> tuple[list[list[Block | None]], int]:
        """Search from the right for as many neighbours as the window looks back on."""
        size, need = group.block_size, _need(group)
        count = most // size
        rows: list[list[Block | None]] = [[None] * count for _ in members]
        together, end = 0, -1
        for i in range(count - 1, -1, -1):
            blocks = [find(g, i) for g in members]
            if not all(blocks):
                together = 0
                continue
            if together == 0 and (i + 1) * size % self.align:
                continue
            for row, block in zip(rows, blocks, strict=True):
                row[i] = block
            together += 1
            if together >= need:
                end = i + together
                break
        if end < 0:
            end = together
            while end * size % self.align:
                end -= 1
        for row in rows:
            del row[end:]
        return rows, end * size

    def kept(self, group: Group, start: int, stop: int, ends: Sequence[int]) -> Sequence[int]:
        """Return the positions in [start, stop) that the cache keeps: of a window those that a hit can use.

        Args:
            group: the group.
            start: the first new full block.
            stop: the one after the last.
            ends: tokens at which a later request may go on: where the prompt ends, and where others had more.
        """
        every = range(start, stop)
        if group.window is None:
            return every
        need = _need(group)
        mask: set[int] = set()
        segment = self.align if self._retention is None else self._retention
        if segment:
            per_segment = segment // group.block_size
            if need >= per_segment:
                return every
            mask.update(i for i in every if i % per_segment >= per_segment - need)
        if self._retention is not None:
            for end in ends:
                last = end // self.align * self.align // group.block_size
                mask.update(range(max(start, last - need), min(stop, last)))
        return sorted(mask)


def _need(group: Group) -> int:
    """Return the neighbouring blocks that the window of the next token looks at."""
    return -(-((group.window or 1) - 1) // group.block_size)
