"""The ledger against a simple model: device and host memory are dicts, a worker runs the steps, late and in pieces.

Every token of every request has its own value. Whatever happens, what a restore brings back must be what the request's
blocks held when it was preempted, and at rest every host block must be free.
"""

from __future__ import annotations

from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from pd_launch.connector.groups import Group
from pd_launch.connector.ledger import Ledger, State, Step

SIZE = 4
WINDOW = 7
GROUPS = [Group(SIZE), Group(SIZE, window=WINDOW)]
HOST_BLOCKS = 14


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
        self.host: dict[int, object] = {}
        self.computed: dict[str, int] = {}
        self.queue: list[Step] = []  # shipped, not executed yet
        self.executed: list[Step] = []  # executed, not reported yet
        self.expected: list[tuple[str, int, int, object]] = []  # request, device block, position, content after loading

    # The scheduler's part

    def rows(self, request: str, tokens: int) -> list[list[int]]:
        """Allocate rows with known content: block i of group g of a request always holds (request, g, i)."""
        out = []
        for g, group in enumerate(GROUPS):
            first = group.first_needed(tokens)
            row = [0] * first + [next(self.fresh) for _ in range(first, group.blocks(tokens))]
            for i, block in enumerate(row):
                if block:
                    self.device[block] = (request, g, i)
            out.append(row)
        return out

    def ship(self) -> None:
        self.queue.append(self.ledger.advance())

    @rule(target=running, tokens=st.integers(1, 30))
    def admit(self, tokens: int) -> str:
        request = next(self.names)
        self.ledger.track(request, self.rows(request, tokens), tokens)
        self.computed[request] = tokens
        self.ship()
        return request

    @rule(request=running, more=st.integers(1, 6))
    def decode(self, request: str, more: int) -> None:
        table = self.ledger.tables.get(request)
        if table is None:
            return
        tokens = self.computed[request] + more
        new: list[list[int]] = []
        for g, (group, row) in enumerate(zip(GROUPS, table.rows, strict=True)):
            blocks = [next(self.fresh) for _ in range(len(row), group.blocks(tokens))]
            for i, block in enumerate(blocks, start=len(row)):
                self.device[block] = (request, g, i)
            new.append(blocks)
        self.ledger.extend(request, new, tokens)
        self.computed[request] = tokens
        self.ship()

    @rule(target=waiting, request=consumes(running))
    def preempt(self, request: str) -> object:
        table = self.ledger.forget(request)
        if table is None:
            self.ledger.finish(request)
            return multiple()
        parked = self.ledger.park(request, table.rows, table.computed)
        assert 0 <= parked.tokens <= table.computed
        if parked.needed <= parked.free:
            assert parked.tokens == table.computed
        self.ship()
        return request

    @rule(request=waiting, local=st.integers(0, 8))
    def ask(self, request: str, local: int) -> None:
        before = (self.ledger.host.free, {r: (c.state, c.tokens) for r, c in self.ledger.copies.items()})
        tokens = self.ledger.restorable(request, self.computed[request] + 1, local * SIZE)
        assert tokens >= 0
        assert before == (self.ledger.host.free, {r: (c.state, c.tokens) for r, c in self.ledger.copies.items()})

    @rule(target=running, request=consumes(waiting), local=st.integers(0, 4), grown=st.integers(-2, 3))
    def resume(self, request: str, local: int, grown: int) -> str:
        """Admit it again with local blocks of the device's cache; drafts were rejected, or tokens came late."""
        known = max(1, self.computed[request] + 1 + grown)
        hit = min(local * SIZE, (known - 1) // SIZE * SIZE)
        external = self.ledger.restorable(request, known, hit)
        rows = self.rows(request, hit + external if external else known)
        self.restore(request, rows, hit, external, asynchronous=False)
        self.track(request, rows, known)
        self.ship()
        return request

    @rule(target=loading, request=consumes(waiting))
    def resume_later(self, request: str) -> object:
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
                        self.expected.append((request, row[i], i, (request, g, i)))
        self.ledger.plan_restore(request, rows, external, asynchronous)

    def track(self, request: str, rows: list[list[int]], known: int) -> None:
        """What was not restored is recomputed in the same step, which fills the blocks as ever."""
        self.computed[request] = known
        for g, (group, row) in enumerate(zip(GROUPS, rows, strict=True)):
            row += [next(self.fresh) for _ in range(len(row), group.blocks(self.computed[request]))]
            for i, block in enumerate(row):
                if block and self.device.get(block) != "garbage":
                    self.device[block] = (request, g, i)
        self.ledger.track(request, rows, self.computed[request])

    @rule(target=running, item=consumes(loading))
    def load_ends(self, item: tuple[str, list[list[int]], int]) -> object:
        request, rows, tokens = item
        self.run_worker(len(self.queue))
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
        self.run_worker(len(self.queue))
        assert self.ledger.loaded(item[0])

    @rule()
    def reset(self) -> None:
        self.ledger.reset()
        assert not self.ledger.tables
        assert all(copy.state is State.RESTORING for copy in self.ledger.copies.values())

    # The worker's part

    @rule(steps=st.integers(1, 4))
    def run_worker(self, steps: int) -> None:
        for step in self.queue[:steps]:
            for transfer in step.saves:
                for block, host in zip(transfer.device, transfer.host, strict=True):
                    self.host[host] = self.device[block]
            for transfer in step.loads:
                for block, host in zip(transfer.device, transfer.host, strict=True):
                    self.device[block] = self.host[host]
                self.check(transfer.request_id, set(transfer.device))
            self.executed.append(step)
        self.queue = self.queue[steps:]

    def check(self, request: str, blocks: set[int]) -> None:
        mine = [e for e in self.expected if e[0] == request and e[1] in blocks]
        assert mine
        for _, block, position, content in mine:
            assert self.device[block] == content, f"block {position} of {request}"
        self.expected = [e for e in self.expected if not (e[0] == request and e[1] in blocks)]

    @rule(index=st.integers(0, 20))
    def report(self, index: int) -> None:
        """Reports may come late, twice and out of order; each says that all steps up to it are over."""
        if self.executed:
            self.ledger.report(self.executed[index % len(self.executed)].number)

    # What always holds

    @invariant()
    def no_block_is_lost_or_used_twice(self) -> None:
        ledger = self.ledger
        held = [b for copy in ledger.copies.values() for b in copy.host_blocks()]
        draining = [b for blocks in ledger._draining.values() for b in blocks]
        free = ledger.host.free
        assert len(set(held)) == len(held)
        assert not set(held) & set(draining)
        assert len(held) + len(draining) + free == HOST_BLOCKS

    @invariant()
    def blocks_in_a_copy_are_not_free(self) -> None:
        busy = {b for step in self.queue for t in (*step.saves, *step.loads) for b in t.host}
        starts = self.ledger.host._length.items()
        assert not busy & {b for start, size in starts for b in range(start, start + size)}

    def teardown(self) -> None:
        for request in [*self.ledger.tables, *self.ledger.copies]:
            self.ledger.finish(request)
        self.ship()
        self.run_worker(len(self.queue))
        for request in list(self.ledger.copies):
            assert self.ledger.loaded(request)
        self.ledger.report(self.executed[-1].number)
        assert self.ledger.host.free == HOST_BLOCKS
        assert not self.expected or all(e[0] not in self.ledger.tables for e in self.expected)


LedgerMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestLedgerMachine = LedgerMachine.TestCase
