"""The rows of docs/correctness.md: written by the engine tests, checked by a test that needs no engine.

``PD_LAUNCH_RECORD=1 pytest -m engine tests/engine`` replaces the rows of the installed release.
"""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "correctness.md"
RELEASES = ("0.32.0", "0.27.1")
HEAD = (
    "| mode | preempted | restored | recomputed | identical | blocks reversed | saved too late |\n"
    "|---|---|---|---|---|---|---|\n"
)
ALONE = ", one request alone"  # behind a release: the rows of tests/engine/test_alone.py
FURTHER = ", further models"  # the same of tests/engine/modes.py's FURTHER
HEAD_ALONE = (
    "| model | preempted | restored | recomputed | identical | loads that do nothing |\n|---|---|---|---|---|---|\n"
)


def release() -> str:
    """Return the installed vLLM release."""
    return version("vllm").partition("+")[0]


def begin(name: str) -> str:
    return f"<!-- rows of {name} -->\n"


def end(name: str) -> str:
    return f"<!-- end of {name} -->\n"


def section(text: str, name: str) -> list[list[str]]:
    """Return the rows of a release as lists of cells."""
    found = re.search(re.escape(begin(name)) + "(.*?)" + re.escape(end(name)), text, re.DOTALL)
    lines = found.group(1).splitlines()[2:] if found else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def put(name: str, row: list[str]) -> None:
    """Add or replace one row of a release in the page, if recording is on."""
    if not os.environ.get("PD_LAUNCH_RECORD"):
        return
    text = PAGE.read_text(encoding="utf-8")
    rows = {cells[0]: cells for cells in section(text, name)} | {row[0]: row}
    head = HEAD_ALONE if name.endswith((ALONE, FURTHER)) else HEAD
    body = head + "".join("| " + " | ".join(cells) + " |\n" for cells in rows.values())
    pattern = re.escape(begin(name)) + ".*?" + re.escape(end(name))
    PAGE.write_text(re.sub(pattern, begin(name) + body + end(name), text, flags=re.DOTALL), encoding="utf-8")
