"""Where the time of a run of the tests went."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 12


def spent(files: Iterable[tuple[str, float]], wall: float) -> list[str]:
    """Return the lines that say where the time of a run went: the files that took most of it."""
    listed = sorted(files, key=lambda row: -row[1])
    if not listed:
        return []
    total = sum(seconds for _, seconds in listed)
    rest = listed[SHOWN:]
    rows = listed[:SHOWN] + ([(f"{len(rest)} other files", sum(s for _, s in rest))] if rest else [])
    head = f"tests took {total:.0f} s in {wall:.0f} s of wall time; seconds of each file:"
    return [head, *(f"{seconds:7.1f}  {name}" for name, seconds in rows)]
