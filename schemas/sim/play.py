"""Plays requests against a scheduler, step by step, as the engine's loop does."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import field

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.sim.arrivals import Arrivals
from pd_launch.schemas.sim.scheduler import Scheduler
from pd_launch.schemas.sim.shape import EndlessError, Engine, Offload, SimulationError
from pd_launch.schemas.sim.state import Step
from pd_launch.schemas.sim.work import Job, Request

MANY = 1 << 40
JAMMED = 3
"""Steps without any work after which nobody is taken to come in any more: a restore or a report takes two."""
STUCK = 20_000
"""Steps without a token for anybody after which nobody is taken to get one any more, or more where prompts are long.

The request that is served first cannot be preempted for another's sake: its prompt takes ``max_model_len`` steps at
most, and others that are served before it came later and have theirs.
"""


@dataclass(frozen=True)
class StepTime:
    """How long a step takes: ``base`` seconds, and ``per_token`` for each scheduled token."""

    base: float
    per_token: float = 0.0

    def of(self, tokens: int) -> float:
        """Return the seconds of a step with so many tokens; one without any takes none."""
        return self.base + self.per_token * tokens if tokens else 0.0


@dataclass
class Played:
    """What a run came to.

    Attributes:
        steps: steps that computed something.
        tokens: tokens that they computed.
        generated: tokens that were answered.
        cached: tokens found in the prefix cache when a request was admitted first.
        preempted: preemptions, those that hand a request back to the proxy included.
        victims: requests that were preempted at least once.
        finished: requests that ended.
        peak_running: most requests that ran at once.
        seconds: how long it took, where the time of a step is known.
        ttft: seconds to the first token of each request.
        tpot: seconds per further token of each request.
        complete: False where it was interrupted.
        recomputed: tokens that were computed before and were again.
        handed_back: requests that ended here unfinished and came again by way of the proxy.
        handed_tokens: their tokens, which a prefill node computes again.
        drafted: draft tokens that were computed.
        accepted: those that were right and counted.
    """

    steps: int = 0
    tokens: int = 0
    generated: int = 0
    cached: int = 0
    preempted: int = 0
    victims: int = 0
    finished: int = 0
    peak_running: int = 0
    seconds: float = 0.0
    ttft: list[float] = field(default_factory=list)
    tpot: list[float] = field(default_factory=list)
    events: list[tuple[int, int]] = field(default_factory=list)
    complete: bool = True
    recomputed: int = 0
    handed_back: int = 0
    handed_tokens: int = 0
    drafted: int = 0
    accepted: int = 0


class Play:
    """One engine and its work.

    Args:
        engine: the engine.
        arrivals: its requests; their times count in calls of the scheduler where ``times`` is None, else in seconds.
        offload: the connector, if any.
        times: how long a step takes.
        exact: look at every request in every step.
    """

    def __init__(
        self,
        engine: Engine,
        arrivals: Arrivals,
        offload: Offload | None = None,
        times: StepTime | None = None,
        exact: bool = False,
    ) -> None:
        self.scheduler = Scheduler(engine, offload, exact)
        self.played = Played()
        self.clock = 0.0
        self.live = 0
        self.came = 0
        self._arrivals = arrivals
        self._times = times
        self._engine = engine
        self._queue: deque[Step] = deque()
        self._ends: deque[float] = deque()  # when each step of the queue is over
        self._idle = 0
        self._answered = self._stuck = self._last = 0
        self._most_stuck = max(STUCK, 4 * engine.max_model_len)
        self._depth = 2 if engine.asynchronous else 1

    @property
    def now(self) -> float:
        """Seconds, or calls of the scheduler where no time of a step is known."""
        return self.clock if self._times is not None else self.scheduler.calls

    @property
    def is_over(self) -> bool:
        """Whether everything was answered."""
        return not self._arrivals.left and self.scheduler.is_idle and not self._queue

    def run(self, watch: Callable[[Play], None] | None = None, every: int = 1000) -> Played:
        """Play to the end, or to the interruption; ``watch`` is called every so many turns.

        Raises:
            SimulationError: a request fits into no step.
            EndlessError: it has no end.
        """
        turns = 0
        try:
            while not self.is_over:
                self.turn()
                turns += 1
                if watch is not None and turns % every == 0:
                    watch(self)
        except KeyboardInterrupt:
            return self.close(False)
        return self.close(True)

    def close(self, complete: bool) -> Played:
        """Return what it came to."""
        self.played.complete = complete
        self.played.seconds = self.clock
        scheduler = self.scheduler
        self.played.recomputed = scheduler.recomputed
        self.played.handed_back, self.played.handed_tokens = scheduler.handed_back, scheduler.handed_tokens
        self.played.drafted, self.played.accepted = scheduler.drafted, scheduler.accepted
        return self.played

    def wait(self, now: float) -> None:
        """Let time pass: what follows begins at ``now`` at the earliest."""
        if self._times is not None:
            self.clock = max(self.clock, now)
        elif self.scheduler.is_idle and not self._queue:
            self.scheduler.calls = max(self.scheduler.calls, math.ceil(now))

    def come(self, job: Job) -> None:
        """Let a request come.

        Raises:
            SimulationError: it is longer than the engine takes.
        """
        if job.prompt >= self._engine.max_model_len:
            raise SimulationError(
                f"a prompt of {counted(job.prompt, 'token')} leaves no room for an answer in "
                f"{self._engine.max_model_len} tokens "
                "(max-model-len): leave such requests out, as the engine refuses them"
            )
        request = Request(self.came, job, len(self._engine.groups), self.came)
        request.end = min(request.end, self._engine.max_model_len)
        self._fits(request)
        request.start = job.arrival if self._times is not None and job.arrival <= self.clock else self.now
        self.came += 1
        self.live += 1
        self.scheduler.add(request)

    def _fits(self, request: Request) -> None:
        blocks, drafts = 0, self._engine.drafts
        ahead = drafts.tokens + drafts.lookahead if drafts is not None else 0
        for group in self._engine.groups:
            cap = self._engine.cap(group)
            whole = group.blocks(min(request.end - 1 + ahead, self._engine.max_model_len))
            blocks += whole if cap is None else min(whole, cap)
        if blocks > self._engine.blocks - 1:
            raise SimulationError(
                f"a request of {request.job.prompt} + {counted(request.job.output, 'token')} needs "
                f"{counted(blocks, 'block')}, but the engine has only {self._engine.blocks - 1} besides the null "
                "block, and would not start with this max-model-len; use more blocks or a smaller max-model-len"
            )

    def turn(self) -> None:
        """One turn of the engine's loop."""
        for job in self._arrivals.due(self.now, self.live):
            self.come(job)
        if self.scheduler.is_idle:
            self._rest()
        elif not self._skip():
            self._step()

    def _rest(self) -> None:
        """Nothing to schedule: take what is under way, or wait for the next to come."""
        if self._queue:
            self._take()
        elif (then := self._arrivals.next_time()) is not None:
            self.clock = max(self.clock, then)
            self.scheduler.calls = max(self.scheduler.calls, math.ceil(then) if self._times is None else 0)

    def _skip(self) -> bool:
        """Go through steps in which nothing can happen at once."""
        count = self.scheduler.count
        most = MANY
        then = self._arrivals.next_time()
        if then is not None and (self._engine.priority or not len(self.scheduler.waiting)):
            one = 1.0 if self._times is None else self._times.of(count)
            most = math.ceil((then - self.now) / one) if one > 0 else 0
        steps, tokens = self.scheduler.skip(max(0, most))
        if not steps:
            return False
        self.played.steps += steps
        self.played.tokens += steps * tokens
        if self._times is not None:
            took = steps * self._times.of(tokens)
            self.clock += took
            self._ends = deque(end + took for end in self._ends)
        return True

    def _step(self) -> None:
        step = self.scheduler.schedule()
        self._count(step)
        self._queue.append(step)
        begins = self._ends[-1] if self._ends else self.clock
        self._ends.append(max(begins, self.clock) + (self._times.of(step.total) if self._times is not None else 0.0))
        if len(self._queue) < self._depth and (step.total or not self.scheduler.is_idle):
            return
        self._take()
        jammed = not step.total and not step.preempted and not self._queue and self.scheduler.is_jammed
        self._idle = self._idle + 1 if jammed else 0
        if self._idle > JAMMED:
            self._jam()
        self._progress()

    def _progress(self) -> None:
        """Count the steps that nobody got a token from, and give up when they are too many."""
        if self.scheduler.answered != self._answered:
            self._answered, self._stuck, self._last = self.scheduler.answered, 0, self.played.steps
            return
        self._stuck += 1
        if self._stuck > self._most_stuck:
            raise EndlessError(
                f"no request gets a token any more after step {self._last}: "
                f"{counted(self.live, 'request')} are there and preempt each other again and again, as in the engine; "
                "use more blocks or a smaller max-num-seqs"
            )

    def _jam(self) -> None:
        request = self.scheduler.waiting.head
        if request is not None:
            raise SimulationError(
                f"request {request.number} has {counted(request.tokens, 'token')} and does not fit into the engine "
                f"even alone: {counted(self._engine.blocks - 1, 'block')} of {self._engine.groups[0].block_size} tokens"
            )

    def _count(self, step: Step) -> None:
        played = self.played
        played.steps += step.total > 0
        played.tokens += step.total
        played.peak_running = max(played.peak_running, self.scheduler.count)
        if step.preempted:
            played.preempted += len(step.preempted)
            played.victims += sum(1 for victim in step.preempted if victim.preempted + victim.handed == 1)
            played.events += [(step.call, victim.number) for victim in step.preempted]

    def _take(self) -> None:
        """Take in the tokens of the oldest step under way."""
        self.clock = max(self.clock, self._ends.popleft())
        played = self.played
        done = self.scheduler.update(self._queue.popleft())
        for request in self.scheduler.take_begun():
            if request.first >= 0:
                continue  # it came again
            request.first = self.clock
            played.ttft.append(self.clock - request.start)
        for request in done:
            self.live -= 1
            played.finished += 1
            played.cached += request.hit
            output = request.end - request.origin.prompt
            played.generated += output
            if output > 1:
                played.tpot.append((self.clock - request.first) / (output - 1))
