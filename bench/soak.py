"""Drive one real engine for minutes under heavy preemption, with random arrivals, aborts and priorities.

    python bench/soak.py --minutes 10

Every request's tokens are compared with those of an engine that never preempts. Leaks show in three places: host blocks
that are still held when nothing runs, memory and file descriptors that grow after the first minute. Exit status 1 if an
answer differs or anything leaks.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.engine.harness import (  # noqa: E402
    Counters,
    Mode,
    at_rest,
    ledger,
    make_engine,
    prepare,
    prompts,
    run,
    scheduler_side,
)

PROMPTS = 64
OUTPUT = 150
WAITING = 14  # as many requests are kept under way
ABORTED = 0.12
LONGEST_GROWTH = 24 << 20  # bytes by which memory may grow after the warm-up: pools of the allocator, not leaks
WARM_UP = 0.25  # of the time


@dataclass
class Figures:
    """What was seen."""

    minutes: float = 0.0
    answered: int = 0
    aborted: int = 0
    different: int = 0
    preempted: int = 0
    parked: int = 0
    restored: int = 0
    fallen_back: int = 0
    recomputed_positions: int = 0
    steps: int = 0
    memory_growth: int = 0
    descriptor_growth: int = 0
    blocks_held: int = 0
    copies_held: int = 0
    tables_held: int = 0
    remembered: int = 0  # requests that the scheduler side still knows, and host blocks that its books still name

    def passed(self) -> bool:
        """Whether every answer was the same and nothing leaked."""
        held = self.blocks_held + self.copies_held + self.tables_held + self.remembered
        return not (self.different or held or self.descriptor_growth > 0) and self.memory_growth < LONGEST_GROWTH


def resident() -> int:
    """Return this process's resident bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    """Return how many file descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


class Soak:
    """One engine and its random traffic."""

    def __init__(self, mode: Mode, seconds: float, seed: int, expected: list[list[int]]) -> None:
        self.mode, self.seconds, self.expected = mode, seconds, expected
        self.draw = random.Random(seed)
        self.work = prompts(mode)
        self.counters = Counters()
        self.counters.install()
        self.llm = make_engine(mode)
        self.engine = self.llm.llm_engine
        self.figures = Figures()
        self.under_way: dict[str, tuple[int, int]] = {}  # name → prompt, tokens to generate
        self.added = 0
        self.sums: dict[str, float] = {}
        self._count()

    def _count(self) -> None:
        side = scheduler_side(self.llm)
        stats = side.stats

        def counted() -> Any:
            taken = stats()
            for name, value in (taken.data["counts"] if taken else {}).items():
                self.sums[name] = self.sums.get(name, 0) + value
            return taken

        side.stats = counted

    def add(self) -> None:
        """Add one random request."""
        from vllm import SamplingParams

        prompt, tokens = self.draw.randrange(PROMPTS), self.draw.choice([20, 80, OUTPUT, OUTPUT])
        name = f"soak-{self.added}"
        self.added += 1
        sampling = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False)
        self.engine.add_request(name, self.work[prompt], sampling, priority=self.draw.randrange(4))
        self.under_way[name] = (prompt, tokens)

    def step(self) -> None:
        """Run one step and compare what ended."""
        for answer in self.engine.step():
            if not answer.finished or answer.request_id not in self.under_way:
                continue
            prompt, tokens = self.under_way.pop(answer.request_id)
            self.figures.answered += 1
            self.figures.different += list(answer.outputs[0].token_ids) != self.expected[prompt][:tokens]

    def abort(self) -> None:
        """Abort one random request."""
        name = self.draw.choice(list(self.under_way))
        self.engine.abort_request([name])
        del self.under_way[name]
        self.figures.aborted += 1

    def drive(self) -> Figures:
        """Run for the time, then until nothing is under way."""
        begin = time.monotonic()
        memory = files = 0
        while (gone := time.monotonic() - begin) < self.seconds or self.under_way:
            if not memory and gone > WARM_UP * self.seconds:
                memory, files = resident(), descriptors()
            if gone < self.seconds and len(self.under_way) < WAITING and self.draw.random() < 0.5:
                self.add()
            if self.under_way and self.draw.random() < ABORTED / OUTPUT * 4:
                self.abort()
            if self.under_way:
                self.step()
        self._rest()
        self.figures.minutes = round((time.monotonic() - begin) / 60, 2)
        self.figures.memory_growth = resident() - memory
        self.figures.descriptor_growth = descriptors() - files
        return self.figures

    def _rest(self) -> None:
        """One more request takes the last reports in; then nothing may be held."""
        self.add()
        while self.under_way:
            self.step()
        self.engine.step()
        held = at_rest(self.llm) or {}
        figures, values = self.figures, self.counters.values
        figures.blocks_held, figures.copies_held = held["taken"], held["copies"]
        book, side = ledger(self.llm), scheduler_side(self.llm)
        figures.tables_held = len(book.tables)
        kept: list[Any] = [side._requests, side._beside, book._saving, book._restored]
        kept += [book.shelf._touched, book.shelf._references, book.shelf._shared, book.shelf._keys]
        figures.remembered = sum(map(len, kept))
        figures.preempted, figures.steps = values["preempted"], values["steps"]
        figures.recomputed_positions = values["again"]
        figures.parked, figures.restored = (int(self.sums.get(n, 0)) for n in ("parked", "restored"))
        figures.fallen_back = int(sum(v for n, v in self.sums.items() if n.startswith("fallback.")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--host-blocks", type=int, default=40, help="few: some victims fit in part only (default: 40)")
    parser.add_argument("--asynchronous", action="store_true", help="async scheduling and asynchronous restores")
    given = parser.parse_args()
    prepare()
    common: dict[str, Any] = {"prompt": 60, "longer": 0, "requests": PROMPTS, "output": OUTPUT}
    expected = run(Mode(connector=None, blocks=600, **common))["tokens"]
    extra = {"async_restore_bytes": 0} if given.asynchronous else {}
    mode = Mode(
        blocks=22,
        host_blocks=given.host_blocks,
        priority=True,
        prefix_caching=True,
        asynchronous=given.asynchronous,
        extra={"enable_offload_prefix_caching": True, **extra},
        **common,
    )
    figures = Soak(mode, given.minutes * 60, given.seed, expected).drive()
    print("SOAK", json.dumps(asdict(figures) | {"passed": figures.passed()}), flush=True)
    return 0 if figures.passed() else 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # without the seconds that an engine in this process takes to end
