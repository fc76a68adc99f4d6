"""A fix of families PD0 and PD1 removes its finding, and brings no new error.

PD001's fixes come from the JSON reader and are tested with it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pd_launch.launcher.check import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.finding import RANK, Edit, Finding
from pd_launch.schemas.values import SourceFile

HERE = Path(__file__).parent
FILES = sorted(
    path
    for path in HERE.glob("PD[01]*/*.fires.*")
    if path.is_file() and path.suffix != ".json" and path.parent.name != "PD001"
)


def _target(text: str) -> str | None:
    words = text.partition("pd-test:")[2].split("\n")[0].split()
    return next((word[7:] for word in words if word.startswith("target=")), None)


def _findings(name: str, text: str, target: str | None) -> list[Finding]:
    return check(read_texts({name: text}, target=target))


def _apply(text: str, edits: list[Edit]) -> str:
    source = SourceFile("file", text)
    for edit in sorted(edits, key=lambda e: (e.line, e.column), reverse=True):
        start, end = source.offset(edit.line, edit.column), source.offset(edit.end_line, edit.end_column)
        text = text[:start] + edit.text + text[end:]
    return text


def _errors(findings: list[Finding]) -> set[str]:
    return {f.code for f in findings if RANK[f.severity] == RANK["error"]}


def _fixable() -> list[tuple[Path, int]]:
    found = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        own = [f for f in _findings(path.name, text, _target(text)) if f.code == path.parent.name]
        found += [(path, index) for index, finding in enumerate(own) if finding.fix]
    return found


FIXABLE = _fixable()


def test_rules_with_fixes() -> None:
    assert {path.parent.name for path, _ in FIXABLE} >= {"PD006", "PD007", "PD009", "PD012", "PD101", "PD103"}


@pytest.mark.parametrize(("path", "index"), FIXABLE, ids=[f"{p.parent.name}/{p.name}-{i}" for p, i in FIXABLE])
def test_fix_removes_the_finding(path: Path, index: int) -> None:
    text = path.read_text(encoding="utf-8")
    target = _target(text)
    before = _findings(path.name, text, target)
    finding = [f for f in before if f.code == path.parent.name][index]
    assert finding.fix is not None
    after = _findings(path.name, _apply(text, finding.fix.edits), target)
    assert (finding.code, finding.message) not in {(f.code, f.message) for f in after}
    assert _errors(after) <= _errors(before), _apply(text, finding.fix.edits)
