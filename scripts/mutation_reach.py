"""Which test reaches which line of what scripts/mutate.py changes: a plugin for pytest, which needs coverage.

`PD_REACH=FILE python -m pytest -p mutation_reach ...` writes coverage's data into FILE, with a context for each
test, named by its node, and next to it FILE.json: the seconds of each test, null if it did not pass. Processes that a
test starts are not followed: what only they reach counts as reached by nothing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).resolve().parent.parent
PLACES = (
    "connector",
    "schemas/offload",
    "schemas/memory",
    "launcher/rules",
    "launcher/check",
    "launcher/upgrade",
    "launcher/simulate",
)
"""The folders whose lines are recorded."""

_FILE = os.environ["PD_REACH"]
_COVERAGE = coverage.Coverage(data_file=_FILE, include=[f"{ROOT}/{place}/*" for place in PLACES], config_file=False)
_SECONDS: dict[str, float] = {}
_FAILED: set[str] = set()
_COVERAGE.start()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    """Give what runs from here on to this test."""
    _COVERAGE.switch_context(nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test took; one that did not pass can tell nothing about a mutant."""
    _SECONDS[report.nodeid] = _SECONDS.get(report.nodeid, 0.0) + report.duration
    if not report.passed:
        _FAILED.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write both files."""
    _COVERAGE.stop()
    _COVERAGE.save()
    taken = {node: None if node in _FAILED else round(seconds, 4) for node, seconds in _SECONDS.items()}
    Path(f"{_FILE}.json").write_text(json.dumps(taken), encoding="utf-8")
