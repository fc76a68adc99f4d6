"""What an unknown release costs: ``check`` without a target beside ``check --target``, whole processes in alternation.

    python bench/unknown.py --runs 15

The goals are ratios of at most 1.5 for a file without findings and 3 for one with 50 that depend on the release.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ENGINE = (
    "vllm serve /models/m{0} --port {1} --enable-batch-sharded-sampling "
    '--kv-transfer-config \'{{"kv_connector": "NoSuchConnector", "kv_role": "kv_consumer"}}\'\n'
)
FILES = {
    "no finding": "vllm serve /models/m --max-num-seqs 64 --tensor-parallel-size 8\n",
    "50 findings": "".join(ENGINE.format(number, 8000 + number) for number in range(25)),
}
TARGET = ("--target", "vllm==0.28.0")


def processor_seconds(*words: str) -> float:
    """Run ``pd-launch check`` and return its user and system time together."""
    command = [sys.executable, "-m", "pd_launch", "check", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(path: str, runs: int) -> tuple[float, list[float]]:
    """Return the median with a target in seconds, and the quartiles of the ratios without one."""
    for words in ((path,), (path, *TARGET)):
        processor_seconds(*words)
    pairs = [(processor_seconds(path), processor_seconds(path, *TARGET)) for _ in range(runs)]
    return statistics.median(with_ for _, with_ in pairs), statistics.quantiles((a / b for a, b in pairs), n=4)


def main() -> None:
    """Print one line a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            path = Path(folder) / "engines.sh"
            path.write_text(text)
            seconds, (low, middle, high) = measure(str(path), runs)
            print(f"{name}: {1000 * seconds:.0f} ms with a target, × {middle:.2f} without ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
