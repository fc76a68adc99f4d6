"""Processor time of checking every row of tests/cases in one process, start-up apart. The goal is 3 seconds.

python bench/cases.py
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pd_launch.launcher.check.run import check
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.sources.read import read_texts

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases"


def rows(*names: str) -> list[dict[str, Any]]:
    """Return the rows of these files."""
    return [json.loads(line) for name in names for line in (CASES / name).read_text("utf-8").splitlines()]


def seconds(cases: list[dict[str, Any]]) -> list[float]:
    """Return the processor time that each row takes."""
    took = []
    for row in cases:
        begun = time.process_time()
        check(read_texts(row["files"], row["target"], row["host"]))
        took.append(time.process_time() - begun)
    return took


def main() -> None:
    """Print the sum, the median and the slowest row, for the shared sample and for all rows."""
    all_rules()
    seconds(rows("good.jsonl")[:1])  # what is read once: rules, tables, the shell's parser
    for names in (("cases.jsonl", "good.jsonl"), ("cases.jsonl", "good.jsonl", "own.jsonl")):
        cases = rows(*names)
        took = seconds(cases)
        slowest = cases[took.index(max(took))]["id"]
        median = sorted(took)[len(took) // 2]
        print(
            f"{len(cases)} rows: {sum(took):.2f} s of processor time, median {median * 1000:.1f} ms, "
            f"slowest {max(took) * 1000:.0f} ms ({slowest})"
        )


if __name__ == "__main__":
    main()
