"""How much of a victim is saved: the longest prefix that can be restored and for which there is room. Pure Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from pd_launch.schemas.offload.groups import Group

Rows = Sequence[Sequence[int]]


class Fit:
    """One victim's rows, measured once.

    Args:
        groups: the KV cache groups.
        rows: the victim's device block ids, one row per group, 0 = null.
        computed: tokens whose KV the rows hold.
        fresh: whether position ``i`` of group ``g`` takes a host block of its own; None where all of them do.
    """

    def __init__(
        self, groups: Sequence[Group], rows: Rows, computed: int, fresh: Callable[[int, int], bool] | None = None
    ) -> None:
        self._groups = groups
        self._rows = rows
        self._computed = computed
        # Per group, running sums over the row: how many host blocks the positions before each one take.
        self._sums = [list(accumulate(_takes(g, row, fresh), initial=0)) for g, row in enumerate(rows)]

    def span(self, group: Group, tokens: int) -> range:
        """Return the positions to save so that every length is there that the scheduler may ask for later.

        The tracked count may exceed what was accepted by the group's slack, and then the window reaches further down.
        """
        start = group.first_needed(max(0, min(tokens, self._computed - group.slack)))
        return range(start, group.blocks(tokens))

    def cost(self, tokens: int) -> int:
        """Return the host blocks that a prefix of ``tokens`` takes."""
        cost = 0
        for group, sums in zip(self._groups, self._sums, strict=True):
            span, last = self.span(group, tokens), len(sums) - 1
            cost += sums[min(span.stop, last)] - sums[min(span.start, last)]
        return cost

    def longest(self, free: int) -> int:
        """Return the tokens of the longest prefix that can be restored later and takes at most ``free`` host blocks."""
        if self._computed <= 0 or not self._complete():
            return 0
        return next((tokens for tokens in self._lengths() if self.cost(tokens) <= free), 0)

    def _complete(self) -> bool:
        """Whether the rows hold all that the next token looks at."""
        for group, row in zip(self._groups, self._rows, strict=True):
            first, stop = group.first_needed(self._computed), group.blocks(self._computed)
            if stop > len(row) or not all(row[first:stop]):
                return False
        return True

    def _lengths(self) -> Iterator[int]:
        """Yield what may be saved, longest first: all, then whole blocks.

        A shorter prefix would need blocks that a window has given up by now, and a tracked table does not show which.
        """
        size = max(group.block_size for group in self._groups)
        yield self._computed
        for tokens in range((self._computed - 1) // size * size, 0, -size):
            if any(group.first_needed(tokens) < group.first_needed(self._computed) for group in self._groups):
                return
            yield tokens


def _takes(g: int, row: Sequence[int], fresh: Callable[[int, int], bool] | None) -> Iterator[bool]:
    if fresh is None:
        return map(bool, row)
    return (bool(block) and fresh(g, i) for i, block in enumerate(row))
