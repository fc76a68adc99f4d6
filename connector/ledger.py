"""Scheduler side of the offload: who is tracked, who is parked where, and in which state.

Pure Python: no torch and no vLLM, so that it can be tested against a model. The connector feeds it with what the
scheduler did and ships the :class:`Step` it plans to the workers, which run steps in order, and a step's saves before
its loads.

A copy lives through ``SAVING → READY → RESTORING → gone``. It may be restored while it is still SAVING, because a
worker runs the save of a step before the load of a later one. Host blocks are handed out again only when every worker
has reported the last step that reads or writes them, so no copy ever meets reused memory.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate, chain

from pd_launch.connector.blocks import HostBlocks
from pd_launch.connector.groups import Group

Rows = Sequence[Sequence[int]]
Hashes = Sequence[Sequence[object]]
Key = tuple[int, object]  # a group and the prefix hash of one of its full blocks


class State(Enum):
    """Where the copy of a parked request is."""

    SAVING = "saving"
    READY = "ready"
    RESTORING = "restoring"


@dataclass
class Table:
    """A running request: device block ids, one row per group (0 = null), and the tokens whose KV they hold."""

    rows: list[list[int]]
    computed: int


@dataclass
class Copy:
    """A parked request: host blocks at the positions of its rows, None where nothing was saved."""

    rows: list[list[int | None]]
    tokens: int
    state: State
    step: int
    since: float
    local: int = 0

    def host_blocks(self) -> list[int]:
        """Return the host blocks it refers to."""
        return [block for row in self.rows for block in row if block is not None]


@dataclass
class Transfer:
    """Block copies of one request: ``device[i]`` and ``host[i]`` belong together."""

    request_id: str
    device: list[int] = field(default_factory=list)
    host: list[int] = field(default_factory=list)
    asynchronous: bool = False


@dataclass
class Step:
    """What the workers do in one engine step: all saves, then all loads."""

    number: int
    saves: list[Transfer] = field(default_factory=list)
    loads: list[Transfer] = field(default_factory=list)
    report: bool = False  # the ledger waits for the report of this or an earlier step


@dataclass(frozen=True)
class Parked:
    """The outcome of a save: tokens parked of those computed, host blocks it refers to, blocks really copied."""

    tokens: int
    computed: int
    blocks: int
    copied: int
    needed: int
    free: int


class Ledger:
    """The book of host blocks and parked requests. Not thread-safe: the scheduler is one thread."""

    def __init__(self, groups: Sequence[Group], host_blocks: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.groups = list(groups)
        self.host = HostBlocks(host_blocks)
        self.tables: dict[str, Table] = {}
        # In the order of parking. Ordered, because the first of a dict is slow to find once many before it are gone.
        self.copies: OrderedDict[str, Copy] = OrderedDict()
        self._saving: dict[str, Copy] = {}  # those of the copies that are SAVING
        self._clock = clock
        self._pending = Step(1)
        self._done = 0
        self._failed: set[int] = set()  # host blocks whose save failed, as last reported
        self._touched: dict[int, int] = {}  # host block → last step that reads or writes it
        self._draining: dict[int, list[int]] = {}  # step → blocks that are free once it is done
        self._references: dict[int, int] = {}
        self._shared: dict[Key | None, int] = {}
        self._keys: dict[int, Key] = {}

    # Running requests

    def track(self, request_id: str, rows: Rows, computed: int) -> None:
        """Set the block table of a request that was admitted, new or resumed."""
        self.tables[request_id] = Table([list(row) for row in rows], computed)

    def extend(self, request_id: str, rows: Rows | None, computed: int) -> None:
        """Append blocks to a tracked request and set its computed tokens; an untracked one stays untracked."""
        table = self.tables.get(request_id)
        if table is None:
            return
        table.computed = computed
        for row, more in zip(table.rows, rows or (), strict=False):
            row.extend(more)

    def truncate(self, invalid: set[int]) -> None:
        """Cut the computed tokens of every tracked request at its first block in ``invalid``."""
        for table in self.tables.values():
            for group, row in zip(self.groups, table.rows, strict=True):
                bad = next((i for i, block in enumerate(row) if block in invalid), None)
                if bad is not None:
                    table.computed = min(table.computed, bad * group.block_size)

    def forget(self, request_id: str) -> Table | None:
        """Stop following a request; returns its last block table."""
        return self.tables.pop(request_id, None)

    # Saving

    def park(self, request_id: str, rows: Rows, computed: int, hashes: Hashes | None = None) -> Parked:
        """Plan the save of a preempted request's blocks; an older copy of it is dropped.

        Args:
            request_id: the victim.
            rows: its device block ids, one row per group, 0 = null. Rows may be longer than ``computed`` needs.
            computed: tokens whose KV the blocks hold when this step starts.
            hashes: per group, the prefix hashes of its leading full blocks; equal hashes then share one host block.
        """
        self.drop(request_id)
        weights = self._weights(rows, hashes)
        whole = self._cost(weights, computed, computed)
        tokens = 0 if request_id in self.copies else self._fit(rows, weights, computed)
        free = self.host.free
        if tokens <= 0:
            return Parked(0, computed, 0, 0, whole, free)
        host, transfer = self._reserve(request_id, rows, tokens, computed, hashes)
        copy = Copy(host, tokens, State.SAVING, self._pending.number, self._clock())
        self.copies[request_id] = self._saving[request_id] = copy
        if transfer.host:
            self._pending.saves.append(transfer)
            self._touch(transfer.host)
        return Parked(tokens, computed, len(copy.host_blocks()), len(transfer.host), whole, free)

    def _span(self, group: Group, tokens: int, computed: int) -> range:
        """Positions of ``group`` to save so that every length is there that the scheduler may ask for later."""
        start = group.first_needed(max(0, min(tokens, computed - group.slack)))
        return range(start, group.blocks(tokens))

    def _weights(self, rows: Rows, hashes: Hashes | None) -> list[list[int]]:
        """Per group, how many host blocks the positions before each one would take: running sums over the row."""
        out = []
        for g, row in enumerate(rows):
            takes = (bool(block) and self._key(g, i, hashes) not in self._shared for i, block in enumerate(row))
            out.append(list(accumulate(takes, initial=0)))
        return out

    def _cost(self, weights: list[list[int]], tokens: int, computed: int) -> int:
        """Return the host blocks that a prefix of ``tokens`` takes."""
        cost = 0
        for group, weight in zip(self.groups, weights, strict=True):
            span = self._span(group, tokens, computed)
            cost += weight[min(span.stop, len(weight) - 1)] - weight[min(span.start, len(weight) - 1)]
        return cost

    def _fit(self, rows: Rows, weights: list[list[int]], computed: int) -> int:
        """Return the longest prefix that can be restored later and for which there are free host blocks."""
        size = max(group.block_size for group in self.groups)
        lengths: list[int] = [computed, *range((computed - 1) // size * size, 0, -size)]
        for tokens in lengths:
            if not self._complete(rows, tokens, computed):
                return 0
            if self._cost(weights, tokens, computed) <= self.host.free:
                return tokens
        return 0

    def _complete(self, rows: Rows, tokens: int, computed: int) -> bool:
        """Whether the blocks that a prefix needs are still the request's own: a window has given up the old ones, and a
        tracked table does not show which."""
        for group, row in zip(self.groups, rows, strict=True):
            first, stop = group.first_needed(tokens), group.blocks(tokens)
            if first < group.first_needed(computed) or stop > len(row) or not all(row[first:stop]):
                return False
        return True

    def _reserve(
        self, request_id: str, rows: Rows, tokens: int, computed: int, hashes: Hashes | None
    ) -> tuple[list[list[int | None]], Transfer]:
        """Take host blocks for a prefix that fits: shared ones where the hash is known, fresh ones for the rest."""
        host: list[list[int | None]] = []
        fresh: list[tuple[int, int]] = []
        for g, (group, row) in enumerate(zip(self.groups, rows, strict=True)):
            saved: list[int | None] = [None] * group.blocks(tokens)
            for i in self._span(group, tokens, computed):
                if row[i]:
                    saved[i] = self._shared.get(self._key(g, i, hashes))
                    if saved[i] is None:
                        fresh.append((g, i))
            host.append(saved)
        taken = self.host.take(len(fresh))
        for (g, i), new in zip(fresh, taken, strict=True):
            host[g][i] = new
            if (key := self._key(g, i, hashes)) is not None:
                self._shared[key] = new
                self._keys[new] = key
        for block in chain.from_iterable(host):
            if block is not None:
                self._references[block] = self._references.get(block, 0) + 1
        return host, Transfer(request_id, [rows[g][i] for g, i in fresh], taken)

    @staticmethod
    def _key(g: int, i: int, hashes: Hashes | None) -> Key | None:
        if hashes is None or i >= len(hashes[g]):
            return None
        return g, hashes[g][i]

    # Restoring

    def restorable(self, request_id: str, num_tokens: int, local: int) -> int:
        """Return how many tokens beyond the ``local`` ones the copy can restore.

        Only a question: it changes nothing but the note of ``local`` that the next :meth:`plan_restore` uses. The last
        of ``num_tokens`` must be computed, and drafts in flight at the save may have been rejected, so a copy is good
        for at most ``num_tokens - 1`` tokens.
        """
        copy = self.copies.get(request_id)
        if copy is None or copy.state is State.RESTORING:
            return 0
        tokens = min(copy.tokens, num_tokens - 1)
        if tokens <= local or not self._covers(copy, local, tokens):
            return 0
        copy.local = local
        return tokens - local

    def _covers(self, copy: Copy, local: int, tokens: int) -> bool:
        for group, row in zip(self.groups, copy.rows, strict=True):
            first = max(local // group.block_size, group.first_needed(tokens))
            if any(block is None for block in row[first : group.blocks(tokens)]):
                return False
        return True

    def plan_restore(self, request_id: str, rows: Rows, external: int, asynchronous: bool = False) -> Transfer | None:
        """Plan the load of ``external`` tokens beyond the local ones into the blocks just allocated.

        Returns None where the request is not parked. With ``external`` 0 the copy is dropped: nothing needs it.

        Raises:
            LookupError: a block that was allocated for these tokens was never saved (see :meth:`restorable`).
        """
        copy = self.copies.get(request_id)
        if copy is None or copy.state is State.RESTORING:
            return None
        if external <= 0:
            self.drop(request_id)
            return None
        end = copy.local + external
        transfer = Transfer(request_id, asynchronous=asynchronous)
        for group, saved, row in zip(self.groups, copy.rows, rows, strict=True):
            for i in range(copy.local // group.block_size, group.blocks(end)):
                if not row[i]:
                    continue  # left behind by the attention window
                block = saved[i] if i < len(saved) else None
                if block is None:
                    raise LookupError(f"block {i} of request {request_id} was allocated for a restore but never saved")
                transfer.device.append(row[i])
                transfer.host.append(block)
        copy.state = State.RESTORING
        self._saving.pop(request_id, None)
        copy.step = self._pending.number
        self._touch(transfer.host)
        self._pending.loads.append(transfer)
        return transfer

    def loaded(self, request_id: str) -> bool:
        """Take in the end of an asynchronous load, after which the copy goes; False for a load that is not ours."""
        copy = self.copies.get(request_id)
        if copy is None or copy.state is not State.RESTORING:
            return False
        self._release(request_id)
        return True

    # Ends

    def drop(self, request_id: str) -> None:
        """Forget the copy of a request; one that an asynchronous load reads stays until :meth:`loaded`."""
        copy = self.copies.get(request_id)
        if copy is not None and copy.state is not State.RESTORING:
            self._release(request_id)

    def finish(self, request_id: str) -> None:
        """Take in the end of a request, however it came: neither table nor copy is needed."""
        self.forget(request_id)
        self.drop(request_id)

    def reset(self) -> int:
        """Forget all tables and all copies that are not being loaded, as stale; returns how many copies went."""
        self.tables.clear()
        stale = [rid for rid, copy in self.copies.items() if copy.state is not State.RESTORING]
        for request_id in stale:
            self._release(request_id)
        return len(stale)

    def _release(self, request_id: str) -> None:
        self._saving.pop(request_id, None)
        free: list[int] = []
        for block in self.copies.pop(request_id).host_blocks():
            self._references[block] -= 1
            if self._references[block]:
                continue
            del self._references[block]
            key = self._keys.pop(block, None)
            if key is not None:
                del self._shared[key]
            last = self._touched.pop(block)
            if last <= self._done:
                free.append(block)
            else:
                self._draining.setdefault(last, []).append(block)
        self.host.give(free)

    def _touch(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            self._touched[block] = self._pending.number

    # Steps

    def advance(self) -> Step:
        """Close the planned step and return it for the workers; the copies of synchronous restores go."""
        step, self._pending = self._pending, Step(self._pending.number + 1)
        for transfer in step.loads:
            if not transfer.asynchronous:
                self._release(transfer.request_id)
        step.report = bool(step.saves or step.loads or self._draining or self._saving)
        return step

    def report(self, done: int, failed: Iterable[int] = ()) -> list[str]:
        """Take in that every worker has done all steps up to ``done``; late and repeated reports are harmless.

        Args:
            done: the highest step all of whose copies, and those of all steps before it, are over.
            failed: host blocks whose save failed on some worker.

        Returns the requests whose copies were dropped because of ``failed``.
        """
        bad = set(failed)
        lost = self._holders(bad) if bad else []
        for request_id in lost:
            self._release(request_id)
        self._done = max(self._done, done)
        for request_id in [rid for rid, copy in self._saving.items() if copy.step <= self._done]:
            self._saving.pop(request_id).state = State.READY
        for step in [s for s in self._draining if s <= self._done]:
            self.host.give(self._draining.pop(step))
        return lost

    def _holders(self, blocks: set[int]) -> list[str]:
        """Return the requests, none of them being loaded, whose copies use one of these host blocks.

        Workers repeat what failed in every report; where it is the same again, only saves under way can be meant.
        """
        news, self._failed = blocks != self._failed, blocks
        return [
            rid
            for rid, copy in (self.copies if news else self._saving).items()
            if copy.state is not State.RESTORING and not blocks.isdisjoint(copy.host_blocks())
        ]

    def limit(self, capacity: int) -> None:
        """Use no host block numbered ``capacity`` or higher: a worker has room for no more."""
        self.host.limit(capacity)

    # What people look at

    def parked_in(self, request_id: str) -> bool:
        """Whether the request was parked by the step that is being planned."""
        copy = self.copies.get(request_id)
        return copy is not None and copy.state is State.SAVING and copy.step == self._pending.number

    def oldest_parked_seconds(self) -> float:
        """Seconds since the request that is parked longest was parked; 0 when none is."""
        oldest = next(iter(self.copies.values()), None)
        return max(0.0, self._clock() - oldest.since) if oldest else 0.0
