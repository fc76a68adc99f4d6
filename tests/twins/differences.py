"""The differences between forms that are known, each with its reason: ``differences.yaml``, which may only shrink.

``findings``: in the twins of ``fixtures`` in ``forms``, ``change`` is there: a code less (``-PD405``), or one more.
``engines``: in ``forms``, an engine that has a text in which ``where`` is found is read otherwise.
``kind`` is ``fault`` (of the product, to be mended: the entry goes when it is) or ``meaning`` (the form means it so).

PD_TEST_RECORD=1 with PD_TEST_SAMPLE=all takes out of ``findings`` what differs no longer, and puts in what is new with
the reason "?", which the tests refuse: somebody has to look at it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from fixture import Engine

FILE = Path(__file__).with_name("differences.yaml")
KINDS = ("fault", "meaning")
UNSEEN = "?"
EVERY = "*"
"""Stands for all forms."""
_HEAD = """\
# What is read or found otherwise in another form, with the reason: see differences.py. This file may only shrink.
"""


@dataclass(frozen=True)
class Otherwise:
    """Engines that some forms read otherwise: those with a text in which ``where`` is found."""

    forms: tuple[str, ...]
    where: re.Pattern[str]
    reason: str

    def concerns(self, form: str, engine: Engine) -> bool:
        return (form in self.forms or EVERY in self.forms) and any(map(self.where.search, engine.texts))


def _read() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found


def entries(part: str) -> list[dict[str, Any]]:
    """Return the entries of one part of the file, ``engines`` or ``findings``."""
    return _read()[part]


@cache
def otherwise() -> tuple[Otherwise, ...]:
    """Return the known differences between the engines that forms give."""
    listed = entries("engines")
    return tuple(Otherwise(tuple(e["forms"]), re.compile(e["where"], re.DOTALL), e["reason"]) for e in listed)


def unread() -> set[str]:
    """Return the forms that are not read, or read as something else: every engine is another one in them."""
    return {form for entry in otherwise() if not entry.where.pattern for form in entry.forms}


@cache
def known() -> dict[tuple[str, str], frozenset[str]]:
    """Return the known changes of findings by form and fixture."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for entry in entries("findings"):
        for form in entry["forms"]:
            for fixture in entry["fixtures"]:
                found[form, fixture].add(entry["change"])
    return {key: frozenset(value) for key, value in found.items()}


def record(form: str, seen: dict[str, frozenset[str]]) -> None:
    """Write down what differs in a form, by fixture: reasons are kept, what is new has none."""
    tree = _read()
    by_change, by_fixture = {}, {}
    for entry in tree["findings"]:
        said = entry["kind"], entry["reason"]
        for of in entry["forms"]:
            by_change[of, entry["change"]] = said
            by_fixture.update({(of, entry["change"], fixture): said for fixture in entry["fixtures"]})
    left = {key: changes for key, changes in known().items() if key[0] != form}
    left.update({(form, fixture): changes for fixture, changes in seen.items() if changes})
    rows: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for (f, fixture), changes in left.items():
        for change in changes:
            said = by_fixture.get((f, change, fixture)) or by_change.get((f, change), ("fault", UNSEEN))
            rows[(change, *said)][f].add(fixture)
    tree["findings"] = list(_entries(rows))
    FILE.write_text(_HEAD + yaml.safe_dump(tree, sort_keys=False, width=116, allow_unicode=True), encoding="utf-8")
    known.cache_clear()


def _entries(rows: dict[tuple[str, str, str], dict[str, set[str]]]) -> Any:
    """Iterate over the entries: forms that differ in the same fixtures share one."""
    for (change, kind, reason), forms in sorted(rows.items(), key=lambda row: (row[0][1:], row[0][0][1:])):
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for form, names in forms.items():
            alike[tuple(sorted(names))].append(form)
        for names, those in sorted(alike.items(), key=lambda item: item[1]):
            yield {"change": change, "kind": kind, "reason": reason, "forms": sorted(those), "fixtures": list(names)}
