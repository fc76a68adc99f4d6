"""Copies of many values are found in one pass, the same ones as by looking for each value."""

from __future__ import annotations

import random

import pytest

from pd_launch.launcher.secrets import copies
from pd_launch.launcher.secrets.copies import Copies, Quoted

ALPHABET = "ab…'= "


def covered(spans: object) -> set[int]:
    return {at for start, end in spans for at in range(start, end)}  # type: ignore[attr-defined]


def each(values: list[str], text: str) -> set[int]:
    """Return the characters of ``text`` that one value after the other covers, also where ``…`` cuts it short."""
    found: set[int] = set()
    for value in values:
        found |= {k for at in range(len(text)) if text.startswith(value, at) for k in range(at, at + len(value))}
        before = 0
        for end in (at for at, sign in enumerate(text) if sign == "…"):
            starts = [at for at in range(before, end - 7) if value.startswith(text[at:end])]
            found |= {k for at in starts for k in range(at, end)}
            before = end
    return found


@pytest.mark.parametrize("seed", range(300))
def test_what_is_found_is_what_each_value_finds(seed: int) -> None:
    pick = random.Random(seed)
    signs = ALPHABET if seed % 2 else "ab"
    values = ["".join(pick.choices(signs, k=pick.randint(6, 14))) for _ in range(pick.randint(1, 40))]
    values += [value[: pick.randint(7, len(value))] for value in values if len(value) > 7]
    text = "".join(
        pick.choice(["x", pick.choice(values), pick.choice(values)[:9] + "…", pick.choice(values)[3:]])
        for _ in range(30)
    )
    got = covered(Copies(values).spans(text))
    wanted = each([value for value in values if len(value) >= 8], text)
    short = [value for value in values if len(value) < 8]
    assert wanted <= got, (values, text)
    assert got - wanted <= each(short, text), (values, text)
    assert covered(Copies(short).spans(text)) <= each(short, text)


def test_overlapping_values_leave_no_end_of_one_visible() -> None:
    assert covered(Copies(["abcdefgh", "defghXYZ"]).spans("abcdefghXYZ")) == set(range(11))


def test_a_text_that_takes_too_many_steps_is_covered_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_EFFORT", 1)
    values = ["a" * n + "b" for n in range(9, 600)] + ["a" * n for n in range(9, 600, 2)]
    text = "a" * 5000 + " and the rest"
    assert covered(Copies(values).spans(text)) >= set(range(5000))


def test_words_are_found_where_they_are_quoted() -> None:
    words = Quoted(["abc", "abc d", "x"])
    assert list(words.spans("'abc' abc =abc `abc d` \"x\" 'xy' 'abcd'")) == [(1, 4), (11, 14), (16, 21), (24, 25)]
