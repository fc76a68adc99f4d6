"""What a preemption adds to the engine step in which it happens, on a CPU, over the pure time of the copy.

Added are: planning the save on the scheduler side, shipping it, running it on the worker side, and the report that
comes back. The pure copy is one gather per tensor of the same blocks into the same place. Both alternate; processor
time of the thread, medians. The goal is at most 1.15. On a device the save is only issued: see ``bench.device``.

Then the first burst of an engine that never preempted before: victims in steps one after the other, each beside what
they cost where all memory was touched at start, with the reserve that is backed ahead of need, and without it.

    python -m bench.stall
"""

from __future__ import annotations

import pickle
import random
import statistics
import time
from types import SimpleNamespace
from typing import Any

import torch

from bench.copies import SHAPES, Shape, both_clocks
from bench.measure import finish, parser, ratio, refuse_beyond
from pd_launch.connector.copying.choose import CpuCopies
from pd_launch.connector.copying.streaming import LEAST_BYTES
from pd_launch.connector.metadata import StepMetadata
from pd_launch.connector.scheduler import OffloadScheduler
from pd_launch.connector.wording import WORDING
from pd_launch.connector.worker import OffloadWorker
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.steps import Step, Transfer

WORDS = WORDING["RecomputeCPUOffloadConnector"]
SIZE = 128  # tokens per block
VICTIM_BLOCKS = (1, 4, 16, 64)


class Rank:
    """Both sides of one rank, and a cache from which one victim after another is saved.

    Args:
        shape: the tensors.
        blocks: blocks of a victim.
    """

    def __init__(self, shape: Shape, blocks: int) -> None:
        total = 2 * blocks + 1
        block_bytes = shape.tensors * shape.width
        whole = torch.ones((shape.tensors, total, shape.width), dtype=torch.uint8)
        caches = {f"layer{i}": whole[i] for i in range(shape.tensors)}
        self.worker = OffloadWorker(2 * blocks * block_bytes, total, WORDS, touch=True)
        self.worker.register(caches)
        self.side = OffloadScheduler([Group(SIZE)], 2 * blocks, WORDS)
        self.side.wrap_reset(SimpleNamespace(reset_prefix_cache=lambda: True))
        assert self.worker._pool is not None
        is_large = blocks * block_bytes >= LEAST_BYTES
        self.pure = CpuCopies(list(whole), self.worker._pool.regions, past_caches=is_large)
        self.victim = random.Random(0).sample(range(1, total), blocks)
        self.number = 0
        self._exchange(set())  # the first report tells the scheduler side that there is a worker

    def preempt(self) -> None:
        """Let a step preempt a request; end the request afterwards, so that its host blocks are free again."""
        self.number += 1
        name = f"r{self.number}"
        self.side.ledger.track(name, [self.victim], len(self.victim) * SIZE)
        self._exchange({name})
        self.side.finished(name)

    def _exchange(self, preempted: set[str]) -> None:
        step = self.side.step(_output(preempted))
        received = pickle.loads(pickle.dumps(StepMetadata(step))).step
        self.worker.save(received)
        self.worker.load(received)
        report = self.worker.report(received)
        self.side.worker_output(
            SimpleNamespace(kv_connector_worker_meta=report, invalid_block_ids=set(), finished_recving=None)
        )

    def copy(self) -> None:
        """Copy the same blocks to the same place."""
        self.pure.save(self.victim, range(len(self.victim)))


def _output(preempted: set[str]) -> Any:
    cached = SimpleNamespace(req_ids=[], new_block_ids=[], num_computed_tokens=[], resumed_req_ids=set())
    return SimpleNamespace(
        preempted_req_ids=preempted,
        finished_req_ids=set(),
        num_scheduled_tokens={},
        scheduled_new_reqs=[],
        scheduled_cached_reqs=cached,
    )


