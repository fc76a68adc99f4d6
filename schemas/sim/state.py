"""A step, and what a scheduler keeps from one to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.sim.calm import Calm
from pd_launch.schemas.sim.counted import CountedBlocks
from pd_launch.schemas.sim.hashed import HashedBlocks
from pd_launch.schemas.sim.parking import Parking
from pd_launch.schemas.sim.queues import Waiting
from pd_launch.schemas.sim.shape import Engine, Offload
from pd_launch.schemas.sim.work import Request


@dataclass
class Step:
    """What one call scheduled.

    Attributes:
        call: number of the call, from 0.
        tokens: scheduled tokens of each request, in the engine's order.
        sampled: those of the requests that get a token of it.
        preempted: the victims, in their order, those that are handed back included.
        drafted: how many of the scheduled tokens of a request are drafts.
        padded: those whose drafts only fill the step: none of them is right.
        returning: victims that were handed back; the proxy sends them again once it has the step's answers.
        total: all scheduled tokens, those of undisturbed requests included.
    """

    call: int
    tokens: dict[Request, int] = field(default_factory=dict)
    sampled: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)
    drafted: dict[Request, int] = field(default_factory=dict)
    padded: set[Request] = field(default_factory=set)
    returning: list[Request] = field(default_factory=list)
    total: int = 0


class State:
    """What one engine's scheduler keeps from step to step.

    Args:
        engine: its limits.
        offload: the connector beside it; None for none.
        exact: go through every request in every step, as vLLM does; else those that decode undisturbed are summed up,
            which gives the same.
    """

    def __init__(self, engine: Engine, offload: Offload | None = None, exact: bool = False) -> None:
        self.engine = engine
        self.blocks: CountedBlocks = HashedBlocks(engine) if engine.prefix_caching else CountedBlocks(engine)
        self._drafts = engine.drafts
        self._draft_tokens = engine.drafts.tokens if engine.drafts is not None else 0
        self._ahead = engine.drafts.lookahead if engine.drafts is not None else 0
        one_by_one = bool(self._draft_tokens) and not engine.rules.reserves_drafts
        self.parking: Parking | None = None
        if offload is not None:
            self.parking = Parking(engine.groups, offload, self._draft_tokens, one_by_one)
        self._keeps = offload is not None and not offload.whole
        self.waiting = Waiting(engine.priority, engine.rules.holding_first)
        self.running: list[Request] = []
        self.calls = 0
        self.preemptions = 0
        self.recomputed = 0  # tokens that were computed before and are again
        self.handed_back = 0
        self.handed_tokens = 0  # tokens of those handed back, which a prefill node computes again
        self.drafted = self.accepted = 0
        self.answered = 0  # tokens that any request was given
        self._prefill_runs = False  # a request that computes its prompt is in this step
        self._some_run = False  # a request that ran before is in this step
        self._begun: list[Request] = []  # those that have their first token since it was asked last
        self._caches = engine.prefix_caching
        # Whether tokens are offered to the prefix cache when they are there, not only with the step after.
        settles = engine.drafts is not None and engine.rules.settles_drafts
        self._caches_proved = self._caches and (engine.asynchronous or settles)
        self.on_finish: Callable[[Request], None] = _ignore
        self._prefilling: dict[Request, None] = {}  # admitted, and not through the prompt
        self._loaded: set[Request] = set()
        self._arriving: list[tuple[int, Request]] = []  # the call with which the KV of a prompt is there
        # A connector may fill freed blocks at once, so blocks that a step under way writes are freed after it.
        self._defers = offload is not None and engine.asynchronous and engine.rules.defers_frees
        self._scheduled_steps = 0
        self._processed_steps = 0
        self._deferred: deque[tuple[int, list[int]]] = deque()
        self._calm = Calm([group.block_size for group in engine.groups], engine.asynchronous)
        self._sums_up = not exact and engine.drafts is None and all(group.window is None for group in engine.groups)
        self._squeezes = not (
            engine.priority or engine.hands_back or self._defers or (engine.prefix_caching and len(engine.groups) > 1)
        )
        self._under_way: Step | None = None  # the last step, while its tokens are not there
        self._stuck = False  # the next to be admitted does not fit, and nothing was freed since
        self._parked_now: list[tuple[Request, list[list[int]], int]] = []

    def add(self, request: Request) -> None:
        """Take in a request."""
        self.waiting.entered.add(request)
        self._stuck &= not self.engine.priority

    @property
    def count(self) -> int:
        """How many run."""
        return len(self._calm) + len(self.running)

    @property
    def is_idle(self) -> bool:
        """Whether nobody runs or waits."""
        return not self.running and not len(self._calm) and not len(self.waiting)

    @property
    def is_jammed(self) -> bool:
        """Whether those who wait wait for nothing: nobody runs, and nothing is under way."""
        busy = self.parking is not None and self.parking.is_busy
        return (
            not self.count
            and bool(len(self.waiting))
            and not busy
            and not self._deferred
            and not self._loaded
            and not self._arriving
        )

    def take_begun(self) -> list[Request]:
        """Return those that have their first token since this was asked last."""
        begun, self._begun = self._begun, []
        return begun

    def _can_free(self, request: Request) -> bool:
        """Whether no step under way writes the request's blocks."""
        return not self._defers or request.step <= self._processed_steps

    def _free(self, request: Request) -> None:
        if self._can_free(request):
            self.blocks.drop(request)
        else:
            self._deferred.append((self._scheduled_steps, self.blocks.held(request)))


def _ignore(request: Request) -> None:
    return None
