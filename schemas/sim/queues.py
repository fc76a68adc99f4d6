"""Requests that wait, in the order in which a release looks at them."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from pd_launch.schemas.sim.work import Request, Status


class Line:
    """A queue: first come, first served, or by priority."""

    def __init__(self, priority: bool) -> None:
        self._priority = priority
        self._line: deque[Request] = deque()
        self._heap: list[tuple[tuple[int, int], int, Request]] = []

    def __len__(self) -> int:
        return len(self._heap) if self._priority else len(self._line)

    def __iter__(self) -> Iterator[Request]:
        return iter([entry[2] for entry in sorted(self._heap)] if self._priority else self._line)

    def add(self, request: Request) -> None:
        """Put a request at the end."""
        if self._priority:
            heapq.heappush(self._heap, (request.order, request.number, request))
        else:
            self._line.append(request)

    def put_back(self, request: Request) -> None:
        """Put a request in front."""
        if self._priority:
            self.add(request)
        else:
            self._line.appendleft(request)

    def peek(self) -> Request:
        """Return the next request."""
        return self._heap[0][2] if self._priority else self._line[0]

    def pop(self) -> Request:
        """Take the next request."""
        return heapq.heappop(self._heap)[2] if self._priority else self._line.popleft()

    def remove(self, request: Request) -> None:
        """Take a request out, wherever it is."""
        if self._priority:
            self._heap = [entry for entry in self._heap if entry[2] is not request]
            heapq.heapify(self._heap)
        elif request in self._line:
            self._line.remove(request)


class Waiting:
    """The queue that everybody enters, and the one that is looked at before it."""

    def __init__(self, priority: bool, holding_first: bool) -> None:
        self.entered = Line(priority)
        self.first = Line(priority)
        self._priority = priority
        self._holding_first = holding_first
        self._passed: list[Request] = []
        self._passed_holding: list[Request] = []

    def __len__(self) -> int:
        return len(self.entered) + len(self.first)

    @property
    def head(self) -> Request | None:
        """The request that is looked at next."""
        line = self.select()
        return line.peek() if line is not None else None

    def select(self) -> Line | None:
        """Return the queue whose head is looked at next; None where nobody waits."""
        if not len(self.first):
            return self.entered if len(self.entered) else None
        if self._holding_first or not self._priority or not len(self.entered):
            return self.first
        return self.entered if self.entered.peek().order < self.first.peek().order else self.first

    def skip(self, line: Line) -> None:
        """Pass the head over in this step."""
        request = line.pop()
        holds = request.computed > 0 or request.status is Status.LOADING
        if self._holding_first and not holds:
            self._passed.append(request)
        else:
            self._passed_holding.append(request)

    @property
    def none_passed(self) -> bool:
        """Whether nobody was passed over in this step so far."""
        return not self._passed and not self._passed_holding

    def end_step(self) -> None:
        """Put those that were passed over in front again, in their order."""
        for passed, line in ((self._passed_holding, self.first), (self._passed, self.entered)):
            for request in reversed(passed):
                line.put_back(request)
            passed.clear()

    def remove(self, request: Request) -> None:
        """Take a request out."""
        self.entered.remove(request)
        self.first.remove(request)
