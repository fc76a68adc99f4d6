"""The nearest known name, for hints at misspellings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def nearest(name: str, known: Iterable[str], cutoff: float = 0.75) -> str | None:
    """Return the known name that ``name`` was probably meant to be, or None.

    Args:
        name: what was written.
        known: what there is.
        cutoff: from 0 (anything) to 1 (the same).
    """
    return _nearest(name, tuple(sorted(known)), cutoff)


@lru_cache(512)
def _nearest(name: str, known: tuple[str, ...], cutoff: float) -> str | None:
    """Hundreds of engines may have the same mistake."""
    from difflib import get_close_matches  # only where something is wrong

    found = get_close_matches(name, known, 1, cutoff)
    return found[0] if found else None
