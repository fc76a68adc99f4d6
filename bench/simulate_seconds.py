"""Seconds that the simulator predicts against those of a real engine on a CPU, with and without the connector.

The time of a step is fitted as ``pd-launch simulate --log`` fits it, to throughput of intervals of one engine that has
room for everything. Then each case of bench/pressure.py is run and predicted: duration, time to the first token, and
time per further token, the median over requests.

    python -m bench.simulate_seconds --rounds 5 --lock /tmp/engine.lock

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


def compared(work: Work, rounds: int, turn: Turn) -> list[dict[str, Any]]:
    """Return one row for each way, round and case."""
    rows = []
    roomy = replace(work, blocks=2 * work.seqs * -(-(work.prompt + work.output) // BLOCK))
    for seed in range(rounds):
        times, missed = fitted(measured(roomy, FITTED_SEED + seed))
        for name in ("recompute", "ours"):
            each = peers(work)[name]
            run = measured(each, seed)
            turn.yield_if_long()
            told = predicted(each, run["outputs"], times)
            seen = {
                "seconds": run["seconds"],
                "ttft": statistics.median(run["ttft"]),
                "itl": statistics.median(run["itl"]),
                "steps": run["steps"],
                "preempted": run["preempted"],
            }
            row = {"prompt": work.prompt, "blocks": work.blocks, "engine": name, "round": seed}
            row |= {"base": times.base, "per_token": times.per_token, "missed": missed}
            row |= {f"measured_{key}": value for key, value in seen.items()}
            row |= {f"predicted_{key}": value for key, value in told.items()}
            rows.append(row | {f"off_{key}": told[key] / seen[key] - 1 for key in FIGURES})
            print(show(rows[-1]), flush=True)
    return rows


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
    options.set_defaults(rounds=3)
    options.add_argument("--lock", type=Path, help="hold this file locked while an engine starts or runs")
    options.add_argument("--prompt", type=int, help="only this prompt length")
    given = options.parse_args()
    prepare()
    turn = Turn(given.lock)
    rows: list[dict[str, Any]] = []
    smoke = replace(SMOKE, output=200, blocks=60)
    for work in [smoke] if given.smoke else CASES:
        if given.prompt in (None, work.prompt):
            rows += compared(work, 1 if given.smoke else given.rounds, turn)
    turn.end()
    print("\nmedian of how far the prediction is off, without sign:")
    for key in FIGURES:
        for name in ("recompute", "ours"):
            off = [abs(row[f"off_{key}"]) for row in rows if row["engine"] == name]
            print(f"  {key:8} {name:10} {statistics.median(off):.1%} (worst {max(off):.1%})")
    finish("simulate_seconds", rows, given, [])


if __name__ == "__main__":
    main()
