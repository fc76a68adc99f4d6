"""Where each character of a YAML scalar was written, whatever its style."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import overload

from pd_launch.schemas.core.lazy import lazy_pattern

_FOLD = lazy_pattern(
    r"(?:(?:(?<![ \t])|(?<=\\[ \t]))[ \t]+)?(?:\r\n|[\r\n\x85\u2028\u2029])(?:[ \t]|\r\n|[\r\n\x85\u2028\u2029])*"
)
_BREAK = lazy_pattern(r"\r\n|[\r\n\x85\u2028\u2029]")
_ESCAPE = {"x": 4, "u": 6, "U": 10}

_Span = tuple[int, int]
_Unit = _Span | list[_Span]
"""Where a character's spelling begins and ends, or the spellings of line breaks, of which the value keeps some."""


class Spots(Sequence[int]):
    """The places of a scalar's characters and of its end, found out only if somebody asks: most are never at fault."""

    def __init__(self, raw: str, value: str, start: int, style: str | None) -> None:
        self.written = (raw, value, start, style)
        self.size = len(value) + 1

    @cached_property
    def found(self) -> list[int]:
        """The places, in order."""
        return self.spelled[0]

    @cached_property
    def spelled(self) -> tuple[list[int], list[int]]:
        """Where each character's spelling begins, and where it ends."""
        return _align(*self.written)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return self.found[index]


class Ends(Sequence[int]):
    """The places after a scalar's characters, beside :class:`Spots`."""

    def __init__(self, spots: Spots) -> None:
        self.spots = spots

    def __len__(self) -> int:
        return self.spots.size - 1

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return self.spots.spelled[1][index]


def _align(raw: str, value: str, start: int, style: str | None) -> tuple[list[int], list[int]]:
    units = _block(raw, value) if style in ("|", ">") else _flow(raw, style)
    spots: list[int] = []
    ends: list[int] = []
    for unit in units:
        at = len(spots)
        if at >= len(value):
            break
        if isinstance(unit, tuple):
            spots.append(unit[0])
            ends.append(unit[1])
            continue
        kept = len(unit)
        if value[at] == "\n" or len(unit) > 1:
            kept = next((i for i in range(len(unit)) if value[at + i : at + i + 1] != "\n"), len(unit))
        if kept:  # the first of them spells those before it too
            spots += [unit[0][0], *(start for start, _ in unit[len(unit) - kept + 1 :])]
            ends += [end for _, end in unit[len(unit) - kept :]]
    rest = len(value) - len(spots)
    last = start + len(raw)
    spots = [start + spot for spot in spots] + [last - 1 if raw else start] * rest
    closing = last - (1 if style in ("'", '"') else 0)
    return [*spots, closing], [start + end for end in ends] + [last] * rest


def _flow(raw: str, style: str | None) -> Iterator[_Unit]:
    """Iterate over the characters of a plain or quoted scalar; line breaks fold."""
    at, end = (1, len(raw) - 1) if style in ("'", '"') else (0, len(raw))
    while at < end:
        if fold := _FOLD.match(raw, at, end):
            breaks = [match.start() for match in _BREAK.finditer(raw, at, fold.end())]
            yield list(pairwise([at, *breaks[2:], fold.end()]))
            at = fold.end()
        elif style == '"' and raw[at] == "\\" and _BREAK.match(raw, at + 1):
            fold = _FOLD.match(raw, at + 1, end)  # an escaped line break is nothing; blank lines after it count
            at_end = fold.end() if fold else at + 2
            yield from (match.span() for match in list(_BREAK.finditer(raw, at, at_end))[1:])
            at = at_end
        else:
            escape = style == '"' and raw[at] == "\\"
            size = _ESCAPE.get(raw[at + 1], 2) if escape else 2 if raw.startswith("''", at) and style == "'" else 1
            yield at, at + size
            at += size


def block_indent(raw: str, value: str) -> int:
    """Return by how many blanks the lines of a block scalar are indented beyond what its value keeps."""
    header = _BREAK.search(raw)
    lines = _BREAK.split(raw[header.end() :]) if header else []
    first = next((line for line in lines if line.strip(" ")), None)
    indented = re.match(r"\n*( *)", value)
    return len(first) - len(first.lstrip(" ")) - len(indented[1]) if first is not None and indented else 0


def _block(raw: str, value: str) -> Iterator[_Unit]:
    """Iterate over the characters of a block scalar after its header, without the indentation of its lines."""
    header = _BREAK.search(raw)
    at = header.end() if header else len(raw)
    indent = block_indent(raw, value)
    run: list[_Span] = []
    while at < len(raw):
        line_end = _BREAK.search(raw, at)
        stop = line_end.start() if line_end else len(raw)
        text = at + min(indent, len(raw[at:stop]) - len(raw[at:stop].lstrip(" ")))
        if text < stop and run:
            yield run
            run = []
        yield from zip(range(text, stop), range(text + 1, stop + 1), strict=True)
        if line_end:
            run.append((stop, stop + 1))
        at = line_end.end() if line_end else len(raw)
    if run:
        yield run
