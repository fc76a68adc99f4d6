"""Every real configuration gets the findings it must get, and no error that it does not deserve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.severity import RANK
from pd_launch.schemas.finding import Finding

HERE = Path(__file__).parent
OWN = "written for this project"
ROWS = [
    json.loads(line)
    for name in ("cases", "good", "own", "forms", "more")
    for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
]


def findings(row: dict[str, Any]) -> list[Finding]:
    return check(read_texts(row["files"], row["target"], row["host"]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_gets_what_it_expects_and_no_other_error(row: dict[str, Any]) -> None:
    found = findings(row)
    highest: dict[str, int] = {}
    for finding in found:
        highest[finding.code] = max(highest.get(finding.code, -1), RANK[finding.severity])
    missed = [e for e in row["expect"] if highest.get(e["code"], -1) < RANK[e["severity"]]]
    assert not missed, f"missed {missed}; found {sorted(highest)}"
    named = {e["code"] for e in row["expect"]} | set(row["allow"])
    barred = set(row["forbid"])
    errors = [
        f"{finding.code}: {finding.message}"
        for finding in found
        if finding.severity == "error" and (finding.code not in named or finding.code in barred or "*" in barred)
    ]
    assert not errors


@pytest.mark.parametrize("row", [row for row in ROWS if row["source"] == OWN], ids=lambda row: row["id"])
def test_a_row_of_ours_gets_no_warning_that_it_does_not_name(row: dict[str, Any]) -> None:
    named = {e["code"] for e in row["expect"]} | set(row["allow"])
    found = findings(row)
    assert not [f"{f.code}: {f.message}" for f in found if f.severity != "info" and f.code not in named]
    assert not {f.code for f in found} & set(row["forbid"]), "a neighbour that must be silent is not"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_every_place_lies_in_the_input(row: dict[str, Any]) -> None:
    for finding in findings(row):
        lines = row["files"][finding.file].split("\n")
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1
