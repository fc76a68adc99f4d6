"""Requests that decode undisturbed, kept as sums: a step of all of them costs no more than a step of one.

Such a request gets one token in every step until it ends, and a new block of each group when its last is full. So per
group it is enough to know how many need one in which step, modulo the block size; and per step, who ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pd_launch.schemas.sim.work import Request


class Calm:
    """The undisturbed requests, in their order. They come before all others that run.

    Args:
        sizes: tokens per block of each group.
        asynchronous: whether one step is under way while the next is scheduled.
    """

    def __init__(self, sizes: Sequence[int], asynchronous: bool) -> None:
        self.members: dict[Request, int] = {}  # with the round in which each joined
        self.round = 0
        self._asynchronous = asynchronous
        self._sizes = sizes
        self._due = [[0] * size for size in sizes]
        self._ends: dict[int, list[Request]] = {}

    def __len__(self) -> int:
        return len(self.members)

    def fits(self, request: Request) -> bool:
        """Whether a running request decodes undisturbed from now on."""
        if (
            request.stale
            or request.is_prefill
            or any(row != -(-request.computed // size) for row, size in zip(request.rows, self._sizes, strict=True))
        ):
            return False
        if self._asynchronous:
            under_way = request.placeholders == request.in_flight == 1
            under_way = under_way and request.tokens > request.job.prompt  # its first token is there
            return under_way and request.computed == request.tokens and request.end - request.tokens > 2
        return request.tokens - request.computed == 1

    def join(self, request: Request) -> None:
        """Take in a request."""
        self.members[request] = self.round
        self._count(request, self.round, 1)
        self._ends.setdefault(self.round + request.end - request.tokens - 1, []).append(request)

    def _count(self, request: Request, joined: int, by: int) -> None:
        first = joined - request.computed
        for due, size in zip(self._due, self._sizes, strict=True):
            due[first % size] += by

    def begin(self) -> tuple[int, int]:
        """Return how many get a token in this round, and the blocks that they need."""
        count = len(self.members)
        if self._asynchronous and (leaving := self._ends.get(self.round)):
            count -= len(leaving)
            for request in leaving:  # the step under way brings their last token
                self._count(request, self.members[request], -1)
        return count, self.need()

    def need(self) -> int:
        """Return the blocks that this round needs."""
        return sum(due[self.round % size] for due, size in zip(self._due, self._sizes, strict=True))

    def end(self) -> list[Request]:
        """End the last round: return those who have their last token, brought up to date."""
        leaving = self._ends.pop(self.round - 1, None)
        if not leaving:
            return []
        for request in leaving:
            if not self._asynchronous:
                self._count(request, self.members[request], -1)
            rounds = self.round - self.members.pop(request) - self._asynchronous
            request.computed += rounds
            request.tokens = request.end
            request.placeholders = request.in_flight = 0
        return leaving

    def drop_last(self) -> tuple[Request, bool]:
        """Let the last one go, brought up to date, in a round that has begun; and whether it was to get a token."""
        request, joined = self.members.popitem()
        end = joined + request.end - request.tokens - 1
        self._ends[end].remove(request)
        if not self._ends[end]:
            del self._ends[end]
        counted = not (self._asynchronous and end == self.round)
        if counted:
            self._count(request, joined, -1)
        request.computed += self.round - joined
        request.tokens += self.round - joined
        return request, counted

    def is_quiet(self) -> bool:
        """Whether nobody ends in this round."""
        return self.round not in self._ends

    def wake(self) -> Iterable[Request]:
        """Let all go, brought up to date."""
        for request, joined in self.members.items():
            rounds = self.round - joined
            request.computed += rounds
            request.tokens += rounds
        out = list(self.members)
        self.members.clear()
        self._ends.clear()
        self._due = [[0] * size for size in self._sizes]
        return out
