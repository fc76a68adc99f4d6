"""Seconds that the simulator predicts against those of a real engine on a CPU, with and without the connector.

The time of a step is fitted as ``pd-launch simulate --log`` fits it, to throughput of intervals of one engine that has
room for everything. Then each case of bench/pressure.py with prompts of that length is run and predicted: duration,
time to the first token, and time per further token, the median over requests. "fitted" is the run of the fit itself:
what is off there is the shape of the formula, and no fault of the schedule. A round takes some four minutes.

    python -m bench.simulate_seconds

Run it on a quiet machine: what else runs is in the measured seconds and in the fit, and not in the same share.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.engine import BLOCK, Engine, Turn, Work, prepare
from bench.measure import finish, parser
from bench.pressure import CASES, SMOKE, peers
from pd_launch.launcher.simulate.loglines import LogSize
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.sim.arrivals import Timed
from pd_launch.schemas.sim.play import Play, StepTime
from pd_launch.schemas.sim.shape import Engine as Shape
from pd_launch.schemas.sim.shape import Offload
from pd_launch.schemas.sim.work import Job

INTERVAL = 1.0
BATCHED = 4096
HOST_BLOCKS = 1024
FIGURES = ("seconds", "ttft", "itl")
FITTED_SEED = 777
LONGER = 3  # times as many requests where the fit is made: most of its intervals are then those of a full engine


def fitted(run: dict[str, Any]) -> tuple[StepTime, float]:
    """Return the time of a step, and by how much it misses the intervals: a run's steps, summed up as a log does it."""
    log = LogSize()
    took, scheduled, out, running = 0.0, 0, 0, 0
    for seconds, tokens, answers in run["per_step"]:
        took, scheduled, out, running = took + seconds, scheduled + tokens, out + answers, max(running, answers)
        if took >= INTERVAL:
            log.rates.append(((scheduled - out) / took, out / took, answers or running))
            took, scheduled, out, running = 0.0, 0, 0, 0
    found = log.step_time()
    if found is None:
        raise SystemExit("the run was too short to fit the time of a step: nothing can be predicted")
    return found


def predicted(work: Work, outputs: list[int], times: StepTime) -> dict[str, float]:
    """Return what the simulator says of a run."""
    shape = Shape(
        work.blocks,
        (Group(BLOCK),),
        work.seqs,
        BATCHED,
        work.prompt + work.output + BLOCK,
        prefix_caching=work.prefix_caching,
    )
    offload = Offload(HOST_BLOCKS) if work.connector else None
    played = Play(shape, Timed([Job(0.0, work.prompt, output) for output in outputs]), offload, times).run()
    return {
        "seconds": played.seconds,
        "ttft": statistics.median(played.ttft),
        "itl": statistics.median(played.tpot),
        "steps": played.steps,
        "preempted": played.preempted,
    }


def measured(work: Work, seed: int) -> dict[str, Any]:
    """Run an engine once."""
    engine = Engine(work)
    try:
        return engine.run(seed)
    finally:
        engine.close()


def compared(works: list[Work], seed: int, turn: Turn) -> list[dict[str, Any]]:
    """Return one row for each engine of cases that differ in nothing but their blocks, and one for the fitted run."""
    blocks = 2 * works[0].seqs * -(-(works[0].prompt + works[0].output) // BLOCK)
    roomy = replace(works[0], blocks=blocks, requests=LONGER * works[0].requests)
    run = measured(roomy, FITTED_SEED + seed)
    times, missed = fitted(run)
    rows = [row(roomy, "fitted", run, times)]
    for work in works:
        for name in ("recompute", "ours"):
            each = peers(work)[name]
            rows.append(row(each, name, measured(each, seed), times))
            turn.yield_if_long()
    fit = {"round": seed, "base": times.base, "per_token": times.per_token, "missed": missed}
    print(f"a step: {1e3 * times.base:.2f} ms and {1e3 * times.per_token:.3f} ms a token, missed by {missed:.1%}")
    print("\n".join(map(show, rows)), flush=True)
    return [fit | each for each in rows]


def row(work: Work, name: str, run: dict[str, Any], times: StepTime) -> dict[str, Any]:
    """Return what was measured, what is predicted, and how far off that is."""
    told = predicted(work, run["outputs"], times)
    seen = {
        "seconds": run["seconds"],
        "ttft": statistics.median(run["ttft"]),
        "itl": statistics.median(run["itl"]),
        "steps": run["steps"],
        "preempted": run["preempted"],
    }
    made: dict[str, Any] = {"prompt": work.prompt, "blocks": work.blocks, "engine": name}
    made |= {f"measured_{key}": value for key, value in seen.items()}
    made |= {f"predicted_{key}": value for key, value in told.items()}
    return made | {f"off_{key}": told[key] / seen[key] - 1 for key in FIGURES}


def show(row: dict[str, Any]) -> str:
    """Return one line for people."""
    counts = ", ".join(f"{key} {row['predicted_' + key]}/{row['measured_' + key]}" for key in ("steps", "preempted"))
    times = ", ".join(
        f"{key} {row['predicted_' + key]:.3f}/{row['measured_' + key]:.3f} s ({row['off_' + key]:+.0%})"
        for key in FIGURES
    )
    return f"prompt {row['prompt']:5} blocks {row['blocks']:4} {row['engine']:9} predicted/measured: {counts}; {times}"


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(rounds=2)
    options.add_argument("--lock", type=Path, help="hold this file locked while an engine starts or runs")
    options.add_argument("--prompt", type=int, help="only this prompt length")
    given = options.parse_args()
    prepare()
    turn = Turn(given.lock)
    rows: list[dict[str, Any]] = []
    cases = [replace(SMOKE, output=200, blocks=60)] if given.smoke else CASES
    lengths = sorted({work.prompt for work in cases if given.prompt in (None, work.prompt)})
    for seed in range(1 if given.smoke else given.rounds):
        for length in lengths:
            rows += compared([work for work in cases if work.prompt == length], seed, turn)
    turn.end()
    print("\nmedian of how far the prediction is off, without sign:")
    for key in FIGURES:
        for name in ("recompute", "ours", "fitted"):
            off = [abs(row[f"off_{key}"]) for row in rows if row["engine"] == name]
            print(f"  {key:8} {name:10} {statistics.median(off):.1%} (worst {max(off):.1%})")
    finish("simulate_seconds", rows, given, [])


if __name__ == "__main__":
    main()
