"""The offload connector beside the scheduler: its own ledger decides who is parked, restored, and given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pd_launch.schemas.offload.fit import Fit
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.ledger import Ledger, Rows, Step
from pd_launch.schemas.offload.turns import OneByOne
from pd_launch.schemas.sim.shape import Offload
from pd_launch.schemas.sim.work import Request

SLACK = 2
Hashes = list[list[object]]


class Parking:
    """What the connector's scheduler side does, in the order in which the engine asks it.

    Workers are taken to answer every step, and to have a save or load over with the step that orders it; a load beside
    the steps takes as many of them as :class:`Offload` says.
    """

    def __init__(self, groups: Sequence[Group], offload: Offload, drafts: int = 0, one_by_one: bool = False) -> None:
        # The connector counts two steps in flight, each with its token and its drafts.
        told = [replace(group, slack=2 * (SLACK + drafts)) for group in groups]
        # vllm-ascend's own pool keeps one block for null.
        self.ledger = Ledger(told, offload.host_blocks - offload.whole, clock=_no_time)
        self.parked = 0
        self.restored = 0
        self.fallbacks: Counter[str] = Counter()
        self.peak = 0  # host blocks in use at once
        self.peak_requests = 0
        self.uses: list[int] = []  # host blocks in use after each save
        self.parked_tokens = 0
        self.restored_tokens = 0
        self.saved_blocks = 0
        self.loaded_blocks = 0
        self._offload = offload
        self._waits_for_save = len(groups) > 1 or offload.whole
        self._answered = False  # a worker has reported: before that nothing is saved
        self._beside: set[str] = set()
        self._turns = OneByOne(needed=one_by_one)
        self._loading: list[tuple[int, Request]] = []  # the call in which a load ends, and whose it is
        self._steps: dict[int, Step] = {}

    def matched(self, request: Request, local: int) -> tuple[int | None, bool]:
        """Answer how many tokens beyond the local ones can be restored, and whether beside the steps."""
        parked = request.key in self.ledger.copies
        if self._turns.must_wait(request.key, parked):
            return None, False
        if not parked:
            return 0, False
        if self._waits_for_save and self.ledger.saving(request.key):
            return None, False
        tokens = self.ledger.restorable(request.key, request.tokens, local)
        if self._offload.async_from is None or tokens == 0:
            return tokens, False
        beside = sum(group.blocks(tokens) for group in self.ledger.groups) >= self._offload.async_from
        (self._beside.add if beside else self._beside.discard)(request.key)
        return tokens, beside

    def allocated(self, request: Request, rows: Rows, external: int, call: int) -> None:
        """Plan the restore of an admitted request, or drop a copy that nothing needs."""
        if request.key not in self.ledger.copies:
            return
        beside = request.key in self._beside
        self._beside.discard(request.key)
        if external <= 0:
            self._drop(request, "superseded")
            return
        transfer = self.ledger.plan_restore(request.key, rows, external, beside)
        if transfer is None:
            return
        self.restored += 1
        self.restored_tokens += external
        self.loaded_blocks += len(transfer.host)
        if beside:
            self._turns.begins(request.key)
            self._loading.append((call + self._offload.load_steps - 1, request))

    def preempted(self, request: Request, rows: Rows, computed: int) -> bool:
        """Park a victim; returns whether anything of it is parked."""
        self._drop(request, "superseded")
        if not self._answered:
            self.fallbacks["no_worker"] += 1
            return False
        if self._offload.whole and Fit(self.ledger.groups, rows, computed).cost(computed) > self.ledger.host.free:
            self.fallbacks["pool_full"] += 1
            return False
        parked = self.ledger.park(request.key, rows, computed, self._hashes(request, computed))
        if parked.tokens == 0:
            self.fallbacks["pool_full" if parked.needed > parked.free else "window"] += 1
            return False
        self.parked += 1
        self.parked_tokens += parked.tokens
        self.saved_blocks += parked.copied
        self.uses.append(self.ledger.host.total - self.ledger.host.free)
        if parked.tokens < parked.computed:
            self.fallbacks["partial"] += 1
        return True

    def _hashes(self, request: Request, computed: int) -> Hashes | None:
        if not self._offload.share:
            return None
        final = min(computed, request.tokens - 1)
        return [
            [request.content((i + 1) * group.block_size) for i in range(final // group.block_size)]
            for group in self.ledger.groups
        ]

    def finished(self, request: Request) -> None:
        """Forget a request."""
        self._turns.ran(request.key)
        self.ledger.forget(request.key)
        self._drop(request, "ended")

    def _drop(self, request: Request, reason: str) -> None:
        if self.ledger.drop(request.key):
            self.fallbacks[reason] += 1

    def advance(self, call: int, scheduled: Iterable[Request]) -> None:
        """Close the step of a call of the scheduler."""
        if self._turns:
            self._turns.ran(*(request.key for request in scheduled))
        step = self.ledger.advance()
        if step.report or not self._answered:
            self._steps[call] = step
        self.peak = max(self.peak, self.ledger.host.total - self.ledger.host.free)
        self.peak_requests = max(self.peak_requests, len(self.ledger.copies))

    def over(self, call: int) -> list[Request]:
        """Take in the workers' report on that call's step; returns the requests whose load beside the steps is over."""
        step = self._steps.pop(call, None)
        if step is not None:
            self._answered = True
            self.ledger.report(step.number)
        if not self._loading:
            return []
        done = [request for end, request in self._loading if end <= call]
        self._loading = [(end, request) for end, request in self._loading if end > call]
        for request in done:
            self.ledger.loaded(request.key)
            self._turns.over(request.key)
        return done

    @property
    def is_busy(self) -> bool:
        """Whether a worker's report is still to come."""
        return bool(self._loading or self._steps)


def _no_time() -> float:
    return 0.0
