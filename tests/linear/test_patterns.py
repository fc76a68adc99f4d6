"""No regular expression takes more than linear time, on texts that are made from the expression itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from growth import MOST, STEP, ratio, seconds
from patterns import Used, apply, attacks, used

PARTS = 24
"""So many tests share the expressions: finding them takes seconds, which collecting tests must not."""
ONCE = ('"[^"', "'[^'")
"""How the expressions begin whose failure ends the reading of a value: strings of JSON that are never closed."""
SIZES = (250, 1000, 4000, 40_000)
"""Characters, the last so many that a quadratic expression takes far longer than a linear one."""
LEAST = 0.006
"""Seconds that no linear expression takes for so many, but for a slow machine: then the growth is measured."""
EXPONENTIAL = 0.1


def _grows(work: Callable[[int], object]) -> str:
    """Say how the time of ``work`` grows, if it grows faster than its input."""
    for size in (16, 20, 24):
        if seconds(work, size) > EXPONENTIAL:
            return f"much for {size} characters"
    size = next((size for size in SIZES if seconds(work, size) > LEAST), None)
    if size is None:
        return ""
    growth, size = ratio(work, size // STEP, LEAST / STEP, SIZES[-1] // STEP)
    return f"{growth:.0f} times as long at {size}" if growth > MOST else ""


def slow(one: Used) -> list[str]:
    """The texts on which an expression takes more than linear time."""
    found = []
    if str(one.pattern).startswith(ONCE):
        one = replace(one, methods=("match",))
    for begin, unit, end in attacks(one):

        def work(size: int, begin: str = begin, unit: str = unit, end: str = end) -> None:
            text = begin + unit * (size // len(unit) + 1) + end
            apply(one, text.encode("latin-1", "replace") if isinstance(one.pattern, bytes) else text)

        told = _grows(work)
        if told:
            found.append(f"{begin!r} + {unit!r} * n + {end!r}: {told}")
    return found


def test_the_expressions_are_found() -> None:
    names = {one.where.partition(":")[0].replace("pd_launch.", "") for one in used()}
    assert len(used()) > 140
    assert "launcher.sources.shell.parser" in names and "launcher/sources/trees/yaml_scalar.py" in names


@pytest.mark.parametrize("part", range(PARTS))
def test_expressions_are_linear(part: int) -> None:
    assert not {str(one): found for one in used()[part::PARTS] if (found := slow(one))}


@pytest.mark.parametrize(
    "pattern", [r"^\s*-?\s*x:", r"([a-z]\w*)\s*=", r"(a|b|ab)*c", r"[ \t]*\n(?:[ \t]|\n)*", r"\{\{(?:(?!\}\}).)*\}\}"]
)
def test_a_slow_expression_is_seen(pattern: str) -> None:
    assert slow(Used("here", pattern, 8, ("search",)))
