"""Processor time of ``pd-launch`` beside that of a Python that only imports its libraries.

Whole processes, user and system time together, in alternation. A ratio is the median of the ratios of neighbouring
runs, with the lowest and the highest. The goal is at most 3.

    python bench/check_speed.py --runs 20
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = {
    "check PROFILE": ("check", str(ROOT / "profiles" / "a3-dp2tp8.yaml"), "--target", "0.30.0rc2"),
    "check SCRIPT": ("check", str(ROOT / "docs" / "examples" / "decode.sh"), "--target", "0.30.0rc2", "--exit-zero"),
    "explain": ("explain", "PD301"),
    "--version": ("--version",),
}
BASE = (sys.executable, "-c", "import click, yaml, pydantic")


def processor_seconds(command: Sequence[str]) -> float:
    """Run a command to its end and return its user and system time together.

    Raises:
        RuntimeError: it failed.
    """
    # An installed package is compiled once; here that must not be forbidden, or each run compiles it again.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(runs: int, words: Sequence[str] = ROWS["check PROFILE"]) -> list[tuple[float, float]]:
    """Return the seconds of a command and of the bare imports, for each of ``runs`` alternating pairs."""
    ours = (sys.executable, "-m", "pd_launch", *words)
    for command in (ours, BASE):  # compiled files and the page cache count for neither
        processor_seconds(command)
    return [(processor_seconds(ours), processor_seconds(BASE)) for _ in range(runs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="runs of each (default: 20)")
    given = parser.parse_args()
    print(f"load of the machine: {os.getloadavg()[0]:.1f}, processors: {os.cpu_count()}")
    for name, words in ROWS.items():
        pairs = measure(given.runs, words)
        ours, base = (1000 * statistics.median(column) for column in zip(*pairs, strict=True))
        ratios = [command / imports for command, imports in pairs]
        print(
            f"{name:13} {ours:4.0f} ms, imports alone {base:4.0f} ms, ratio {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
