"""What all measurements share: alternating runs, medians, the machine in words, memory checked before it is taken."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

Clock = Callable[[], float]
RESERVE = 2 << 30  # left to others


def parser(text: str | None) -> argparse.ArgumentParser:
    """Return the options that every measurement has."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=int, default=7, help="alternating runs of each (default: 7)")
    made.add_argument("--json", type=Path, help="write all figures there")
    made.add_argument(
        "--smoke", action="store_true", help="a few seconds, to see that it runs; the figures mean nothing"
    )
    return made


def alternate(
    runs: Mapping[str, Callable[[], object]], rounds: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Call each in turn, ``rounds`` times, after one call that does not count; return the seconds of each."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = clock()
            run()
            seconds[name].append(clock() - begin)
    return seconds


def ratio(slower: list[float], faster: list[float]) -> float:
    """Return the median over rounds of ``slower / faster``; pairs of one round, so that load of others cancels."""
    return statistics.median(a / b for a, b in zip(slower, faster, strict=True))


def machine() -> dict[str, Any]:
    """Describe the machine without naming it."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "load": [round(value, 1) for value in os.getloadavg()],
        "python": platform.python_version(),
    }


def refuse_beyond(size: int, limit: int) -> str | None:
    """Return why ``size`` bytes are not taken, None where they may be."""
    available = psutil.virtual_memory().available - RESERVE
    if size > limit:
        return f"{size / 2**30:.1f} GiB is more than the limit of {limit / 2**30:.1f} GiB"
    if size > available:
        return f"{size / 2**30:.1f} GiB is more than the {max(0, available) / 2**30:.1f} GiB that are free"
    return None


def finish(name: str, rows: list[dict[str, Any]], given: argparse.Namespace, goals: list[str]) -> None:
    """Print the goals' lines and write the figures."""
    for line in goals:
        print(line)
    if given.json:
        given.json.write_text(json.dumps({"bench": name, "machine": machine(), "rows": rows}, indent=1) + "\n")
