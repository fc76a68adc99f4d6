"""Resident bytes of the host pool: before anything is preempted, with a reserve beyond what is used, and all of it.

The pool is measured alone, in a process of its own: resident memory afterwards less resident memory before. Pinned
bytes are what is registered with the device, which is the budget, or nothing without one. Two budgets, one of them no
multiple of the block, of a huge page, or of a power of two. The goals: nothing without a preemption, at most what is
used and the reserve with some, and at most 1.02 times the budget when all of it is used.

    python -m bench.residency
"""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

import psutil

from bench.measure import finish, parser, refuse_beyond

WIDTHS = [147_456] * 61
BUDGETS = (1 << 30, 1_234_567_891, 3 << 30)
IDLE = 1.0  # seconds, here


def measure(budget: int) -> dict[str, Any]:
    """Return one row; forks a process, so that nothing else is counted."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_child, args=(budget, sender))
    process.start()
    row: dict[str, Any] = receiver.recv()
    process.join()
    return row


def _child(budget: int, sender: Any) -> None:
    import torch

    from pd_launch.connector import reserve as reserves
    from pd_launch.connector.wording import WORDING
    from pd_launch.connector.worker import OffloadWorker
    from pd_launch.schemas.offload.steps import Step, Transfer

    reserves.IDLE_SECONDS = IDLE
    caches = {f"layer{i}": torch.ones((3, width), dtype=torch.uint8) for i, width in enumerate(WIDTHS)}
    words = WORDING["RecomputeCPUOffloadConnector"]
    process, number = psutil.Process(), 0

    def made(touch: bool) -> OffloadWorker:
        worker = OffloadWorker(budget, 3, words, touch=touch)
        worker.register(caches)
        return worker

    def step(worker: OffloadWorker, used_below: int, saves: range = range(0)) -> None:
        nonlocal number
        number += 1
        transfers = [Transfer("r", [1, 2], [block, block + 1]) for block in saves[:-1:2]]
        worker.save(Step(number, transfers, used_below=used_below))

    def resident() -> int:
        return int(process.memory_info().rss) - before

    worker = made(touch=False)  # what compiles the copies has been used once before
    step(worker, 2, range(2))
    worker.close()
    before, number = process.memory_info().rss, 0
    worker = made(touch=False)
    pool = worker._pool
    assert pool is not None and pool.reserve is not None
    for _ in range(100):
        step(worker, 0)
    row: dict[str, Any] = {"budget": budget, "nothing_preempted": resident()}
    few = max(2, pool.blocks // 8)
    step(worker, few, range(few))
    pool.reserve.settle()
    row["used"], row["with_reserve"] = few * pool.block_bytes, resident()
    row["reserve_at_most"] = max(min(reserves.MOST_AHEAD, budget // reserves.SHARE_AHEAD), pool._rounding())
    step(worker, 0)
    time.sleep(4 * IDLE)
    row["idle"] = resident()
    step(worker, pool.blocks, range(pool.blocks))
    row["all_used"] = round(resident() / budget, 4)
    worker.close()
    before = process.memory_info().rss
    begin = time.perf_counter()
    worker = made(touch=True)
    row["touch_seconds"] = round(time.perf_counter() - begin, 2)
    row["touched"] = round(resident() / budget, 4)
    row["pinned"] = budget if worker._pool is not None and worker._pool.pinned else 0
    sender.send(row)
    worker.close()


def main() -> None:
    given = parser(__doc__).parse_args()
    rows = []
    for budget in (64 << 20,) if given.smoke else BUDGETS:
        if refusal := refuse_beyond(budget, 4 << 30):
            print(f"left out: {refusal}")
            continue
        rows.append(measure(budget))
        print(rows[-1])
    idle = max((row["nothing_preempted"] for row in rows), default=0)
    over = max((row["with_reserve"] / (row["used"] + row["reserve_at_most"]) for row in rows), default=0)
    worst = max((row["all_used"] for row in rows), default=0)
    goals = [
        f"without a preemption: {idle / 2**20:.1f} MiB (goal: nothing)",
        f"over what is used and the reserve: ×{over:.4f} (goal: at most 1.02)",
        f"resident over budget: ×{worst:.4f} (goal: at most 1.02)",
    ]
    finish("residency", rows, given, goals)


if __name__ == "__main__":
    main()
