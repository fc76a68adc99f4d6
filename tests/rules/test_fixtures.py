"""Every rule fires on the inputs it is for, and is silent on their nearest correct neighbours.

A fixture is a file ``CODE/CLAUSE.fires.EXT`` or ``CODE/CLAUSE.silent.EXT``, or a folder of that name (without EXT)
whose files form one deployment. A line ``pd-test: target=X severity=S line=N`` anywhere in a file fixes the release,
the severity that must be reported, and the line of that file where the finding must be. Host facts are in
``host.json`` in the folder, or in ``CLAUSE.fires.host.json`` beside the file. What is said is recorded (``said.py``).
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.check.run import Checked, run_checks
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.finding import Finding
from tests.chinese_texts import half_width, untranslated
from tests.rules.said import compare, recorded, said_of

HERE = Path(__file__).parent
_CODE = re.compile(r"PD\d{3}")
_DIRECTIVE = re.compile(r"pd-test:(.*)")
_KINDS = ("fires", "silent")


@dataclass
class Fixture:
    path: Path
    code: str
    kind: str
    files: dict[str, str]
    host: dict[str, Any] | None = None
    target: str | None = None
    severity: str | None = None
    places: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, text in self.files.items():
            for match in _DIRECTIVE.finditer(text):
                for word in match[1].split():
                    self._directive(name, *word.partition("=")[::2])

    def _directive(self, name: str, key: str, value: str) -> None:
        if key in ("target", "severity") and value:
            assert getattr(self, key) in (None, value), f"{self.path}: two values for {key}"
            setattr(self, key, value)
        elif key == "line" and value.isdigit():
            self.places.append((name, int(value)))
        elif value:
            raise AssertionError(f"{self.path}: {key}={value} is no directive")

    def check(self) -> Checked:
        return run_checks(read_texts(self.files, target=self.target, host=self.host))

    def __str__(self) -> str:
        return str(self.path.relative_to(HERE))


def _load(path: Path) -> Fixture:
    kind = path.name.split(".")[1]
    if path.is_dir():
        texts = {file.name: _text(file) for file in sorted(path.iterdir()) if file.is_file()}
        host = texts.pop("host.json", None)
    else:
        texts = {path.name: _text(path)}
        beside = path.with_name(f"{path.name.split('.')[0]}.{kind}.host.json")
        host = _text(beside) if beside.exists() else None
    return Fixture(path, path.parent.name, kind, texts, json.loads(host) if host else None)


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def _fixtures() -> list[Fixture]:
    paths = [
        path
        for folder in sorted(HERE.iterdir())
        if folder.is_dir() and _CODE.fullmatch(folder.name)
        for path in sorted(folder.iterdir())
        if not path.name.endswith(".host.json")
    ]
    wrong = [str(path) for path in paths if path.name.count(".") == 0 or path.name.split(".")[1] not in _KINDS]
    assert not wrong, f"neither .fires nor .silent in the name: {wrong}"
    return [_load(path) for path in paths]


FIXTURES = _fixtures()
PARSERS_OWN = {"PD011"}
"""Rules that pass on what a parser says, which is in English."""
FIRES = [fixture for fixture in FIXTURES if fixture.kind == "fires"]
SILENT = [fixture for fixture in FIXTURES if fixture.kind == "silent"]


def _show(findings: list[Finding]) -> str:
    return "\n".join(f"{f.file}:{f.line}:{f.column} {f.code} {f.severity} {f.message}" for f in findings) or "nothing"


@pytest.mark.parametrize("code", list(all_rules()))
def test_rule_has_fixtures(code: str) -> None:
    kinds = {fixture.kind for fixture in FIXTURES if fixture.code == code}
    assert kinds == set(_KINDS), f"{code} needs tests/rules/{code}/*.fires.* and *.silent.*; found {sorted(kinds)}"


def test_fixtures_belong_to_rules() -> None:
    assert {fixture.code for fixture in FIXTURES} <= set(all_rules())
    assert recorded().keys() == {str(fixture) for fixture in FIRES}


@pytest.mark.parametrize("fixture", FIRES, ids=str)
def test_fires(fixture: Fixture) -> None:
    checked = fixture.check()
    own = [f for f in checked.findings if f.code == fixture.code]
    assert own, f"{fixture.code} is silent; reported:\n{_show(checked.findings)}"
    if fixture.severity:
        assert {f.severity for f in own} == {fixture.severity}, _show(own)
    for name, line in fixture.places:
        assert (name, line) in {(f.file, f.line) for f in own}, f"not in {name}, line {line}:\n{_show(own)}"
    compare(str(fixture), said_of(fixture.code, checked))
    assert_complete_in_both_languages(fixture, checked)


@pytest.mark.parametrize("fixture", SILENT, ids=str)
def test_silent(fixture: Fixture) -> None:
    checked = fixture.check()
    own = [f for f in checked.findings if f.code == fixture.code]
    assert not own, _show(own)
    assert_complete_in_both_languages(fixture, checked)


def assert_complete_in_both_languages(fixture: Fixture, checked: Checked) -> None:
    """The rules have run once; what they say is looked at in English and in Chinese."""
    chinese = checked.rendered("zh")
    said = {(f.code, f.file, f.line, f.column, f.message) for f in chinese}
    assert len(said) == len(chinese), f"two findings are one in Chinese:\n{_show(chinese)}"
    assert checked.rendered("en") == checked.findings
    for finding in [*checked.findings, *chinese]:
        assert finding.message and finding.why, finding
        assert 1 <= finding.line <= len(fixture.files[finding.file].splitlines() or [""]) + 1, finding
        json.dumps(asdict(finding), ensure_ascii=False).encode()
    for finding in chinese:
        for text in (finding.message, finding.help or "", finding.why):
            assert not half_width(text), finding
            assert finding.code in PARSERS_OWN or not untranslated(text), finding
