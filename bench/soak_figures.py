"""What a soak counts, how long it really ran, and how memory went."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pd_launch.schemas.offload.reasons import of_kind

LONGEST_GAP = 5.0  # seconds between two looks at the clock; more than that and somebody had stopped this process
LONGEST_GROWTH = (
    24 << 20
)  # bytes by which a round's memory may grow after its warm-up: pools of the allocator, not leaks
WARM_UP = 0.25  # of a round
PREFIX = "fallback."


class Clock:
    """Seconds that this process ran, without those for which it was stopped (SIGSTOP)."""

    def __init__(self) -> None:
        self._seen = time.monotonic()
        self.seconds = 0.0

    def look(self) -> float:
        """Return the seconds since it was made; to be called every few seconds at least."""
        now = time.monotonic()
        self.seconds += min(now - self._seen, LONGEST_GAP)
        self._seen = now
        return self.seconds


@dataclass
class Figures:
    """What was seen in one round, or in all of them together."""

    seconds: float = 0.0
    rounds: int = 0
    answered: int = 0
    aborted: int = 0
    pauses: int = 0
    resets: int = 0  # those that vLLM carried out
    resets_refused: int = 0
    different: int = 0
    preempted: int = 0
    parked: int = 0
    restored: int = 0
    steps: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    uncounted_preemptions: int = 0
    uncounted_copies: int = 0
    held_host_blocks: int = 0
    held_device_blocks: int = 0
    remembered: int = 0  # requests, tables and host blocks that the connector's books still name when nothing runs
    memory_growth: int = 0  # bytes after the warm-up, of the worst round
    memory_slope: float = 0.0  # KiB a minute after the warm-up, of the worst round
    descriptor_growth: int = 0
    errors: list[str] = field(default_factory=list)

    def balance(self) -> None:
        """Work out which preemptions and which copies no count tells of."""
        self.uncounted_preemptions = self.preempted - self.parked - int(of_kind("unsaved", self.reasons))
        gone = self.restored + of_kind("lost", self.reasons) + of_kind("unneeded", self.reasons)
        self.uncounted_copies = self.parked - int(gone)

    def faults(self) -> list[str]:
        """Return what is wrong, in words; nothing where the soak passed."""
        out = list(self.errors)
        must_be_zero = ("different", "uncounted_preemptions", "uncounted_copies")
        must_be_zero += ("held_host_blocks", "held_device_blocks", "remembered")
        out += [f"{name.replace('_', ' ')}: {getattr(self, name)}" for name in must_be_zero if getattr(self, name)]
        if self.descriptor_growth > 0:
            out.append(f"file descriptors more: {self.descriptor_growth}")
        if self.memory_growth > LONGEST_GROWTH:
            out.append(f"memory: {self.memory_growth / 2**20:.0f} MiB more, {self.memory_slope:.0f} KiB a minute")
        return out

    def add(self, other: Figures) -> None:
        """Take in another round: sums, except for memory and file descriptors, where the worst round counts."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, _together(each.name, mine, theirs))


def _together(name: str, mine: Any, theirs: Any) -> Any:
    if name in ("memory_growth", "memory_slope", "descriptor_growth"):
        return max(mine, theirs)
    if isinstance(mine, dict):
        return {key: mine.get(key, 0) + theirs.get(key, 0) for key in sorted(mine.keys() | theirs.keys())}
    return mine + theirs


def reasons_of(counts: Mapping[str, float]) -> dict[str, int]:
    """Return reason → how often, of the connector's own counts."""
    return {name.removeprefix(PREFIX): int(n) for name, n in counts.items() if name.startswith(PREFIX)}


def resident(processes: Sequence[int]) -> int:
    """Return the resident bytes of processes; one that has ended has none."""
    pages = 0
    for pid in processes:
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors(processes: Sequence[int]) -> int:
    """Return how many file descriptors processes have open."""
    count = 0
    for pid in processes:
        try:
            count += len(list(Path(f"/proc/{pid}/fd").iterdir()))
        except OSError:
            continue
    return count


class Memory:
    """Samples of the resident bytes of some processes, and of their file descriptors after the warm-up and now."""

    EVERY = 2.0  # seconds

    def __init__(self, processes: Sequence[int], seconds: float) -> None:
        self._processes = processes
        self._from = WARM_UP * seconds
        self._samples: list[tuple[float, int]] = []
        self._files = 0

    def look(self, at: float) -> None:
        """Take a sample, if one is due."""
        if at < self._from or (self._samples and at < self._samples[-1][0] + self.EVERY):
            return
        if not self._samples:
            self._files = descriptors(self._processes)
        self._samples.append((at, resident(self._processes)))

    def end(self, figures: Figures) -> None:
        """Write growth and slope down. Nothing may be under way any more: connections are file descriptors."""
        if not self._samples:
            return
        print("resident, MiB:", *(size >> 20 for _, size in self._samples[::5]), flush=True)
        figures.memory_growth = resident(self._processes) - self._samples[0][1]
        figures.memory_slope = slope(self._samples) * 60 / 1024
        figures.descriptor_growth = descriptors(self._processes) - self._files


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line of least squares through (x, y); 0 where there are no two different x."""
    if not samples:
        return 0.0
    middle = sum(x for x, _ in samples) / len(samples)
    height = sum(y for _, y in samples) / len(samples)
    width = sum((x - middle) ** 2 for x, _ in samples)
    return sum((x - middle) * (y - height) for x, y in samples) / width if width else 0.0
