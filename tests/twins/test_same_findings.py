"""Every fixture of every rule, in another form: the same findings, of the same severity, about the same text.

What differs is known by form and fixture, with its reason, in ``differences.yaml``: nothing may be there that differs
no longer, and nothing may differ that is not there. A run takes a sample of the twins, ``PD_TEST_SAMPLE=all`` all of
them. That no published fix breaks a twin is looked at in ``tests/fixes``, in these forms and more.
"""

from __future__ import annotations

import os
from functools import cache
from random import Random

import pytest
from differences import KINDS, UNSEEN, entries, known, record, unread
from fixture import Files, Fixture, fixtures
from same_findings import Found, changes, compared, found_in, whole, words_of
from twins import FORMS

from tests.sampling import SEED, WHOLE

SHARE = 0.06
COMPARED = (
    "kept double", "kept function", "kept heredoc", 'kept bash -c "',
    "double", "array", "exec", "heredoc", "docker", "kubernetes", "kubernetes bash |", "json manifest", "ConfigMap",
    "compose list", "compose string", "e2e", 'systemd "', 'list "', "shlex", "template", "supervisord", "Dockerfile",
    "notebook",
)  # fmt: skip
"""Forms whose findings are compared: calls of the engine's classes and profiles have rules of their own."""
MOST_SHOWN = 10


@cache
def _fixtures() -> tuple[Fixture, ...]:
    return (*fixtures(), *fixtures("silent"))


def _name(fixture: Fixture) -> str:
    return f"{fixture.code}/{fixture.name}"


_KNOWN: dict[tuple[str, str], Found] = {}


def _found(fixture: Fixture, files: Files) -> Found:
    """Return what is found in a fixture written so; what others are compared with is looked up the second time."""
    key = _name(fixture), "\0".join(files.values())
    if key not in _KNOWN:
        _KNOWN[key] = found_in(fixture, files, words_of(whole(fixture)))
    return _KNOWN[key]


def _changes(form: str) -> dict[str, frozenset[str]]:
    """Return what changes in each of the drawn twins of a form, ``-PD405`` and such; nothing where all is the same."""
    found = {}
    for fixture in _fixtures():
        if not WHOLE and Random(f"{SEED} {form} {_name(fixture)}").random() >= SHARE:
            continue
        files = compared(fixture, form)
        if files is not None:
            before, after = (_found(fixture, each) for each in files)
            found[_name(fixture)] = frozenset(line.partition(" ")[0] for line in changes(before, after))
    return found


@pytest.mark.parametrize("form", [form for form in COMPARED if form not in unread()])
def test_the_findings_are_the_same(form: str) -> None:
    found = _changes(form)
    if os.environ.get("PD_TEST_RECORD") and WHOLE:
        record(form, found)
    before = {fixture: listed for (of, fixture), listed in known().items() if of == form}
    new = [f"{n}: {' '.join(sorted(seen))}" for n, seen in found.items() if seen - before.get(n, frozenset())]
    gone = [f"{n}: {' '.join(sorted(was))}" for n, was in before.items() if n in found and was - found[n]]
    again = "PD_TEST_SAMPLE=all" if WHOLE else f"PD_TEST_SEED={SEED}"
    assert not new, f"{len(new)} of {len(found)} fixtures differ as {form} ({again}):\n" + "\n".join(new[:MOST_SHOWN])
    assert not gone, f"differs no longer as {form}; take it out of differences.yaml:\n" + "\n".join(gone[:MOST_SHOWN])


def test_each_difference_is_of_a_twin_and_has_a_reason() -> None:
    names = {_name(fixture) for fixture in _fixtures()}
    for entry in entries("findings"):
        assert entry["kind"] in KINDS and entry["reason"] not in ("", UNSEEN), entry
        assert set(entry["forms"]) <= set(COMPARED) and set(entry["fixtures"]) <= names, entry
    assert set(COMPARED) <= set(FORMS)
    assert all(entry["kind"] in KINDS and entry["reason"] for entry in entries("engines"))
