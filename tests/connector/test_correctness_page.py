"""docs/correctness.md is whole: every mode has a row for each release, each row is a pass, each named test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.engine.modes import ALONE, FURTHER, MODES, NOT_SERVED
from tests.engine.record import ALONE as ONE_REQUEST
from tests.engine.record import FURTHER as MORE
from tests.engine.record import PAGE, RELEASES, section

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("release", RELEASES)
def test_every_mode_has_a_row_that_passes(release: str) -> None:
    rows = {cells[0]: cells[1:] for cells in section(PAGE.read_text(encoding="utf-8"), release)}
    assert rows.keys() == MODES.keys()
    for name, (preempted, restored, recomputed, identical, reversed_, late) in rows.items():
        assert int(preempted) >= 3 and int(restored) >= 3, name
        assert recomputed == "0", name
        assert identical == "yes", name
        assert (reversed_, late) == ("differs", "differs"), name


@pytest.mark.parametrize("release", RELEASES)
def test_every_model_alone_has_a_row_that_passes(release: str) -> None:
    rows = {cells[0]: cells[1:] for cells in section(PAGE.read_text(encoding="utf-8"), release + ONE_REQUEST)}
    assert rows.keys() == ALONE.keys() - NOT_SERVED.get(release, {}).keys()
    for name, cells in rows.items():
        assert cells == ["4", "4", "0", "yes", "differs"], name


@pytest.mark.parametrize("release", [*RELEASES, "0.33.0"])
def test_every_row_of_further_models_passes(release: str) -> None:
    rows = {cells[0]: cells[1:] for cells in section(PAGE.read_text(encoding="utf-8"), release + MORE)}
    assert rows.keys() <= FURTHER.keys()
    for name, cells in rows.items():
        assert cells == ["4", "4", "0", "yes", "differs"], name


def test_the_tests_that_the_page_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) >= 20
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}, name
