"""Files of one log: ``decode.log``, and what it was before it was rotated."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pd_launch.schemas.core.lazy import lazy_pattern

_ENDING = lazy_pattern(r"(?P<base>.+?)(?:[.-](?P<number>\d{1,4}|\d{8}(?:[.-]\d{1,6})?))?(?P<packed>\.gz)?", re.DOTALL)


def rotations(paths: Sequence[str]) -> list[list[str]]:
    """Return the paths in groups that are one log, the oldest file first, in the order of each group's first path.

    ``LOG.2.gz``, ``LOG.1`` and ``LOG`` are one where LOG is given too, or at least two of its old files are; so are
    files with a date (``LOG-20261201``).
    """
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(_parts(path)[0], []).append(path)
    found = []
    for base, members in groups.items():
        one = any(_parts(member)[1] is None for member in members) or base.endswith(".log")
        found += [sorted(members, key=_order)] if one else [[member] for member in members]
    order = {path: index for index, path in enumerate(paths)}
    return sorted(found, key=lambda group: min(order[path] for path in group))


def _parts(path: str) -> tuple[str, str | None]:
    folder, slash, name = path.rpartition("/")
    match = _ENDING.fullmatch(name)
    if match is None or path == "-":
        return path, None
    return f"{folder}{slash}{match['base']}", match["number"]


def _order(path: str) -> tuple[int, int, str]:
    """Old files first: by dates from the first, by numbers from the highest; the log itself is the last."""
    number = _parts(path)[1]
    if number is None:
        return 2, 0, ""
    return (0, 0, number) if len(number) >= 8 else (1, -int(number), "")
