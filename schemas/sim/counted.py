"""Device blocks without prefix caching: only their number matters."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.schemas.sim.shape import Engine
from pd_launch.schemas.sim.work import Block, Request

Hits = Sequence[Sequence["Block | None"]]
NO_HITS: tuple[Sequence[Block | None], ...] = ()


class CountedBlocks:
    """The free blocks of an engine, and the tables of its requests as lengths."""

    def __init__(self, engine: Engine) -> None:
        self.free = engine.blocks - 1
        self.groups = engine.groups
        self._windows = any(group.window is not None for group in engine.groups)
        self._caps = [engine.cap(group) for group in engine.groups]
        self._max_len = engine.max_model_len

    def lookup(self, request: Request) -> tuple[Hits, int, int]:
        """Return the blocks of the request that are cached, their tokens, and where a longer prefix of others ends."""
        return NO_HITS, 0, 0

    def grow(self, request: Request, new: int, ahead: int = 0) -> bool:
        """Give a running request room for ``new`` tokens and ``ahead`` more; False where there is none."""
        if self._windows:
            self.leave(request, request.computed - request.in_flight)
        tokens = min(request.computed + new + ahead, self._max_len)
        rows, need = request.rows, 0
        for g, group in enumerate(self.groups):
            more = -(-tokens // group.block_size) - rows[g]
            if more > 0:
                need += more
        if need > self.free:
            return False
        if need:
            self._extend(request, tokens)
        return True

    def admit(
        self,
        request: Request,
        hits: Hits,
        local: int,
        external: int,
        new: int,
        *,
        spare: int,
        reserved: int,
        full: bool,
        ahead: int = 0,
    ) -> bool:
        """Give a waiting request its cached blocks and room for ``external`` and ``new`` tokens; False without room.

        Args:
            request: it may hold blocks already, those of a restore beside the steps.
            hits: its cached blocks.
            local: tokens of these.
            external: tokens that a connector restores.
            new: tokens to compute.
            spare: blocks that stay free (the watermark).
            reserved: blocks that others will need.
            full: its whole present length must fit.
            ahead: slots after the new tokens.
        """
        local += request.computed
        total = min(local + external, self._max_len)
        if full and self._wanted(request, hits, min(request.tokens, self._max_len), total, True) + spare > self.free:
            return False
        tokens = min(total + new + ahead, self._max_len)
        if self._windows and request.rows[0]:
            self.leave(request, max(0, total - request.in_flight))
        if self._wanted(request, hits, tokens, local + external, False) + spare > self.free - reserved:
            return False
        if not any(request.rows):
            self._adopt(request, hits, local + external, external)
        self._extend(request, tokens)
        return True

    def commit(self, request: Request, tokens: int) -> None:
        """Offer the full blocks of the first ``tokens`` to the prefix cache."""

    def take(self, count: int) -> None:
        """Hand out free blocks to requests that are summed up."""
        self.free -= count

    def catch_up(self, request: Request, settled: int) -> None:
        """Bring the table of a request that was summed up to its computed tokens, ``settled`` of them final."""
        for g, group in enumerate(self.groups):
            request.rows[g] = -(-request.computed // group.block_size)

    def is_known(self, request: Request) -> bool:
        """Whether what others may find of the request was offered to the prefix cache."""
        return True

    def remaining(self, request: Request, ahead: int = 0) -> int:
        """Return the blocks that an admitted request still needs for its present length and ``ahead`` slots more."""
        return self._wanted(request, NO_HITS, min(request.tokens, self._max_len) + ahead, request.computed, True)

    def held(self, request: Request) -> list[int]:
        """Take the blocks of a request away from it, to be given to :meth:`release` once nothing writes them."""
        blocks = [sum(request.rows) - sum(request.nulls)]
        self._forget(request)
        return blocks

    def release(self, blocks: list[int]) -> None:
        """Free what :meth:`held` took."""
        self.free += blocks[0]

    def drop(self, request: Request) -> None:
        """Free the blocks of a request."""
        self.free += sum(request.rows) - sum(request.nulls)
        self._forget(request)

    def table(self, request: Request, nulls: Sequence[int]) -> list[list[int]]:
        """Return the request's rows as a connector sees them: 0 is the null block, 1 any other."""
        return [[0] * null + [1] * (row - null) for row, null in zip(request.rows, nulls, strict=True)]

    def _forget(self, request: Request) -> None:
        request.rows = [0] * len(self.groups)
        request.nulls = [0] * len(self.groups)

    def _skipped(self, g: int, tokens: int) -> int:
        """Return the whole blocks that a group's window has left behind after ``tokens``."""
        group = self.groups[g]
        if group.window is None:
            return 0
        return max(0, tokens - group.window + 1 - group.retained) // group.block_size

    def leave(self, request: Request, settled: int) -> None:
        """Free what the windows have left behind of the first ``settled`` tokens."""
        for g, row in enumerate(request.rows):
            skipped = min(self._skipped(g, settled), row)
            if skipped > request.nulls[g]:
                self.free += skipped - request.nulls[g]
                request.nulls[g] = skipped

    def _wanted(self, request: Request, hits: Hits, tokens: int, computed: int, capped: bool) -> int:
        """Return the blocks that ``tokens`` take from the free ones."""
        wanted = 0
        for g, group in enumerate(self.groups):
            need = -(-tokens // group.block_size)
            cap = self._caps[g]
            if capped and cap is not None:
                need = min(need, cap)
            row = request.rows[g]
            if row:
                wanted += max(0, need - row)
                continue
            skipped = self._skipped(g, computed)
            found = hits[g] if hits else ()
            wanted += max(0, need - max(skipped, len(found)))
            wanted += sum(1 for block in found[skipped:] if block is not None and block.refs == 0)
        return wanted

    def _adopt(self, request: Request, hits: Hits, computed: int, external: int) -> None:
        """Set up the tables of an admitted request: null blocks first, where a window has left them behind."""
        for g in range(len(self.groups)):
            skipped = self._skipped(g, computed) if external else 0
            request.rows[g] = request.nulls[g] = skipped

    def _extend(self, request: Request, tokens: int) -> None:
        """Lengthen the tables to hold ``tokens``."""
        rows = request.rows
        for g, group in enumerate(self.groups):
            need = -(-tokens // group.block_size)
            if need > rows[g]:
                self.free -= need - rows[g]
                rows[g] = need
