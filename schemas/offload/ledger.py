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

from pd_launch.schemas.offload.blocks import HostBlocks
from pd_launch.schemas.offload.fit import Fit, Rows
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.shelf import Shelf, key_of
from pd_launch.schemas.offload.steps import Copy, Hashes, Parked, State, Step, Table, Transfer

__all__ = ["Copy", "Hashes", "Ledger", "Parked", "Rows", "State", "Step", "Table", "Transfer"]


class Ledger:
    """The book of host blocks and parked requests. Not thread-safe: the scheduler is one thread."""

    def __init__(self, groups: Sequence[Group], host_blocks: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.groups = list(groups)
        self.shelf = Shelf(host_blocks)
        self.tables: dict[str, Table] = {}
        # In the order of parking. Ordered, because the first of a dict is slow to find once many before it are gone.
        self.copies: OrderedDict[str, Copy] = OrderedDict()
        self._saving: dict[str, Copy] = {}  # those of the copies that are SAVING
        self._clock = clock
        self._pending = Step(1)
        self._restored: dict[str, int] = {}  # request → step of a load that is not reported yet
        self._failed: set[int] = set()  # host blocks whose save failed, as last reported

    @property
    def host(self) -> HostBlocks:
        """The free list of host blocks."""
        return self.shelf.blocks

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

    def distrust(self, invalid: set[int]) -> list[str]:
        """Take in device blocks whose content is wrong because a load into them failed.

        Cuts the computed tokens of every tracked request at its first such block. With steps scheduled ahead, a request
        may have been preempted before that is known: a save under way that reads such a block is worth nothing.

        Returns the requests whose copies went: those of the saves, and those that share blocks with them.
        """
        for table in self.tables.values():
            for group, row in zip(self.groups, table.rows, strict=True):
                bad = next((i for i, block in enumerate(row) if block in invalid), None)
                if bad is not None:
                    table.computed = min(table.computed, bad * group.block_size)
        saves = [copy.save for copy in self._saving.values() if copy.save]
        return self._drop_hollow([t for t in saves if not invalid.isdisjoint(t.device)])

    def _drop_hollow(self, saves: Iterable[Transfer]) -> list[str]:
        """Drop every copy with a block that one of these saves writes; returns the requests."""
        hollow = {block for transfer in saves for block in transfer.host}
        lost = [
            rid
            for rid, copy in (self.copies.items() if hollow else ())
            if copy.state is not State.RESTORING and not hollow.isdisjoint(copy.host_blocks())
        ]
        for request_id in lost:
            self._release(request_id)
        return lost

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
        fit = Fit(self.groups, rows, computed, self._is_new(hashes))
        free = self.host.free
        tokens = 0 if request_id in self.copies else fit.longest(free)
        if tokens <= 0:
            return Parked(0, computed, 0, 0, fit.cost(computed), free)
        host, transfer = self._reserve(request_id, rows, fit, tokens, hashes)
        copy = Copy(host, tokens, State.SAVING, self._pending.number, self._clock(), save=transfer)
        self.copies[request_id] = self._saving[request_id] = copy
        if transfer.host:
            self._pending.saves.append(transfer)
            self.shelf.touch(transfer.host, self._pending.number)
        return Parked(tokens, computed, len(copy.host_blocks()), len(transfer.host), fit.cost(computed), free)

    def _is_new(self, hashes: Hashes | None) -> Callable[[int, int], bool] | None:
        """Return whether a position needs a host block of its own, where blocks are shared at all."""
        if hashes is None:
            return None
        return lambda g, i: self._find(g, i, hashes) is None

    def _reserve(
        self, request_id: str, rows: Rows, fit: Fit, tokens: int, hashes: Hashes | None
    ) -> tuple[list[list[int | None]], Transfer]:
        """Take host blocks for a prefix that fits: shared ones where the hash is known, fresh ones for the rest."""
        host: list[list[int | None]] = []
        fresh: list[tuple[int, int]] = []
        for g, (group, row) in enumerate(zip(self.groups, rows, strict=True)):
            saved: list[int | None] = [None] * group.blocks(tokens)
            for i in fit.span(group, tokens):
                if not row[i]:
                    continue
                if (shared := self._find(g, i, hashes)) is None:
                    fresh.append((g, i))
                else:
                    self.shelf.share(shared)
                    saved[i] = shared
            host.append(saved)
        taken = self.shelf.take(len(fresh))
        # What a load brought that may have failed is not to be shared before that is known.
        sure = self._restored.get(request_id, 0) <= self.shelf.done
        for (g, i), new in zip(fresh, taken, strict=True):
            host[g][i] = new
            if sure and (key := key_of(g, i, hashes)) is not None:
                self.shelf.name(new, key)
        return host, Transfer(request_id, [rows[g][i] for g, i in fresh], taken)

    def _find(self, g: int, i: int, hashes: Hashes | None) -> int | None:
        key = key_of(g, i, hashes)
        return None if key is None else self.shelf.find(key)

    def revoke(self, overwritten: set[int]) -> list[str]:
        """Take back the saves planned for this step that read device blocks which are overwritten before them.

        Returns the requests whose copies went: those of the saves, and those that share blocks with them.
        """
        wrong = [t for t in self._pending.saves if not overwritten.isdisjoint(t.device)]
        lost = self._drop_hollow(wrong)
        self._pending.saves = [t for t in self._pending.saves if t not in wrong and t.request_id not in lost]
        return lost

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
        if tokens <= local or not copy.covers(self.groups, local, tokens):
            return 0
        copy.local = local
        return tokens - local

    def plan_restore(self, request_id: str, rows: Rows, external: int, asynchronous: bool = False) -> Transfer | None:
        """Plan the load of ``external`` tokens beyond the local ones into the blocks just allocated.

        Returns None where the request is not parked. With ``external`` 0 the copy is dropped: nothing needs it. Where
        fewer tokens are taken than :meth:`restorable` offered, a window may look at blocks that were never saved: they
        are ``missing`` in the transfer, to be reported as invalid.
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
                    transfer.missing.append(row[i])
                else:
                    transfer.device.append(row[i])
                    transfer.host.append(block)
        copy.state = State.RESTORING
        self._restored[request_id] = self._pending.number
        self._saving.pop(request_id, None)
        copy.step = self._pending.number
        self.shelf.touch(transfer.host, self._pending.number)
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

    def drop(self, request_id: str) -> bool:
        """Forget the copy of a request; one that an asynchronous load reads stays until :meth:`loaded`.

        Returns whether a copy went.
        """
        copy = self.copies.get(request_id)
        if copy is None or copy.state is State.RESTORING:
            return False
        self._release(request_id)
        return True

    def finish(self, request_id: str) -> None:
        """Take in the end of a request, however it came: neither table nor copy is needed."""
        self.forget(request_id)
        self.drop(request_id)

    def reset(self, running: bool = True) -> int:
        """Forget all copies that are not being loaded, as stale; returns how many went.

        Args:
            running: forget the tables as well. Their requests are then saved again once they were admitted anew.
        """
        if running:
            self.tables.clear()
        self.shelf.forget_names()
        stale = [rid for rid, copy in self.copies.items() if copy.state is not State.RESTORING]
        for request_id in stale:
            self._release(request_id)
        return len(stale)

    def _release(self, request_id: str) -> None:
        self._saving.pop(request_id, None)
        self.shelf.give(self.copies.pop(request_id).host_blocks())

    # Steps

    def advance(self) -> Step:
        """Close the planned step and return it for the workers; the copies of synchronous restores go."""
        step, self._pending = self._pending, Step(self._pending.number + 1)
        for transfer in step.loads:
            if not transfer.asynchronous:
                self._release(transfer.request_id)
        step.used_below = self.host.used_below
        step.report = bool(step.saves or step.loads or self.shelf.is_draining or self._saving)
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
        self.shelf.advance(done)
        self._restored = {rid: step for rid, step in self._restored.items() if step > self.shelf.done}
        for request_id in [rid for rid, copy in self._saving.items() if copy.step <= self.shelf.done]:
            copy = self._saving.pop(request_id)
            copy.state, copy.save = State.READY, None
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

    def saving(self, request_id: str) -> bool:
        """Whether the request is parked and its save is not reported yet."""
        return request_id in self._saving

    def parked_in(self, request_id: str) -> bool:
        """Whether the request was parked by the step that is being planned."""
        copy = self.copies.get(request_id)
        return copy is not None and copy.state is State.SAVING and copy.step == self._pending.number

    def oldest_parked_seconds(self) -> float:
        """Seconds since the request that is parked longest was parked; 0 when none is."""
        oldest = next(iter(self.copies.values()), None)
        return max(0.0, self._clock() - oldest.since) if oldest else 0.0
