"""Processor time of ``pd-launch check --target PATH`` beside a release of the tables: first and later readings.

Whole processes, user and system time together, in alternation, medians. "First" is with an empty cache of builds, and
"later" with what the first one left there. Paths are folders, wheels or source packages.

    python bench/builds.py .venv vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl vllm-0.33.0.tar.gz
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from linters import OURS, SCRIPT, processor_seconds

TABLE = "vllm==0.32.0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="+")
    parser.add_argument("--runs", type=int, default=15, help="later runs of each (default: 15)")
    options = parser.parse_args()
    commands = {target: [*OURS, "check", str(SCRIPT), "--target", target] for target in (TABLE, *options.path)}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PD_LAUNCH_CACHE"] = cache
        first = {}
        for name, command in commands.items():
            times = []
            for _ in range(3):
                shutil.rmtree(Path(cache) / "builds", ignore_errors=True)
                times.append(processor_seconds(command))
            first[name] = statistics.median(times)
        for command in commands.values():
            processor_seconds(command)
        rounds = [{name: processor_seconds(command) for name, command in commands.items()} for _ in range(options.runs)]
    print("| target | first, s | later, ms | more than a release, ms |\n|---|---|---|---|")
    for name in commands:
        later = statistics.median(1000 * one[name] for one in rounds)
        more = statistics.median(1000 * (one[name] - one[TABLE]) for one in rounds)
        print(f"| {Path(name).name} | {first[name]:.2f} | {later:.0f} | {more:.0f} |")


if __name__ == "__main__":
    main()
