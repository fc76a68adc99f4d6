"""Plays requests against a scheduler, step by step, as the engine's loop does."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pd_launch.schemas.sim.scheduler import Scheduler, Step
from pd_launch.schemas.sim.shape import Engine, Offload
from pd_launch.schemas.sim.work import Job, Request


@dataclass
class Played:
    """What a run came to. Times are in the unit of the arrivals.

    Attributes:
        steps: steps that computed something.
        tokens: tokens that they computed.
        least: the fewest that would have done: prompt + output − 1 of each request.
        cached: tokens found in the prefix cache when a request was admitted first.
        preempted: preemptions; the victims in ``events``, with the step of each, where they were asked for.
    """

    steps: int = 0
    tokens: int = 0
    least: int = 0
    cached: int = 0
    preempted: int = 0
    finished: int = 0
    peak_running: int = 0
    events: list[tuple[int, int]] = field(default_factory=list)

    @property
    def recomputed(self) -> int:
        """Tokens that were computed again."""
        return self.tokens - self.least + self.cached


class Play:
    """One engine and its work, arrivals counted in calls of the scheduler."""

    def __init__(self, engine: Engine, jobs: Sequence[Job], offload: Offload | None = None, exact: bool = False) -> None:
        self.scheduler = Scheduler(engine, offload, exact)
        self.played = Played()
        groups = len(engine.groups)
        order = sorted(range(len(jobs)), key=lambda n: jobs[n].arrival)
        self.requests = [Request(n, jobs[n], groups, place) for place, n in enumerate(order)]
        self._pending = deque(self.requests)
        self._engine = engine
        self._queue: deque[Step] = deque()

    def run(self) -> Played:
        """Play to the end."""
        while self._pending or not self.scheduler.is_idle or self._queue:
            self.turn()
        return self.played

    def turn(self) -> None:
        """One turn of the engine's loop."""
        scheduler, queue = self.scheduler, self._queue
        while self._pending and self._pending[0].job.arrival <= scheduler.calls:
            scheduler.add(self._pending.popleft())
        if not self._pending and scheduler.is_idle:
            self._take(queue.popleft())
            return
        most = self._pending[0].job.arrival - scheduler.calls if self._pending else 10**9
        steps, count = scheduler.skip(int(most))
        if steps:
            self.played.steps += steps
            self.played.tokens += steps * count
            return
        depth = 2 if self._engine.asynchronous else 1
        step = scheduler.schedule()
        self._count(step)
        queue.append(step)
        if len(queue) < depth and (step.total or not scheduler.is_idle):
            return
        self._take(queue.popleft())

    def _count(self, step: Step) -> None:
        played = self.played
        played.steps += step.total > 0
        played.tokens += step.total
        played.preempted += len(step.preempted)
        played.events += [(step.call, victim.number) for victim in step.preempted]
        played.peak_running = max(played.peak_running, self.scheduler.count)

    def _take(self, step: Step) -> None:
        for request in self.scheduler.update(step):
            self.played.finished += 1
            self.played.least += request.job.prompt + request.job.output - 1
            self.played.cached += request.hit
