"""One engine, written in every form and every quoting, is read as the same launch: arguments, JSON, variables, role.

What must be read are the words as a command line gives them, without any spelling. What a form reads otherwise stands
in ``differences.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from awkward import drawn, named
from differences import EVERY, otherwise
from fixture import Engine
from same_launch import differences, of_engines
from twins import FORMS

from tests.sampling import SEED, size

MADE = [name for name, form in FORMS.items() if form.made]
MOST_SHOWN = 5


def _unlike(form: str, engine: Engine) -> list[str] | None:
    """Return what a form reads otherwise; None where it cannot express the engine."""
    files = FORMS[form].write(of_engines(engine))
    return None if files is None else differences(files, [engine])


def _wrong(form: str, engines: Iterator[Engine]) -> Iterator[str]:
    for engine in engines:
        if any(entry.concerns(form, engine) for entry in otherwise()):
            continue
        for line in _unlike(form, engine) or ():
            yield f"{engine.env[0][1]!r}: {line}"


@pytest.mark.parametrize("form", MADE)
def test_an_engine_is_the_same_in_every_form(form: str) -> None:
    wrong = list(_wrong(form, (engine for _, engine in named())))
    assert not wrong, "\n".join(wrong[:MOST_SHOWN])


@pytest.mark.parametrize("form", MADE)
def test_a_drawn_engine_is_the_same_in_every_form(form: str) -> None:
    wrong = list(_wrong(form, drawn(f"{SEED} {form}", size(8, 300))))
    assert not wrong, f"PD_TEST_SEED={SEED}\n" + "\n".join(wrong[:MOST_SHOWN])


def test_each_known_difference_is_still_there() -> None:
    gone = []
    for entry in otherwise():
        forms = [MADE] if EVERY in entry.forms else [[form] for form in entry.forms]
        for alike in forms:
            concerned = [engine for _, engine in named() if any(map(entry.where.search, engine.texts))]
            if not any(_unlike(form, engine) for engine in concerned for form in alike):
                gone.append(f"{', '.join(alike)}: {entry.reason}")
    assert not gone, "these are read as in every other form; take them out of differences.yaml:\n" + "\n".join(gone)


def test_the_forms_are_many() -> None:
    assert len(MADE) >= 100
    assert not {entry for each in otherwise() for entry in each.forms} - {*FORMS, EVERY}
