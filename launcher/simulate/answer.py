"""What people ask: will it preempt, what does that cost, and which budget ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace

from pd_launch.launcher.simulate.workload import Workload
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.sim.arrivals import Arrivals, Closed, Timed
from pd_launch.schemas.sim.cluster import Cluster, Policy, merged
from pd_launch.schemas.sim.play import Play, Played, StepTime
from pd_launch.schemas.sim.shape import EndlessError, Engine, Offload, SimulationError

ENDLESS = 1 << 40
"""Host blocks that are never all in use."""
QUICK_STEPS = 300_000
"""Steps of the first run up to which other settings are tried too."""
WATERMARK = 0.1

Watch = Callable[[str, int, int], None]
"""Called with what is played, the answered requests, and all of them."""


@dataclass(frozen=True)
class Case:
    """What is played."""

    engine: Engine
    workload: Workload
    times: StepTime | None = None
    dp: int = 1
    policy: Policy = "vllm"
    async_from: int | None = None
    share: bool = False
    whole: bool = False


@dataclass
class Outcome:
    """One run, and what its connector did."""

    played: Played
    host_blocks: int | None = None
    parked: int = 0
    restored: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)
    peak_blocks: int = 0
    peak_requests: int = 0
    uses: list[int] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """Preemptions whose KV was not parked whole."""
        return sum(self.fallbacks.values())


@dataclass
class Answer:
    """All runs.

    Attributes:
        without: the engine alone.
        with_: with the offload, one run for each budget.
        least_blocks: the fewest host blocks per rank with which nothing falls back.
        most_blocks: those with which 99 of 100 preempted requests still found room.
        fewer_seqs: the most max-num-seqs without any preemption, and that run; None where it was not looked for.
        watermark: a run with a tenth of the blocks kept free at admissions.
        complete: False where it was interrupted.
    """

    without: Outcome
    with_: list[Outcome] = field(default_factory=list)
    least_blocks: int | None = None
    most_blocks: int | None = None
    fewer_seqs: tuple[int, Outcome] | None = None
    watermark: Outcome | None = None
    complete: bool = True


def answered(case: Case, budgets: Sequence[int], watch: Watch | None = None, others: bool = True) -> Answer:
    """Play a case without the offload, with one that is never full, and with each budget in host blocks per rank.

    Raises:
        SimulationError: it cannot be played.
    """
    answer = Answer(Outcome(Played(complete=False)))
    try:
        _answer(answer, case, budgets, watch, others)
    except KeyboardInterrupt:  # between two runs, or before the first
        answer.complete = False
    return answer


def _answer(answer: Answer, case: Case, budgets: Sequence[int], watch: Watch | None, others: bool) -> None:
    answer.without = run(case, None, watch, "without offload")
    if not answer.without.played.complete:
        answer.complete = False
        return
    endless = run(case, ENDLESS, watch, "with offload")
    if endless.played.complete:
        # Up to its peak an endless pool and one of that size do the same; a smaller one has no room there.
        answer.least_blocks = endless.peak_blocks
        uses = sorted(endless.uses)
        answer.most_blocks = uses[max(0, -(-99 * len(uses) // 100) - 1)] if uses else 0
        best = replace(endless, host_blocks=endless.peak_blocks)
        answer.with_.append(best)
    for budget in budgets:
        if not endless.played.complete:
            break
        found = run(case, budget, watch, f"with {budget} blocks")
        answer.with_.append(found)
        answer.complete &= found.played.complete
    answer.complete &= endless.played.complete
    if others and answer.complete and answer.without.played.preempted and answer.without.played.steps <= QUICK_STEPS:
        _others(case, answer, watch)


def _others(case: Case, answer: Answer, watch: Watch | None) -> None:
    """Try what else would end preemption: fewer requests at once, more blocks kept free."""
    low, high = 0, answer.without.played.peak_running - 1  # low: nothing preempted, high may be too many
    while low < high:
        middle = (low + high + 1) // 2
        found = run(_with_seqs(case, middle), None, watch, f"max-num-seqs {middle}", until_preempted=True)
        if not found.played.complete:
            answer.complete = False
            return
        if found.played.preempted:
            high = middle - 1
        else:
            low = middle
    if low:
        answer.fewer_seqs = low, run(_with_seqs(case, low), None, watch, f"max-num-seqs {low}")
    if case.engine.watermark < WATERMARK:
        engine = replace(case.engine, watermark=WATERMARK)
        with suppress(EndlessError):
            answer.watermark = run(replace(case, engine=engine), None, watch, f"watermark {WATERMARK}")


def _with_seqs(case: Case, seqs: int) -> Case:
    active = case.engine.max_active_seqs
    fewer = replace(case.engine, max_num_seqs=seqs, max_active_seqs=min(active, seqs) if active else None)
    return replace(case, engine=fewer)


class _Enough(Exception):
    """The question is answered before the end."""


def run(
    case: Case, host_blocks: int | None, watch: Watch | None = None, what: str = "", until_preempted: bool = False
) -> Outcome:
    """Play a case once.

    Args:
        case: what.
        host_blocks: of the offload, per rank; None for no offload.
        watch: told how far it is.
        what: for the watch.
        until_preempted: stop at the first preemption.

    Raises:
        SimulationError: it cannot be played.
        EndlessError: it has no end.
    """
    offload = Offload(host_blocks, case.async_from, case.share, whole=case.whole) if host_blocks is not None else None
    watching = _watching(watch, what, len(case.workload.jobs), until_preempted)
    plays: Sequence[Play]
    if case.dp > 1:
        cluster = Cluster(case.engine, case.dp, case.policy, _arrivals(case), offload, case.times)
        plays, play_all, every = cluster.plays, cluster.run, 200
    else:
        play = Play(case.engine, _arrivals(case), offload, case.times)
        plays, play_all, every = [play], lambda *asked: [play.run(*asked)], 1000
    try:
        parts = play_all(watching, 1 if until_preempted else every)
    except _Enough:
        parts = [play.close(True) for play in plays]
    except EndlessError as error:
        raise EndlessError(f"{what}: {error}" if what else str(error)) from None
    return _outcome(merged(parts) if case.dp > 1 else parts[0], plays, host_blocks)


def _watching(watch: Watch | None, what: str, total: int, until_preempted: bool) -> Callable[[Play | Cluster], None]:
    turns = 0

    def watching(run: Play | Cluster) -> None:
        nonlocal turns
        turns += 1
        plays = [run] if isinstance(run, Play) else run.plays
        if until_preempted and any(play.played.preempted for play in plays):
            raise _Enough
        if watch is not None and (not until_preempted or turns % 1000 == 0):
            watch(what, sum(play.played.finished for play in plays), total)

    return watching


def _arrivals(case: Case) -> Arrivals:
    workload = case.workload
    if workload.concurrency is not None:
        return Closed(workload.jobs, workload.concurrency)
    if case.times is None and workload.is_timed:
        raise SimulationError(
            "the requests of this workload come at times in seconds, so the time of a step must be known: give "
            "--step-time BASE,PER_TOKEN (such as 0.02,0.00002), a --log with lines of throughput, or --concurrency N"
        )
    return Timed(workload.jobs)


def _outcome(played: Played, plays: Sequence[Play], host_blocks: int | None) -> Outcome:
    out = Outcome(played, host_blocks)
    for play in plays:
        parking = play.scheduler.parking
        if parking is None:
            continue
        out.parked += parking.parked
        out.restored += parking.restored
        for reason, count in parking.fallbacks.items():
            out.fallbacks[reason] = out.fallbacks.get(reason, 0) + count
        # A budget is per rank, and each engine has its own: the fullest counts.
        out.peak_blocks = max(out.peak_blocks, parking.peak)
        out.peak_requests = max(out.peak_requests, parking.peak_requests)
        out.uses += parking.uses
    return out
