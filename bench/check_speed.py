"""Processor time of ``pd-launch`` beside that of a Python that only imports its libraries.

Whole processes, user and system time together, alternating, medians. The goal is a ratio of at most 3.

    python bench/check_speed.py --runs 15
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


def measure(runs: int, words: Sequence[str] = ROWS["check PROFILE"]) -> tuple[float, float]:
    """Return the medians, in seconds, of a command and of the bare imports, over ``runs`` alternating runs of each."""
    ours = (sys.executable, "-m", "pd_launch", *words)
    for command in (ours, BASE):  # compiled files and the page cache count for neither
        processor_seconds(command)
    pairs = [(processor_seconds(ours), processor_seconds(BASE)) for _ in range(runs)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11, help="runs of each (default: 11)")
    given = parser.parse_args()
    for name, words in ROWS.items():
        ours, base = measure(given.runs, words)
        print(f"{name:13} {1000 * ours:4.0f} ms, imports alone {1000 * base:4.0f} ms, ratio {ours / base:.2f}")


if __name__ == "__main__":
    main()