def measure(name: str, shape: Shape, blocks: int, rounds: int) -> dict[str, Any]:
    """Return one row: milliseconds of both, and their ratio by both clocks."""
    rank = Rank(shape, blocks)
    wall, cpu = both_clocks({"step": rank.preempt, "copy": rank.copy}, rounds)
    rank.worker.close()
    return {
        "shape": name,
        "blocks": blocks,
        "copy_ms": round(statistics.median(cpu["copy"]) * 1e3, 3),
        "added_ms": round(statistics.median(cpu["step"]) * 1e3, 3),
        "ratio": round(ratio(cpu["step"], cpu["copy"]), 3),
        "ratio_wall": round(ratio(wall["step"], wall["copy"]), 3),
    }


BURST = 12  # victims
BURST_BLOCKS = 16
BETWEEN = 0.015  # seconds of the forward pass between two steps
WAYS = ("touched", "reserve", "neither")


def first_burst(shape: Shape, way: str) -> list[float]:
    """Return the milliseconds, by the wall, that saving each victim of the first burst takes."""
    total = BURST_BLOCKS + 1
    whole = torch.ones((shape.tensors, total, shape.width), dtype=torch.uint8)
    budget = 4 * BURST * BURST_BLOCKS * shape.tensors * shape.width
    worker = OffloadWorker(budget, total, WORDS, touch=way == "touched")
    worker.register({f"layer{i}": whole[i] for i in range(shape.tensors)})
    assert worker._pool is not None
    if way == "neither" and worker._pool.reserve is not None:
        worker._pool.reserve.close()
        worker._pool.reserve = None
    out = []
    for number in range(1, BURST + 1):
        stop = number * BURST_BLOCKS
        host = list(range(stop - BURST_BLOCKS, stop))
        step = Step(number, [Transfer(f"r{number}", list(range(1, total)), host)], used_below=stop)
        begin = time.perf_counter()
        worker.save(step)
        out.append((time.perf_counter() - begin) * 1e3)
        time.sleep(BETWEEN)
    worker.close()
    return out


def measure_burst(name: str, shape: Shape, rounds: int) -> list[dict[str, Any]]:
    """Return one row for each way: the first victim, the median and the worst of the others, medians over rounds."""
    runs: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            runs[way].append(first_burst(shape, way))
    rows = []
    for way in WAYS:
        rows.append(
            {
                "shape": name,
                "burst": way,
                "mib_each": round(BURST_BLOCKS * shape.tensors * shape.width / 2**20),
                "first_ms": round(statistics.median(run[0] for run in runs[way]), 1),
                "median_ms": round(statistics.median(statistics.median(run[1:]) for run in runs[way]), 1),
                "worst_ms": round(statistics.median(max(run[1:]) for run in runs[way]), 1),
            }
        )
    return rows


def main() -> None:
    given = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    shapes = {"MLA": Shape(3, SHAPES["MLA"].width, ())} if given.smoke else SHAPES
    rows = []
    for name, shape in shapes.items():
        for blocks in VICTIM_BLOCKS[:2] if given.smoke else VICTIM_BLOCKS:
            if refusal := refuse_beyond(5 * blocks * shape.tensors * shape.width, 6 << 30):
                print(f"{name} {blocks} left out: {refusal}")
                continue
            row = measure(name, shape, blocks, 1 if given.smoke else 3 * given.rounds)
            rows.append(row)
            print(row, flush=True)
    worst = max(row["ratio"] for row in rows)
    for name, shape in shapes.items():
        if refusal := refuse_beyond(5 * BURST * BURST_BLOCKS * shape.tensors * shape.width, 16 << 30):
            print(f"first burst of {name} left out: {refusal}")
            continue
        for row in measure_burst(name, shape, 1 if given.smoke else max(1, given.rounds // 2)):
            rows.append(row)
            print(row, flush=True)
    finish("stall", rows, given, [f"step in which a request is preempted: ×{worst:.2f} the copy (goal: at most 1.15)"])


if __name__ == "__main__":
    main()
