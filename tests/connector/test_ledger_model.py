"""The ledger against a simple model: device and host memory are dicts, two workers run the steps, late and in pieces.

Every token of every request has its own value. Whatever happens, what a restore brings back must be what the request's
blocks held when it was preempted, and at rest every host block must be free. Requests of one family start alike and may
share host blocks; a weight update changes the content of everything, but not the prefix hashes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.ledger import Ledger, State, Step, Table, Transfer
from tests.sampling import size

SIZE = 4
WINDOW = 7
GROUPS = [Group(SIZE), Group(SIZE, window=WINDOW)]
HOST_BLOCKS = 14
COMMON = 3  # leading blocks that requests of one family have in common


def is_whole(table: Table) -> bool:
    """Whether its rows have all that its tokens look at: not so where a failed load cut it back behind a window."""
    return all(
        all(row[group.first_needed(table.computed) : group.blocks(table.computed)])
        for group, row in zip(GROUPS, table.rows, strict=True)
    )


class Worker:
    """One rank: its own host memory, what it loaded, and the reports that it could send."""

    def __init__(self) -> None:
        self.host: dict[int, object] = {}
        self.loaded: dict[int, object] = {}  # device block → content, where this rank's differs from what is expected
        self.queue: list[Step] = []
        self.reports: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
        self.failed: set[int] = set()
        self.fail_next = self.fail_load = False

    def run(self, device: dict[int, object]) -> Iterator[tuple[Transfer, dict[int, object] | None]]:
        """Run the next step; yields each load with what it brought, None where it failed."""
        step = self.queue.pop(0)
        assert step.used_below is not None
        for host in [host for host in self.host if host >= step.used_below]:
            self.host[host] = "given back to the kernel"  # whoever needs it now would show
        for transfer in step.saves:
            assert all(host < step.used_below for host in transfer.host)
            self.failed -= set(transfer.host)
            if self.fail_next:
                self.failed |= set(transfer.host)
                self.fail_next = False
                continue
            for block, host in zip(transfer.device, transfer.host, strict=True):
                self.host[host] = self.loaded.get(block, device[block])
        for transfer in step.loads:
            failed = self.fail_load or not self.failed.isdisjoint(transfer.host)
            self.fail_load = False
            pairs = zip(transfer.device, transfer.host, strict=True)
            brought = None if failed else {block: self.host[host] for block, host in pairs}
            self.loaded.update(brought or {})
            yield transfer, brought
        self.reports.append((step.number, frozenset(self.failed)))


class LedgerMachine(RuleBasedStateMachine):
    running = Bundle("running")
    waiting = Bundle("waiting")
    loading = Bundle("loading")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(GROUPS, HOST_BLOCKS)
        self.names = (f"r{i}" for i in count())
        self.fresh = count(1)  # device blocks are never reused, so content is known by number
        self.device: dict[int, object] = {}
        self.computed: dict[str, int] = {}
        self.family: dict[str, str | None] = {}
        self.weights = 0
        self.workers = [Worker(), Worker()]
        self.expected: dict[tuple[str, int], object] = {}  # (request, device block) → content after loading
        self.results: dict[int, tuple[Transfer, list[bool]]] = {}  # by id, a load and whether each worker could do it
        self.invalid: dict[int, object] = {}  # blocks of failed loads that the scheduler does not know yet → content

    # The scheduler's part

    def content(self, request: str, g: int, i: int) -> object:
        family = self.family[request]
        return (self.weights, family if family and i < COMMON else request, g, i)

    def hashes(self, request: str) -> list[list[object]] | None:
        family, full = self.family[request], (self.computed[request] - 1) // SIZE
        if family is None:
            return None
        return [[(family if i < COMMON else request, i) for i in range(full)] for _ in GROUPS]

    def rows(self, request: str, tokens: int) -> list[list[int]]:
        """Allocate rows with known content: block i of group g of a request always holds the same."""
        out = []
        for g, group in enumerate(GROUPS):
            first = group.first_needed(tokens)
            row = [0] * first + [next(self.fresh) for _ in range(first, group.blocks(tokens))]
            for i, block in enumerate(row):
                if block:
                    self.device[block] = self.content(request, g, i)
            out.append(row)
        return out

    def ship(self) -> None:
        step = self.ledger.advance()
        for worker in self.workers:
            worker.queue.append(step)

    @rule(target=running, tokens=st.integers(1, 30), family=st.sampled_from([None, "x", "y"]))
    def admit(self, tokens: int, family: str | None) -> str:
        request = next(self.names)
        self.family[request] = family
        self.ledger.track(request, self.rows(request, tokens), tokens)
        self.computed[request] = tokens
        self.ship()
        return request

    @rule(request=running, more=st.integers(1, 6))
    def decode(self, request: str, more: int) -> None:
        table = self.ledger.tables.get(request)
        tokens = self.computed[request] + more
        self.computed[request] = tokens
        if table is None:  # a reset preempted it; it is admitted again and computed from its first token
            self.ledger.track(request, self.rows(request, tokens), tokens)
            self.ship()
            return
        new: list[list[int]] = []
        for g, (group, row) in enumerate(zip(GROUPS, table.rows, strict=True)):
            blocks = [next(self.fresh) for _ in range(len(row), group.blocks(tokens))]
            for i, block in enumerate(blocks, start=len(row)):
                self.device[block] = self.content(request, g, i)
            new.append(blocks)
        self.ledger.extend(request, new, tokens)
        self.ship()

    @rule(target=waiting, request=consumes(running), times=st.integers(1, 2))
    def preempt(self, request: str, times: int) -> object:
        """A hook may be called twice in a step; whoever asks first whether it is parked saves it once."""
        table = self.ledger.forget(request)
        if table is None:
            self.ledger.finish(request)
            return multiple()
        for _ in range(times):
            parked = self.ledger.park(request, table.rows, table.computed, self.hashes(request))
            assert 0 <= parked.tokens <= table.computed
            if parked.needed <= parked.free and is_whole(table):
                assert parked.tokens == table.computed
        assert self.ledger.parked_in(request) == (request in self.ledger.copies)
        self.ship()
        assert not self.ledger.parked_in(request)
        return request

    @rule(request=waiting, local=st.integers(0, 8))
    def ask(self, request: str, local: int) -> None:
        before = (self.ledger.host.free, {r: (c.state, c.tokens) for r, c in self.ledger.copies.items()})
        for _ in range(2):
            tokens = self.ledger.restorable(request, self.computed[request] + 1, local * SIZE)
            assert tokens >= 0
        assert before == (self.ledger.host.free, {r: (c.state, c.tokens) for r, c in self.ledger.copies.items()})

    @rule(target=running, request=consumes(waiting), local=st.integers(0, 4), grown=st.integers(-2, 3))
    def resume(self, request: str, local: int, grown: int) -> str:
        """Admit it again with local blocks of the device's cache; drafts were rejected, or tokens came late."""
        if self.in_flight(request):
            self.settle()
        known = max(1, self.computed[request] + 1 + grown)
        hit = min(local * SIZE, (known - 1) // SIZE * SIZE)
        external = self.ledger.restorable(request, known, hit)
        rows = self.rows(request, hit + external if external else known)
        self.restore(request, rows, hit, external, asynchronous=False)
        self.track(request, rows, known)
        self.ship()
        return request

    @rule(target=waiting, request=consumes(waiting), fails=st.booleans())
    def resume_and_preempt_at_once(self, request: str, fails: bool) -> object:
        """Before anybody knows how its restore went: steps are scheduled ahead."""
        self.workers[0].fail_load = fails
        return self.preempt(self.resume(request, 0, 0), 1)

    @rule(target=loading, request=consumes(waiting))
    def resume_later(self, request: str) -> object:
        if self.in_flight(request):
            self.settle()
        external = self.ledger.restorable(request, self.computed[request] + 1, 0)
        if not external:
            self.ledger.finish(request)
            return multiple()
        rows = self.rows(request, external)
        self.restore(request, rows, 0, external, asynchronous=True)
        self.ship()
        return request, rows, external

    def restore(self, request: str, rows: list[list[int]], hit: int, external: int, asynchronous: bool) -> None:
        if external:
            for g, (group, row) in enumerate(zip(GROUPS, rows, strict=True)):
                for i in range(hit // SIZE, group.blocks(hit + external)):
                    if row[i]:
                        self.device[row[i]] = "garbage"
                        self.expected[request, row[i]] = self.content(request, g, i)
        self.ledger.plan_restore(request, rows, external, asynchronous)

    def track(self, request: str, rows: list[list[int]], known: int) -> None:
        """What was not restored is recomputed in the same step, which fills the blocks as ever."""
        self.computed[request] = known
        for g, (group, row) in enumerate(zip(GROUPS, rows, strict=True)):
            row += [next(self.fresh) for _ in range(len(row), group.blocks(self.computed[request]))]
            for i, block in enumerate(row):
                if block and self.device.get(block) != "garbage":
                    self.device[block] = self.content(request, g, i)
        self.ledger.track(request, rows, self.computed[request])

    @rule(target=running, item=consumes(loading))
    def load_ends(self, item: tuple[str, list[list[int]], int]) -> object:
        request, rows, tokens = item
        self.settle()
        assert self.ledger.loaded(request)
        assert not self.ledger.loaded(request)
        self.track(request, rows, max(tokens, self.computed[request]))
        return request

    @rule(request=consumes(running))
    def finish(self, request: str) -> None:
        self.ledger.finish(request)

    @rule(request=consumes(waiting))
    def abort_parked(self, request: str) -> None:
        self.ledger.finish(request)

    @rule(item=consumes(loading))
    def abort_while_loading(self, item: tuple[str, list[list[int]], int]) -> None:
        self.ledger.finish(item[0])
        assert item[0] in self.ledger.copies
        self.settle()
        assert self.ledger.loaded(item[0])

    @rule()
    def reset(self) -> None:
        """A reset of the prefix cache, for new weights. While a load is under way the engine refuses it, with an error.

        It has preempted everything by then, so all is forgotten nevertheless; but the weights stay.
        """
        self.settle()
        self.ledger.reset()
        self.weights += all(copy.state is not State.RESTORING for copy in self.ledger.copies.values())
        assert not self.ledger.tables
        assert all(copy.state is State.RESTORING for copy in self.ledger.copies.values())

    @rule(capacity=st.integers(HOST_BLOCKS - 3, HOST_BLOCKS + 3))
    def a_worker_has_less_room(self, capacity: int) -> None:
        self.ledger.limit(capacity)

    # The workers' part

    @rule(rank=st.integers(0, 1), steps=st.integers(1, 4))
    def run_worker(self, rank: int, steps: int) -> None:
        """One of them may be far ahead of the other."""
        worker = self.workers[rank]
        for _ in range(min(steps, len(worker.queue))):
            for transfer, brought in worker.run(self.device):
                self.check(transfer, brought)

    def run_all(self) -> None:
        for rank, worker in enumerate(self.workers):
            self.run_worker(rank, len(worker.queue))

    def check(self, transfer: Transfer, brought: dict[int, object] | None) -> None:
        for block, content in (brought or {}).items():
            assert content == self.expected[transfer.request_id, block], f"{transfer.request_id}, block {block}"
        _, results = self.results.setdefault(id(transfer), (transfer, []))
        results.append(brought is not None)
        if len(results) < len(self.workers):
            return
        for block in transfer.device:
            content = self.expected.pop((transfer.request_id, block))
            if all(results):
                self.device[block] = content
            else:
                self.invalid[block] = content

    @rule()
    def take_in_failed_loads(self) -> None:
        """The scheduler learns of them, and has the blocks computed again."""
        self.ledger.distrust(set(self.invalid))
        self.device |= self.invalid
        for worker in self.workers:
            for block in self.invalid:
                worker.loaded.pop(block, None)
        self.invalid.clear()

    def settle(self) -> None:
        """All steps ran, and the scheduler has taken their outputs in."""
        self.run_all()
        self.take_in_failed_loads()

    def in_flight(self, request: str) -> bool:
        """Whether a load of the request is under way: it is not admitted again before the outputs are in."""
        return bool(self.invalid) or any(rid == request for rid, _ in self.expected)

    @rule(rank=st.integers(0, 1))
    def a_save_will_fail(self, rank: int) -> None:
        self.workers[rank].fail_next = True

    @rule(rank=st.integers(0, 1))
    def a_load_will_fail(self, rank: int) -> None:
        self.workers[rank].fail_load = True

    @rule(first=st.integers(0, 20), second=st.integers(0, 20))
    def report(self, first: int, second: int) -> None:
        """Reports may be lost, late, repeated and out of order; a combined one says what both workers have done."""
        reports = [w.reports[-1 - n % len(w.reports)] for w, n in zip(self.workers, (first, second), strict=True)]
        self.ledger.report(min(done for done, _ in reports), frozenset().union(*(failed for _, failed in reports)))

    # What always holds

    @invariant()
    def no_block_is_lost_or_used_twice(self) -> None:
        host = self.ledger.host
        referred = [set(copy.host_blocks()) for copy in self.ledger.copies.values()]
        for copy in self.ledger.copies.values():
            assert len(set(copy.host_blocks())) == len(copy.host_blocks())
        held = set().union(*referred)
        draining = self.ledger.shelf.draining()
        assert len(set(draining)) == len(draining)
        assert not held & set(draining)
        assert sum(block < host.total for block in (*held, *draining)) + host.free == host.total

    @invariant()
    def blocks_in_a_copy_are_not_free(self) -> None:
        steps = (step for worker in self.workers for step in worker.queue)
        busy = {b for step in steps for t in (*step.saves, *step.loads) for b in t.host}
        starts = self.ledger.host._length.items()
        assert not busy & {b for start, size in starts for b in range(start, start + size)}

    def teardown(self) -> None:
        for request in [*self.ledger.tables, *self.ledger.copies]:
            self.ledger.finish(request)
        self.ship()
        self.settle()
        for request in list(self.ledger.copies):
            assert self.ledger.loaded(request)
        self.report(0, 0)
        assert self.ledger.host.free == self.ledger.host.total
        assert not self.ledger.shelf.is_draining
        assert not self.expected


# A longer run: PD_LAUNCH_LEDGER_RUNS=10000 pytest tests/connector/test_ledger_model.py
RUNS = int(os.environ.get("PD_LAUNCH_LEDGER_RUNS") or size(200, 4000))
LedgerMachine.TestCase.settings = settings(max_examples=RUNS, stateful_step_count=40, deadline=None)
TestLedgerMachine = LedgerMachine.TestCase
