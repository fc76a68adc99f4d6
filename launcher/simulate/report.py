"""The answer for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.simulate.answer import Answer, Case, Outcome
from pd_launch.launcher.simulate.sized import Sized, describe
from pd_launch.schemas.core.units import format_size
from pd_launch.schemas.sim.play import Played
from pd_launch.schemas.simulation import (
    ChoiceReport,
    EngineReport,
    OffloadReport,
    OtherReport,
    RunReport,
    Simulation,
    Spread,
    StepTimeReport,
    TimeReport,
    WorkloadReport,
)

Row = tuple[str, "Answer | str"]
"""A choice of ``--over``, and its answer or why there is none."""


def report(
    sized: Sized,
    case: Case,
    answer: Answer,
    *,
    seed: int,
    lang: str,
    step_time: StepTimeReport | None,
    over: str | None = None,
    rows: Sequence[Row] = (),
) -> Simulation:
    """Return the answer with everything that it rests on."""
    jobs = case.workload.jobs
    size = sized.block_bytes
    engine = {**describe(case.engine), "block_bytes": size, "data_parallel": case.dp}
    return Simulation(
        format_version=1,
        target=str(sized.target),
        seed=seed,
        engine=EngineReport.model_validate({**engine, "router": case.policy if case.dp > 1 else None}),
        workload=WorkloadReport(
            what=case.workload.what,
            requests=len(jobs),
            prompt_tokens=sum(job.prompt for job in jobs),
            output_tokens=sum(job.output for job in jobs),
            concurrency=case.workload.concurrency,
        ),
        step_time=step_time,
        without=RunReport(**_run(answer.without.played, case)),
        **{"with": [_offload(outcome, case, size) for outcome in answer.with_]},
        least_budget_blocks=answer.least_blocks,
        least_budget_bytes=_bytes(answer.least_blocks, size),
        p99_budget_blocks=answer.most_blocks,
        p99_budget_bytes=_bytes(answer.most_blocks, size),
        instead=_instead(answer, case),
        over=over,
        choices=[_choice(name, found, case, size) for name, found in rows],
        assumed=[text.text(lang) for text in sized.assumed],
        not_modelled=[*(text.text(lang) for text in sized.not_modelled), *case.workload.notes],
        complete=answer.complete and all(isinstance(found, str) or found.complete for _, found in rows),
    )


def _run(played: Played, case: Case) -> dict[str, Any]:
    return {
        "steps": played.steps,
        "tokens": played.tokens,
        "preempted": played.preempted,
        "preempted_requests": played.victims,
        "recomputed": played.recomputed,
        "handed_back": played.handed_back,
        "handed_back_tokens": played.handed_tokens,
        "drafted": played.drafted,
        "accepted": played.accepted,
        "cached": played.cached,
        "finished": played.finished,
        "peak_running": played.peak_running,
        "time": _time(played) if case.times is not None else None,
    }


def _time(played: Played) -> TimeReport:
    rate = played.generated / played.seconds if played.seconds else 0.0
    return TimeReport(
        seconds=round(played.seconds, 3),
        tokens_per_second=round(rate, 1),
        ttft=_spread(played.ttft),
        itl=_spread(played.tpot),
    )


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(values)
    p99 = ordered[max(0, -(-99 * len(ordered) // 100) - 1)]
    return Spread(p50=round(ordered[(len(ordered) - 1) // 2], 4), p99=round(p99, 4))


def _offload(outcome: Outcome, case: Case, size: int | None) -> OffloadReport:
    blocks = outcome.host_blocks or 0
    return OffloadReport(
        **_run(outcome.played, case),
        budget=format_size(blocks * size) if size else f"{blocks}blocks",
        budget_blocks=blocks,
        budget_bytes=_bytes(blocks, size),
        parked=outcome.parked,
        restored=outcome.restored,
        fallbacks=outcome.fallbacks,
        peak_parked_blocks=outcome.peak_blocks,
        peak_parked_bytes=_bytes(outcome.peak_blocks, size),
        peak_parked_requests=outcome.peak_requests,
    )


def _instead(answer: Answer, case: Case) -> list[OtherReport]:
    out = []
    if answer.fewer_seqs is not None:
        seqs, outcome = answer.fewer_seqs
        out.append(OtherReport(setting=f"max-num-seqs={seqs}", **_run(outcome.played, case)))
    if answer.watermark is not None:
        out.append(OtherReport(setting="watermark=0.1", **_run(answer.watermark.played, case)))
    return out


def _choice(name: str, found: Answer | str, case: Case, size: int | None) -> ChoiceReport:
    if isinstance(found, str):
        return ChoiceReport(choice=name, error=found)
    return ChoiceReport(
        choice=name,
        without=RunReport(**_run(found.without.played, case)),
        least_budget_blocks=found.least_blocks,
        least_budget_bytes=_bytes(found.least_blocks, size),
    )


def _bytes(blocks: int | None, size: int | None) -> int | None:
    return None if blocks is None or size is None else blocks * size
