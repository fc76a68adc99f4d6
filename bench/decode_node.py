"""Preemption on a decode node: prompts whose KV comes from elsewhere, prefix caching off, as P/D guides have it.

The prompts' KV is vLLM's DecodeBenchConnector's, filled at start, so that it costs nothing, as after a transfer. A
victim's KV is gone then: it is nobody's to send again, and stock vLLM computes prompt and answer anew, on a node that
otherwise only decodes.

  ours           the bundled connector below MultiConnector, behind the one that brings the prompts
  recompute      the one that brings the prompts alone: stock vLLM
  prefixes       stock vLLM with prefix caching on
  offloading     vLLM's OffloadingConnector in place of ours, decode blocks stored too
  simple         vLLM's SimpleCPUOffloadConnector, prefix caching on: without it, it keeps nothing
  ours again     ours in another process: what is different there is noise

``batched`` is the node's max_num_batched_tokens: guides give decode nodes 32 to 256, so that a victim is computed again
in many slow steps; with 4,096 it is one step in which everybody waits. Engines run in turn, one at a time, with other
prompts and answers in each round, and each is started anew for it.

    python -m bench.decode_node --rounds 3
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.engine import Work, prepare
from bench.measure import finish, parser
from bench.pressure import measure, peers

CASES = (
    Work(prompt=2048, output=512, requests=16, seqs=8, blocks=412, batched=256),
    Work(prompt=4096, output=384, requests=16, seqs=8, blocks=924, batched=256),
    Work(prompt=1024, output=512, requests=24, seqs=16, blocks=515, batched=256),
    Work(prompt=2048, output=512, requests=16, seqs=8, blocks=412, batched=4096),
)
SMOKE = Work(prompt=64, output=96, requests=12, seqs=8, blocks=20, batched=64)
HOST_BLOCKS = 2048
GOALS = {"tokens_per_second": "at least 1.2", "p99_ms": "at most 0.5"}


def ways(work: Work) -> dict[str, Work]:
    """Return the engines of one case."""
    node = replace(work, arrives=True, prefix_caching=False)
    made = peers(node, HOST_BLOCKS)
    return {
        "ours": made["ours"],
        "recompute": made["recompute"],
        "prefixes": replace(made["recompute"], prefix_caching=True),
        "offloading": made["offloading"],
        "simple": replace(made["simple"], prefix_caching=True),
        "ours again": made["ours again"],
    }


def show(row: dict[str, Any]) -> str:
    """Return one line for people."""
    ratios = [
        f"×{row['ours/' + key]:.2f} ({low:.2f} to {high:.2f}) {key}"
        for key in (*GOALS, "tokens_per_cpu_second")
        for low, high in [row[f"spread/{key}"]]
        if "ours/" + key in row
    ]
    return (
        f"prompt {row['prompt']:5} batched {row['batched']:4} {row['engine']:10} preempted {row['preempted']:3} "
        f"steps {row['steps']:4} above minimum {statistics.median(row['above_minimum']):6} "
        f"tok/s {row['tokens_per_second']:6.1f} p50 {row['p50_ms']:5.1f} ms p99 {row['p99_ms']:6.1f} ms "
        f"| ours: {', '.join(ratios)}"
    )


def goals(rows: list[dict[str, Any]]) -> list[str]:
    """Return what came out beside the goals against stock vLLM."""
    return [
        f"prompt {row['prompt']}, batched {row['batched']}: ours over recomputing ×{row['ours/' + key]:.2f} {key} "
        f"(goal: {goal})"
        for row in rows
        for key, goal in GOALS.items()
        if row["engine"] == "recompute" and "ours/" + key in row
    ]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--lock", type=Path, help="hold this file locked while an engine starts or runs")
    options.add_argument("--only", default="", help="only these engines, comma separated")
    options.add_argument("--case", type=int, choices=range(1, len(CASES) + 1), action="append", help="only this one")
    given = options.parse_args()
    prepare()
    names = given.only.split(",") if given.only else list(ways(SMOKE))
    rows: list[dict[str, Any]] = []
    chosen = [CASES[number - 1] for number in given.case] if given.case else CASES
    for work in [SMOKE] if given.smoke else chosen:
        part = measure(work, ways(work), names, 1 if given.smoke else given.rounds, given.lock)
        part = [row | {"batched": work.batched} for row in part]
        rows += part
        print("\n".join(show(row) for row in part), flush=True)
    finish("decode_node", rows, given, goals(rows))


if __name__ == "__main__":
    main()
