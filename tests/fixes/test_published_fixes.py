"""Every published fix of every twin of the rules' fixtures, applied as published: nothing is broken by it.

A run takes a sample of the twins, ``PD_TEST_SAMPLE=all`` all of them (several minutes), ``PD_TEST_SEED`` another
sample. Each twin is drawn by itself, so that a new fixture takes none out. Fixtures in their own form are all taken.
``PD_TEST_RULE=PD101`` takes all twins of one rule's fixtures, and no others.

``offered.json`` has for how many twins of each form their rule offers a fix, for the whole and for the usual sample.
These numbers may only rise; ``PD_TEST_RECORD=1`` writes them down, with ``PD_TEST_SAMPLE=all`` those of the whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fixture import Fixture, fixtures
from published import faults, findings, misread
from twins import FORMS, Twin, twin_of

from tests.sampling import SEED, WHOLE

RECORD = Path(__file__).with_name("offered.json")
USUAL_SEED = 1
RULE = os.environ.get("PD_TEST_RULE")
usual = (WHOLE or SEED == USUAL_SEED) and not RULE
SIZE = "whole" if WHOLE else "sample"
OFTEN, SELDOM = 0.12, 0.01
"""Shares of twins that are drawn: of rules that have fixes, and of others, whose twins may show another rule's."""
ARGUMENTS_OF = 10 if WHOLE else 20
"""Of so many twins one is run in bash also without a fix."""
MOST_SHOWN = 10


@dataclass
class Outcome:
    """What became of the twins of one form."""

    twins: int = 0
    fires: int = 0
    offered: int = 0
    edits: int = 0
    rules: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)

    def take(self, twin: Twin) -> None:
        """Check a twin and each of its fixes."""
        before = findings(twin.fixture, twin.files)
        own = [finding for finding in before if finding.code == twin.fixture.code]
        self.twins += 1
        self.fires += bool(own)
        self.offered += any(finding.fix is not None for finding in own)
        seen = set()
        for finding in before:
            published = json.dumps(asdict(finding.fix)) if finding.fix is not None else None
            if published is None or published in seen:
                continue
            seen.add(published)
            self.edits += 1
            self.rules.add(finding.code)
            wrong = list(faults(twin, before, finding))
            if wrong:
                place = f"{finding.file}:{finding.line}:{finding.column}"
                self.broken.append(f"{twin}: {finding.code} at {place}\n    {published}\n    " + "\n    ".join(wrong))


@cache
def _record() -> dict[str, Any]:
    return _read_record()


def _read_record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return {"whole": {}, "sample": {}, "rules": [], **found}


@cache
def _fixtures() -> tuple[Fixture, ...]:
    found = tuple(one for one in fixtures() if RULE in (None, one.code))
    assert found, f"PD_TEST_RULE={RULE}: tests/rules has no fixtures of it"
    return found


def _twins(form: str) -> Iterator[Twin]:
    """Iterate over the twins of one form that are drawn."""
    for fixture in _fixtures():
        share = OFTEN if fixture.code in _record()["rules"] else SELDOM
        drawn = Random(f"{SEED} {form} {fixture.code} {fixture.name}").random() < share
        twin = twin_of(fixture, form) if drawn or WHOLE or RULE or form == "itself" else None
        if twin is not None:
            yield twin


@pytest.mark.parametrize("form", FORMS)
def test_no_fix_breaks_a_twin(form: str) -> None:
    found = Outcome()
    for twin in _twins(form):
        found.take(twin)
        if twin.runs and found.twins % ARGUMENTS_OF == 1:
            found.broken += [f"{twin}, without a fix: {wrong}" for wrong in misread(twin, twin.files)]
    print(f"{form}: {found.offered} of {found.fires} twins with a fix, {found.edits} fixes, {len(found.broken)} broken")
    again = "PD_TEST_SAMPLE=all" if WHOLE else f"PD_TEST_SEED={SEED}"
    shown = "\n".join(found.broken[:MOST_SHOWN])
    assert not found.broken, f"{len(found.broken)} of {found.edits} fixes are wrong ({again})\n{shown}"
    _compare(form, found)


def _compare(form: str, found: Outcome) -> None:
    """Compare with the record, or write it."""
    before = _record()[SIZE].get(form, 0)
    if os.environ.get("PD_TEST_RECORD") and usual:
        record = _read_record()  # of now: others may write it too
        record[SIZE][form] = found.offered
        record["rules"] = sorted({*record["rules"], *found.rules}) if form == "itself" else record["rules"]
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    elif usual:
        assert found.offered >= before, f"{form}: a fix for {found.offered} twins, of {before} before"
        if found.offered > before:
            print(f"{form}: {found.offered - before} fixes more than recorded; PD_TEST_RECORD=1 writes them down")


def test_all_families_with_fixes_have_twins() -> None:
    families = {code[:3] for code in _record()["rules"]}
    assert families >= {"PD0", "PD1", "PD2", "PD3", "PD5", "PD6", "PD7", "PD8"}
    assert {"PD006", "PD007", "PD009", "PD012", "PD101", "PD103"} <= set(_record()["rules"])
    assert {"PD203", "PD204", "PD207", "PD223", "PD301", "PD303", "PD306"} <= set(_record()["rules"])
