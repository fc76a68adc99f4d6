"""Patterns of ``.gitignore`` files, and of ``exclude``, which are written alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pd_launch.launcher.folders.globs import Matches, matcher

MAX_PATTERNS = 10_000
"""Patterns of one file; a list that long was made by a program, and is not looked at further."""
_LONGEST = 1_000
LIMITS = f"at most {MAX_PATTERNS} patterns, of at most {_LONGEST} characters"


class _Pattern(NamedTuple):
    negated: bool
    only_folders: bool
    anywhere: bool
    """Whether it is compared with the name alone, in each folder below."""
    segments: tuple[Matches | None, ...]
    """None stands for ``**``."""

    def matches(self, folder: Sequence[str], name: str, is_folder: bool) -> bool:
        """Whether a file or folder ``name`` in ``folder`` (below that of the pattern) is meant."""
        if self.only_folders and not is_folder:
            return False
        first = self.segments[0]
        if self.anywhere:
            return first is not None and first(name)
        return _fits(self.segments, [*folder, name])


class Patterns:
    """The patterns of one file; of those that match, the last one counts."""

    def __init__(self, lines: Iterable[str]) -> None:
        lines = list(lines)
        found = [pattern for line in lines if (pattern := _pattern(line)) is not None]
        self.cut = len(found) > MAX_PATTERNS or any(len(line) > _LONGEST for line in lines)
        """Whether some are not obeyed: too many of them, or one that is too long."""
        self._patterns = found[MAX_PATTERNS - 1 :: -1] if len(found) > MAX_PATTERNS else found[::-1]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def decide(self, folder: Sequence[str], name: str, is_folder: bool) -> bool | None:
        """Return whether the file or folder is left out; None where no pattern speaks of it.

        Args:
            folder: the names on the way from the patterns' own folder to the one that holds it.
            name: its name.
            is_folder: whether it is a folder.
        """
        for pattern in self._patterns:
            if pattern.matches(folder, name, is_folder):
                return not pattern.negated
        return None


def _pattern(line: str) -> _Pattern | None:
    """Return the pattern of a line; None for a comment, a blank line, and what matches nothing."""
    line = line.rstrip("\r\n")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#") or len(line) > _LONGEST:
        return None
    negated = line.startswith("!")
    line = line[negated:]
    only_folders = line.endswith("/")
    line = line[:-1] if only_folders else line
    anywhere = "/" not in line
    parts = line.removeprefix("/").split("/")
    if "" in parts:
        return None
    segments: list[Matches | None] = []
    for part in parts:
        if len(part) > 1 and not part.strip("*") and not anywhere:
            segments.append(None)
            continue
        matches = matcher(part)
        if matches is None:
            return None
        segments.append(matches)
    return _Pattern(negated, only_folders, anywhere, tuple(segments))


def _fits(segments: Sequence[Matches | None], path: Sequence[str]) -> bool:
    """Whether a path fits: ``**`` stands for any folders, at the end for everything inside."""
    at = part = 0
    star = back = -1
    while at < len(path):
        segment = segments[part] if part < len(segments) else None
        if part < len(segments) and segment is None:
            if part == len(segments) - 1:
                return True
            star, back, part = part, at, part + 1
        elif segment is not None and segment(path[at]):
            at, part = at + 1, part + 1
        elif star >= 0:
            back += 1
            at, part = back, star + 1
        else:
            return False
    return part == len(segments)
