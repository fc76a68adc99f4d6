"""A fix of families PD2 and PD3 removes its finding, keeps the rest of the text, and breaks nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pd_launch.launcher.check import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.finding import Edit, Finding
from pd_launch.schemas.values import SourceFile

HERE = Path(__file__).parent
FILES = sorted(path for path in HERE.glob("PD[23]*/*.fires.*") if path.is_file() and path.suffix != ".json")


def _target(text: str) -> str | None:
    match = re.search(r"pd-test:.*?target=(\S+)", text)
    return match[1] if match else None


def _findings(name: str, text: str) -> list[Finding]:
    return check(read_texts({name: text}, target=_target(text)))


def _apply(text: str, edits: list[Edit]) -> str:
    source = SourceFile("f", text)
    spans = sorted(
        ((source.offset(e.line, e.column), source.offset(e.end_line, e.end_column), e.text) for e in edits),
        reverse=True,
    )
    for start, end, new in spans:
        text = text[:start] + new + text[end:]
    return text


FIXABLE = [
    path for path in FILES if any(f.fix and f.code == path.parent.name for f in _findings(path.name, path.read_text()))
]


def test_there_are_fixes() -> None:
    assert {"PD203", "PD204", "PD207", "PD223", "PD301", "PD303", "PD306"} <= {path.parent.name for path in FIXABLE}


@pytest.mark.parametrize("path", FIXABLE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fix_removes_the_finding(path: Path) -> None:
    text, code = path.read_text(), path.parent.name
    before = _findings(path.name, text)
    finding = next(f for f in before if f.code == code and f.fix)
    assert finding.fix is not None
    fixed = _apply(text, finding.fix.edits)
    assert fixed != text
    after = _findings(path.name, fixed)
    assert sum(f.code == code for f in after) < sum(f.code == code for f in before), fixed
    errors = {f.code for f in after if f.severity == "error"} - {f.code for f in before}
    assert not errors, f"{errors} in\n{fixed}"
