"""All that a rule says of its fixtures: place, severity, both languages, related places and fixes, word for word.

It is recorded in ``said.json``: a number, a place or an order that changes unnoticed would mislead people. With
``PD_TEST_RECORD=1`` (and ``-n0``), ``tests/rules/test_fixtures.py`` writes it: read the difference before a commit.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

from pd_launch.launcher.check.run import Checked
from pd_launch.schemas.finding import Finding

RECORD = Path(__file__).with_name("said.json")


def said_of(code: str, checked: Checked) -> list[str]:
    """What the rule ``code`` says, one line for each part, the findings in the order of the report."""
    found: list[str] = []
    chinese = [finding for finding in checked.rendered("zh") if finding.code == code]
    for english, other in zip([f for f in checked.findings if f.code == code], chinese, strict=True):
        place = f"{english.file}:{english.line}:{english.column}-{english.end_line}:{english.end_column}"
        found.append(f"{place} {english.severity} ({english.confidence})")
        found += [*_texts(english), *_places(english), *_texts(other)]
    return found


def _texts(finding: Finding) -> list[str]:
    texts = [finding.message, finding.help, *(related.message for related in finding.related)]
    return [f"  {text}" for text in (*texts, *([finding.fix.message] if finding.fix is not None else ()))]


def _places(finding: Finding) -> list[str]:
    found = [f"  see {one.file}:{one.line}:{one.column}" for one in finding.related]
    if finding.fix is not None:
        found.append("  a safe fix" if finding.fix.safe else "  an unsafe fix")
        for one in finding.fix.edits:
            found.append(f"  edit {one.file}:{one.line}:{one.column}-{one.end_line}:{one.end_column} {one.text!r}")
    return found


@cache
def recorded() -> dict[str, list[str]]:
    """What is recorded of every fixture, by its name."""
    found: dict[str, list[str]] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return found


def compare(name: str, said: list[str]) -> None:
    """Compare what is said of a fixture with the record, or write it down."""
    if os.environ.get("PD_TEST_RECORD"):
        recorded()[name] = said
        there = {name: lines for name, lines in sorted(recorded().items()) if (RECORD.parent / name).exists()}
        RECORD.write_text(json.dumps(there, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    assert said == recorded().get(name), f"{name}: PD_TEST_RECORD=1 (with -n0) writes down what is said now"
