"""Device blocks with prefix caching: freed blocks keep their content until they are needed, the oldest first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from pd_launch.schemas.sim.counted import CountedBlocks, Hits
from pd_launch.schemas.sim.prefixes import Prefixes
from pd_launch.schemas.sim.shape import Engine
from pd_launch.schemas.sim.work import Block, Content, Request

Key = tuple[int, Content]


class HashedBlocks(CountedBlocks):
    """As without prefix caching, and which blocks are shared, found again, and evicted.

    Blocks are alike but for their content: of free ones without any only the number matters, and they are handed out
    before those with.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._prefixes = Prefixes(engine.groups, engine.retention)
        self._old: OrderedDict[Block, None] = OrderedDict()  # free blocks with content, the first to be evicted first
        self._known: dict[Key, list[Block]] = {}
        self._later: list[list[Block | None]] = []

    def is_known(self, request: Request) -> bool:
        """Whether what others may find of the request was offered to the prefix cache."""
        shared = request.job.shared
        return all(c >= shared // g.block_size for c, g in zip(request.cached, self.groups, strict=True))

    def lookup(self, request: Request) -> tuple[Hits, int, int]:
        """Return the blocks of the request that are cached, their tokens, and where a longer prefix of others ends."""
        known, sizes, content = self._known, [group.block_size for group in self.groups], request.content

        def find(g: int, i: int) -> Block | None:
            blocks = known.get((g, content((i + 1) * sizes[g])))
            return blocks[0] if blocks else None

        return self._prefixes.longest(find, request.tokens - 1)

    def commit(self, request: Request, tokens: int) -> None:
        """Offer the full blocks of the first ``tokens`` to the prefix cache."""
        tokens = self._prefixes.cacheable(tokens)
        for g, group in enumerate(self.groups):
            stop = tokens // group.block_size
            if not request.blocks or request.cached[g] >= stop:
                continue
            ends = [request.job.prompt - 1, *([request.boundary] if request.boundary else [])]
            for i in self._prefixes.kept(group, request.cached[g], stop, ends):
                block = request.blocks[g][i]
                if block is not None and block.key is None:
                    block.key = (g, request.content((i + 1) * group.block_size))
                    self._known.setdefault(block.key, []).append(block)
            request.cached[g] = stop

    def held(self, request: Request) -> list[int]:
        """Take the blocks of a request away from it, to be given to :meth:`release` once nothing writes them."""
        self._later.append([block for row in request.blocks for block in row])
        self._forget(request)
        return [len(self._later) - 1]

    def release(self, blocks: list[int]) -> None:
        """Free what :meth:`held` took."""
        self._free(reversed(self._later[blocks[0]]))
        self._later[blocks[0]] = []

    def drop(self, request: Request) -> None:
        """Free the blocks of a request."""
        for row in request.blocks:
            self._free(reversed(row))
        self._forget(request)

    def _free(self, blocks: Iterable[Block | None]) -> None:
        for block in blocks:
            if block is None:
                continue
            block.refs -= 1
            if block.refs == 0:
                self.free += 1
                if block.key is not None:
                    self._old[block] = None

    def take(self, count: int) -> None:
        """Hand out free blocks; those with content lose it, the oldest first."""
        evicted = count - (self.free - len(self._old))
        self.free -= count
        for _ in range(evicted):
            self._evict(self._old.popitem(last=False)[0])

    def catch_up(self, request: Request, settled: int) -> None:
        """Bring the table of a request that was summed up to its computed tokens, ``settled`` of them final."""
        for g, group in enumerate(self.groups):
            need = -(-request.computed // group.block_size)
            request.blocks[g] += [Block() for _ in range(need - request.rows[g])]
            request.rows[g] = need
        self.commit(request, settled)

    def _evict(self, block: Block) -> None:
        if block.key is None:
            return
        same = self._known[block.key]
        same.remove(block)
        if not same:
            del self._known[block.key]

    def _forget(self, request: Request) -> None:
        super()._forget(request)
        request.blocks = []
        request.cached = []

    def leave(self, request: Request, settled: int) -> None:
        """Free what the windows have left behind of the first ``settled`` tokens."""
        for g, row in enumerate(request.blocks):
            skipped = min(self._skipped(g, settled), len(row))
            gone = range(skipped - 1, request.nulls[g] - 1, -1)
            if gone:
                self._free([row[i] for i in gone])
                for i in gone:
                    row[i] = None
                request.nulls[g] = skipped

    def _adopt(self, request: Request, hits: Hits, computed: int, external: int) -> None:
        request.blocks, request.cached = [], []
        for g in range(len(self.groups)):
            found: Sequence[Block | None] = hits[g] if hits else ()
            skipped = self._skipped(g, computed)
            row: list[Block | None] = [None] * skipped
            for block in found[skipped:]:
                if block is not None:
                    if block.refs == 0:
                        del self._old[block]
                        self.free -= 1
                    block.refs += 1
                row.append(block)
            request.blocks.append(row)
            request.rows[g] = len(row)
            request.nulls[g] = skipped
            request.cached.append(len(row))

    def _extend(self, request: Request, tokens: int) -> None:
        for g, group in enumerate(self.groups):
            more = -(-tokens // group.block_size) - request.rows[g]
            if more > 0:
                self.take(more)
                request.blocks[g] += [Block() for _ in range(more)]
                request.rows[g] += more
