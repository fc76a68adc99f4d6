"""Whole numbers of inputs, bounded: nothing of a deployment needs more digits, and Python converts only so many.

Each reader treats what is larger as no number. So no arithmetic meets an integer that is too large for a float, or that
cannot be written out.
"""

from __future__ import annotations

from typing import Any

MAX_DIGITS = 100
_LIMIT = 10**MAX_DIGITS


def whole(text: str) -> int | None:
    """Return the number that decimal digits (of ASCII, and nothing but digits) write; None for any other text."""
    if not text.isascii() or not text.isdecimal() or len(text) > MAX_DIGITS:
        return None
    return int(text)


def is_boundless(value: Any) -> bool:
    """Whether a value is an integer of more digits than any that is looked at."""
    return isinstance(value, int) and not -_LIMIT < value < _LIMIT
