"""When requests come: at their times, or one for each that ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from pd_launch.schemas.sim.work import Job


class Arrivals(Protocol):
    """Where requests come from."""

    @property
    def left(self) -> bool:
        """Whether more will come."""

    def due(self, now: float, live: int) -> Iterable[Job]:
        """Give those that are there at ``now``, while ``live`` others are in the engine."""

    def next_time(self) -> float | None:
        """Return when the next comes; None where that is when another ends."""


class Timed:
    """Requests that come at their own times."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = deque(sorted(jobs, key=lambda job: job.arrival))

    @property
    def left(self) -> bool:
        """Whether more will come."""
        return bool(self._jobs)

    def due(self, now: float, live: int) -> Iterable[Job]:
        """Give those whose time has come."""
        while self._jobs and self._jobs[0].arrival <= now:
            yield self._jobs.popleft()

    def next_time(self) -> float | None:
        """Return when the next comes."""
        return self._jobs[0].arrival if self._jobs else None


class Closed:
    """As many requests as clients: each sends the next when its last is answered."""

    def __init__(self, jobs: Sequence[Job], concurrency: int) -> None:
        self._jobs = deque(jobs)
        self._concurrency = concurrency

    @property
    def left(self) -> bool:
        """Whether more will come."""
        return bool(self._jobs)

    def due(self, now: float, live: int) -> Iterable[Job]:
        """Give one for each client that waits for none."""
        for _ in range(self._concurrency - live):
            if not self._jobs:
                return
            yield self._jobs.popleft()

    def next_time(self) -> float | None:
        """Return None: it is when another ends."""
        return None
