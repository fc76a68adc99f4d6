"""Scheduler-side time of one engine step, with 0, 100, 1,000 and 10,000 requests parked that do not change.

The scheduler side of the connector is driven as vLLM does it: SchedulerOutput of 64 decoding requests, one question for
the head of the waiting queue, one report of the workers, statistics. ``change`` adds a request that is parked and one
that is restored in each step. Processor time, alternating, medians. The goal is a flat line.

    python -m bench.scheduler_steps
"""

from __future__ import annotations

import statistics
import time
from types import SimpleNamespace
from typing import Any

from bench.measure import alternate, finish, parser, ratio
from pd_launch.connector.metadata import WorkerReport
from pd_launch.connector.scheduler import OffloadScheduler
from pd_launch.connector.wording import WORDING
from pd_launch.schemas.offload.groups import Group

PARKED = (0, 100, 1_000, 10_000)
RUNNING = 64
BLOCKS = 8  # of each request
SIZE = 16  # tokens per block
TOKENS = BLOCKS * SIZE


class Engine:
    """The scheduler side with some requests parked and others decoding.

    Args:
        parked: requests that are parked and stay so.
        change: whether each step parks one more request and restores the one parked before.
    """

    def __init__(self, parked: int, change: bool) -> None:
        self.side = OffloadScheduler([Group(SIZE)], (parked + 8) * BLOCKS, WORDING["RecomputeCPUOffloadConnector"])
        self.side.wrap_reset(SimpleNamespace(reset_prefix_cache=lambda: True))
        self.parked = parked
        self.change = change
        self.number = 0
        for i in range(parked):
            self.side.ledger.park(f"parked{i}", [list(range(1, BLOCKS + 1))], TOKENS)
        self.decoding = [f"run{i}" for i in range(RUNNING)]
        for name in self.decoding:
            self.side.ledger.track(name, [list(range(1, BLOCKS + 1))], TOKENS)
        self._report(self.side.ledger.advance().number)
        self.head = SimpleNamespace(request_id="parked0", num_tokens=TOKENS + 1)
        self.previous = ""

    def step(self) -> None:
        """One engine step."""
        self.number += 1
        self.side.matched(self.head, 0)
        victim = f"victim{self.number}" if self.change else ""
        if victim:
            self._swap(victim)
        step = self.side.step(self._output({victim} if victim else None))
        if step.report:
            self._report(step.number)
        self.side.stats()

    def _swap(self, victim: str) -> None:
        self.side.ledger.track(victim, [list(range(1, BLOCKS + 1))], TOKENS)
        if self.previous:
            request = SimpleNamespace(request_id=self.previous, num_tokens=TOKENS + 1)
            tokens, _ = self.side.matched(request, 0)
            self.side.allocated(request, [list(range(1, BLOCKS + 1))], tokens)
            self.side.finished(self.previous)
        self.previous = victim

    def _output(self, preempted: set[str] | None) -> Any:
        cached = SimpleNamespace(
            req_ids=self.decoding,
            new_block_ids=[None] * RUNNING,
            num_computed_tokens=[TOKENS - 1] * RUNNING,
            resumed_req_ids=set(),
        )
        return SimpleNamespace(
            preempted_req_ids=preempted,
            finished_req_ids=set(),
            num_scheduled_tokens=dict.fromkeys(self.decoding, 1),
            scheduled_new_reqs=[],
            scheduled_cached_reqs=cached,
        )

    def _report(self, done: int) -> None:
        report = WorkerReport(done, self.side.ledger.host.total)
        self.side.worker_output(
            SimpleNamespace(kv_connector_worker_meta=report, invalid_block_ids=set(), finished_recving=None)
        )


def measure(rounds: int, steps: int, change: bool) -> list[dict[str, Any]]:
    """Return one row per number of parked requests: microseconds of a step, and the ratio to none parked."""
    engines = {parked: Engine(parked, change) for parked in PARKED}

    def run(engine: Engine) -> None:
        for _ in range(steps):
            engine.step()

    seconds = alternate({str(n): lambda e=e: run(e) for n, e in engines.items()}, rounds, time.process_time)  # type: ignore[misc]
    return [
        {
            "change": change,
            "parked": n,
            "microseconds": round(statistics.median(seconds[str(n)]) / steps * 1e6, 1),
            "ratio": round(ratio(seconds[str(n)], seconds["0"]), 3),
        }
        for n in PARKED
    ]


def main() -> None:
    given = parser(__doc__).parse_args()
    steps = 20 if given.smoke else 500
    rows = [row for change in (False, True) for row in measure(1 if given.smoke else given.rounds, steps, change)]
    for row in rows:
        print(
            f"change={row['change']!s:5}  parked {row['parked']:6}  {row['microseconds']:7.1f} µs  ×{row['ratio']:.2f}"
        )
    worst = max(row["ratio"] for row in rows)
    finish("scheduler_steps", rows, given, [f"most parked against none: ×{worst:.2f} (goal: flat)"])


if __name__ == "__main__":
    main()
