"""Resident bytes of the host pool over its budget: before it is touched, and when all of it is backed.

The pool is measured alone, in a process of its own: resident memory afterwards less resident memory before. Pinned
bytes are what is registered with the device, which is the budget, or nothing without one. Two budgets, one of them no
multiple of the block, of a huge page, or of a power of two. The goal is at most 1.02.

    python -m bench.residency
"""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

import psutil

from bench.measure import finish, parser, refuse_beyond

WIDTHS = [147_456] * 61
BUDGETS = (1 << 30, 1_234_567_891)


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

    from pd_launch.connector.copying.choose import CpuCopies
    from pd_launch.connector.pool import HostPool

    cache = [torch.ones((2, width), dtype=torch.uint8) for width in WIDTHS]
    before = psutil.Process().memory_info().rss
    pool = HostPool(budget, WIDTHS)
    copies = CpuCopies(cache, pool.regions)
    untouched = psutil.Process().memory_info().rss - before
    begin = time.perf_counter()
    pool.touch()
    pool.wait_touched()
    seconds = time.perf_counter() - begin
    touched = psutil.Process().memory_info().rss - before
    for host in range(0, pool.blocks - 1, 2):
        copies.save([0, 1], [host, host + 1])
    used = psutil.Process().memory_info().rss - before
    sender.send(
        {
            "budget": budget,
            "untouched": round(untouched / budget, 4),
            "touched": round(touched / budget, 4),
            "used": round(used / budget, 4),
            "pinned": budget if pool.pinned else 0,
            "touch_seconds": round(seconds, 2),
        }
    )
    copies.close()
    pool.close()


def main() -> None:
    given = parser(__doc__).parse_args()
    rows = []
    for budget in (64 << 20,) if given.smoke else BUDGETS:
        if refusal := refuse_beyond(budget, 4 << 30):
            print(f"left out: {refusal}")
            continue
        rows.append(measure(budget))
        print(rows[-1])
    worst = max((row["used"] for row in rows), default=0)
    finish("residency", rows, given, [f"resident over budget: ×{worst:.4f} (goal: at most 1.02)"])


if __name__ == "__main__":
    main()
