"""Time spent in the connector's calls, over the time of all engine steps, when nothing is preempted.

A real engine on a CPU with plenty of blocks, 8 requests decoding. All calls of both sides are measured, and the steps
around them, by perf_counter_ns in the same run. The steps are those of a small model on one core, some milliseconds
long, so the share is larger than on a real deployment. The goal is at most 1 %.

    python -m bench.overhead
"""

from __future__ import annotations

import statistics
from pathlib import Path

from bench.engine import BLOCK_BYTES, Engine, Turn, Work, prepare
from bench.measure import finish, parser

OURS = "RecomputeCPUOffloadConnector"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--lock", type=Path, help="hold this file locked while an engine runs")
    given = options.parse_args()
    prepare()
    work = Work(
        OURS,
        "pd_launch.connector",
        {"cpu_bytes_to_use_per_rank": 64 * BLOCK_BYTES},
        prompt=64,
        output=8 if given.smoke else 128,
    )
    turn = Turn(given.lock)
    engine = Engine(work)
    rows = []
    for seed in range(1 if given.smoke else given.rounds):
        run = engine.run(seed)
        row = {
            "steps": run["steps"],
            "preempted": run["preempted"],
            "step_us": round(run["step_ns"] / run["steps"] / 1e3),
            "connector_us": round(run["connector_ns"] / run["steps"] / 1e3, 1),
            "calls": run["connector_calls"],
            "share": run["connector_ns"] / run["step_ns"],
        }
        rows.append(row)
        print(row, flush=True)
    engine.close()
    turn.end()
    share = statistics.median(float(row["share"]) for row in rows)
    finish("overhead", rows, given, [f"connector's share of the steps: {100 * share:.2f} % (goal: at most 1 %)"])


if __name__ == "__main__":
    main()
