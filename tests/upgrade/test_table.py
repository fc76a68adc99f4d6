"""The curated table: every name that a release lost is decided, and each row says where that can be read."""

from __future__ import annotations

import os
import re
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

from pd_launch.launcher.upgrade.gone import Gone, gone_names
from pd_launch.schemas.core.target import Target, rows
from pd_launch.schemas.releases.vllm_tables import ascend_table, vllm_table

SECTIONS = ("flags", "fields", "env", "connectors", "options", "keywords", "modules", "additional")
ROWS = list(gone_names().values())


def _names(target: Target) -> set[tuple[str, str]]:
    table = ascend_table(target) if target.is_ascend else vllm_table(target)
    assert table is not None
    found = set()
    for section in SECTIONS:
        try:
            found |= {(section, name) for name in table.names(section)}
        except KeyError:
            continue
    return found


@pytest.mark.parametrize("ascend", [True, False], ids=["vllm-ascend", "vllm"])
def test_every_name_that_two_neighbouring_rows_lose_is_decided(ascend: bool) -> None:
    family = rows(ascend)
    undecided = []
    for old, new in pairwise(family):
        lost = sorted(_names(old) - _names(new))
        undecided += [f"{new}: {section} {name}" for section, name in lost if (section, name) not in gone_names()]
    assert not undecided, "decide in schemas/releases/gone.json what became of them"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section} {row.name}")
def test_a_row_is_whole(row: Gone) -> None:
    assert row.do.en and row.do.zh and row.source and row.last
    assert row.fate != "renamed" or row.to is not None or "…" in row.do.en or "each position" in row.do.en
    if row.to is not None and row.section != "values":
        section, name = row.to
        base = name.partition(".")[0] if section in ("flags", "additional") else name
        tables = [t for target in (*rows(True), *rows(False)) for t in (vllm_table(target), ascend_table(target)) if t]
        assert any(_has(table, section, base) for table in tables), f"no release has {section} {name}"


def _has(table: object, section: str, name: str) -> bool:
    try:
        return table.entry(section, name) is not None  # type: ignore[attr-defined]
    except KeyError:
        return False


CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pd-launch" / "releases"
_SOURCE = re.compile(r"(?P<project>vllm(?:-ascend)?) (?P<release>\S+) (?P<path>\S+):(?P<line>\d+)")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section} {row.name}")
def test_the_line_that_a_row_names_speaks_of_it(row: Gone) -> None:
    found = _SOURCE.fullmatch(row.source)
    if found is None:
        assert row.source.startswith("https://")
        return
    archive = CACHE / f"{found['project']}-{found['release']}.zip"
    if not archive.is_file():
        pytest.skip("its files are not in the cache")
    with zipfile.ZipFile(archive) as files:
        line = files.read(found["path"]).decode("utf-8").split("\n")[int(found["line"]) - 1]
    name = row.name.rpartition(".")[2].rpartition("=")[2]
    assert name in line or name.replace("-", "_") in line
