"""Several engines behind one router, step by step together, as data-parallel ranks of one model are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pd_launch.schemas.sim.arrivals import Arrivals
from pd_launch.schemas.sim.play import Play, Played, StepTime
from pd_launch.schemas.sim.shape import Engine, Offload
from pd_launch.schemas.sim.work import Job

Policy = Literal["vllm", "round-robin", "least-requests"]
WAITING_WEIGHT = 4
"""How much more a waiting request counts than a running one for vLLM's own balancer."""


COUNTS = (
    "tokens", "generated", "cached", "preempted", "victims", "finished", "recomputed", "handed_back", "handed_tokens",
    "drafted", "accepted",
)  # fmt: skip


class _Given:
    """Arrivals that another one decides."""

    left = False

    def due(self, now: float, live: int) -> Iterable[Job]:
        """Give none."""
        return ()

    def next_time(self) -> float | None:
        """Return None."""
        return None


class Cluster:
    """Engines that share their requests.

    Args:
        engine: each of them.
        count: how many.
        policy: whom a request goes to: ``vllm`` counts four for one that waits and one for one that runs.
        arrivals: the requests of all.
        offload: the connector of each.
        times: how long a step takes; all wait for the slowest.
    """

    def __init__(
        self,
        engine: Engine,
        count: int,
        policy: Policy,
        arrivals: Arrivals,
        offload: Offload | None = None,
        times: StepTime | None = None,
    ) -> None:
        self.plays = [Play(engine, _Given(), offload, times) for _ in range(count)]
        self._arrivals = arrivals
        self._policy = policy
        self._timed = times is not None
        self._next = 0

    @property
    def is_over(self) -> bool:
        """Whether everything was answered."""
        return not self._arrivals.left and all(play.is_over for play in self.plays)

    def run(self, watch: Callable[[Cluster], None] | None = None, every: int = 200) -> list[Played]:
        """Play to the end, or to the interruption; one result for each engine."""
        ticks = 0
        complete = True
        try:
            while not self.is_over:
                self._tick()
                ticks += 1
                if watch is not None and ticks % every == 0:
                    watch(self)
        except KeyboardInterrupt:
            complete = False
        return [play.close(complete) for play in self.plays]

    def _tick(self) -> None:
        now = max(play.now for play in self.plays)
        live = sum(play.live for play in self.plays)
        if not live and (then := self._arrivals.next_time()) is not None:
            now = max(now, then)
        for play in self.plays:
            play.wait(now)
        for job in self._arrivals.due(now, live):
            self.plays[self._choose()].come(job)
        for play in self.plays:
            if not play.is_over:
                play.turn()

    def _choose(self) -> int:
        if self._policy == "round-robin":
            self._next += 1
            return (self._next - 1) % len(self.plays)
        return min(range(len(self.plays)), key=self._load)

    def _load(self, number: int) -> int:
        play = self.plays[number]
        waiting = len(play.scheduler.waiting)
        running = play.scheduler.count
        return running + (WAITING_WEIGHT if self._policy == "vllm" else 1) * waiting


def merged(parts: Sequence[Played]) -> Played:
    """Return the results of several engines as one: counts add up, steps and seconds are those of the longest."""
    out = Played()
    for part in parts:
        out.steps = max(out.steps, part.steps)
        out.seconds = max(out.seconds, part.seconds)
        out.complete &= part.complete
        for name in COUNTS:
            setattr(out, name, getattr(out, name) + getattr(part, name))
        out.peak_running = max(out.peak_running, part.peak_running)
        out.ttft += part.ttft
        out.tpot += part.tpot
    return out
