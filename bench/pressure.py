"""Throughput and latency under KV pressure, on real engines on a CPU, ours against the other ways.

  ours        the bundled connector
  ours aside  the same, every restore beside the others' steps (``async_restore_bytes: 0``)
  free        the same schedule with copies that cost nothing: the least possible steps
  recompute   stock vLLM
  offloading  vLLM's OffloadingConnector, decode blocks stored too
  simple      vLLM's SimpleCPUOffloadConnector
  loop        vllm-ascend's way: a blocking copy per block and tensor, an engine step per restore
  ours again  ours in another process: what is different there is noise
  lowered     stock vLLM with max_num_seqs lowered until nothing is preempted

All with prefix caching, two prompt lengths, two pressures, answers of unequal length. Engines run in turn, one at a
time, with other prompts in each round, and each is started anew for it: how fast a process computes depends on the
pages that it happens to get. Counts are exact; of times, medians over rounds, and ratios of one round.

    python -m bench.pressure --rounds 7
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.engine import BLOCK, BLOCK_BYTES, Engine, Turn, Work, prepare
from bench.measure import finish, parser

OURS = "RecomputeCPUOffloadConnector"
# two prompt lengths, two pressures each: fewer blocks of the device cache are more preemptions
CASES = (
    Work(prompt=256, output=256, requests=20, seqs=16, blocks=150),
    Work(prompt=256, output=256, requests=20, seqs=16, blocks=120),
    Work(prompt=1024, output=384, requests=12, seqs=8, blocks=290),
    Work(prompt=1024, output=384, requests=12, seqs=8, blocks=272),
)
SMOKE = Work(prompt=64, output=40, requests=16, seqs=16, blocks=20)
HOST_BLOCKS = 1024


def peers(work: Work, host_blocks: int = HOST_BLOCKS) -> dict[str, Work]:
    """Return the engines of one case."""
    host = {"cpu_bytes_to_use_per_rank": host_blocks * BLOCK_BYTES}
    offload = {"cpu_bytes_to_use": host_blocks * BLOCK_BYTES}
    spec = {"spec_name": "CpuSpec", "spec_module_path": "bench.peers"}
    ours = replace(work, connector=OURS, module="pd_launch.connector", extra=host)
    aside = {**host, "async_restore_bytes": 0}
    return {
        "ours": ours,
        "ours aside": replace(ours, extra=aside),
        "free": replace(ours, connector="Free", module="bench.peers"),
        "recompute": work,
        "offloading": replace(
            work,
            connector="OffloadingConnector",
            role="kv_both",
            extra={**offload, **spec, "offload_prompt_only": False},
        ),
        "simple": replace(
            work,
            connector="SimpleCPUOffloadConnector",
            role="kv_both",
            extra=host,
            prepare="bench.peers:simple_on_cpu",
        ),
        "loop": replace(ours, connector="Loop", module="bench.peers", extra=aside),
        "ours again": ours,
        "lowered": replace(work, seqs=(work.blocks - 1) // -(-(work.prompt + work.output) // BLOCK)),
    }


def measure(
    work: Work, ways: dict[str, Work], names: list[str], rounds: int, lock: Path | None
) -> list[dict[str, Any]]:
    """Run the engines of one case that are named, and return a row of each."""
    engines = {name: each for name, each in ways.items() if name in names}
    turn = Turn(lock)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
    order = list(engines)
    for seed in range(rounds):
        for name in order[seed % len(order) :] + order[: seed % len(order)]:  # each comes first once
            if name not in engines:
                continue
            try:
                engine = Engine(engines[name])
            except RuntimeError as error:
                print(f"{name}: {error}", flush=True)
                del engines[name], runs[name]
                continue
            runs[name].append(engine.run(seed))
            engine.close()
            print(f"round {seed}: {name} {runs[name][-1]['seconds']:.1f} s", file=sys.stderr, flush=True)
        turn.yield_if_long()
    turn.end()
    return [row(work, name, of, runs) for name, of in runs.items()]


def row(work: Work, name: str, of: list[dict[str, Any]], runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Summarise the runs of one engine, and compare ours with it."""
    middle = lambda key: statistics.median(run[key] for run in of)  # noqa: E731
    out: dict[str, Any] = {"prompt": work.prompt, "blocks": work.blocks, "engine": name, "rounds": len(of)}
    out |= {key: middle(key) for key in ("preempted", "steps", "empty_steps")}
    out["steps_all"] = [run["steps"] for run in of]
    out["above_minimum"] = [run["scheduled"] - run["minimum"] for run in of]
    for key in ("tokens_per_second", "tokens_per_cpu_second", "p50_ms", "p99_ms"):
        out[key] = round(middle(key), 2)
    if "ours" in runs:
        for key in ("tokens_per_second", "tokens_per_cpu_second", "p50_ms", "p99_ms"):
            pairs = zip(runs["ours"], of, strict=True)
            ratios = [ours[key] / theirs[key] for ours, theirs in pairs]
            out[f"ours/{key}"] = round(statistics.median(ratios), 3)
            out[f"spread/{key}"] = [round(min(ratios), 3), round(max(ratios), 3)]
    return out


def show(row: dict[str, Any]) -> str:
    """Return one line for people."""
    return (
        f"prompt {row['prompt']:5} blocks {row['blocks']:4} {row['engine']:10} preempted {row['preempted']:3} "
        f"steps {row['steps']:4} above minimum {statistics.median(row['above_minimum']):6} "
        f"tok/s {row['tokens_per_second']:7.1f} p50 {row['p50_ms']:6.1f} ms p99 {row['p99_ms']:7.1f} ms | ours: "
        f"×{row.get('ours/tokens_per_second', 0):.2f} tok/s, "
        f"×{row.get('ours/tokens_per_cpu_second', 0):.2f} by CPU time, "
        f"×{row.get('ours/p50_ms', 0):.2f} p50, ×{row.get('ours/p99_ms', 0):.2f} p99"
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--lock", type=Path, help="hold this file locked while an engine starts or runs")
    options.add_argument("--prompt", type=int, help="only this prompt length")
    options.add_argument("--only", default="", help="only these engines, comma separated")
    given = options.parse_args()
    prepare()
    names = given.only.split(",") if given.only else list(peers(SMOKE))
    rows: list[dict[str, Any]] = []
    for work in [SMOKE] if given.smoke else CASES:
        if given.prompt in (None, work.prompt):
            part = measure(work, peers(work), names, 1 if given.smoke else given.rounds, given.lock)
            rows += part
            print("\n".join(show(row) for row in part), flush=True)
    finish("pressure", rows, given, [])


if __name__ == "__main__":
    main()
