"""Texts put together from how they are written: escapes, pieces, and what is between them, each in its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.quoting import NOWHERE, Quoting
from pd_launch.schemas.core.values import HOLE, SourceFile, Text

MAX_TEXT = 200_000
_ASIDE = lazy_pattern(r"(?<![\\\S])`[ \t]{0,20}#[^`\n]{0,500}`(?=[\s\\;|&]|\Z)")


class Stretch(NamedTuple):
    """What a part of a text is in: the kind of quotes (see ``schemas.core.quoting``), and where they begin."""

    kind: str
    at: int
    detail: str = ""


class Weaver:
    """Puts a text together from the characters of ``base``, of which it is the meaning."""

    def __init__(self, base: Text) -> None:
        self.base = base
        self.value: list[str] = []
        self.spots: list[int] = []
        self.ends: list[int] = []
        self.runs: list[tuple[int, Quoting | None]] = []

    def begin(self, start: int, stretch: Stretch) -> None:
        """Enter quotes at ``start``, also where nothing is in them."""
        self._run(len(self.spots), self.base.quoting(start), stretch)

    def take(self, start: int, end: int, stretch: Stretch | None) -> None:
        """Add the characters ``[start, end)`` of the base as they are, inside of ``stretch``."""
        if start >= end:
            return
        part = self.base.part(start, end)
        for at, quoting in part.runs:
            self._run(len(self.spots) + at, quoting, stretch)
        self.value.append(part.value)
        self.spots += part.spots[: end - start]
        self.ends += _ends(part)

    def put(self, characters: str, start: int, end: int, stretch: Stretch | None) -> None:
        """Add characters that ``[start, end)`` of the base spells, as an escape does.

        A spelling that begins in other quotes than it ends in cannot be written anew.
        """
        outer = self.base.quoting(start)
        if end > start + 1 and self.base.quoting(end - 1) != outer:
            outer, stretch = NOWHERE, None
        self._run(len(self.spots), outer, stretch)
        self.value.append(characters)
        self.spots += [self.base.spots[start]] * len(characters)
        self.ends += [self.base.end_of(end - 1)] * len(characters)

    def fill(self, characters: str, start: int) -> None:
        """Add characters that are written nowhere, such as a variable's value, at the place ``start`` of the base."""
        self._run(len(self.spots), NOWHERE, None)
        self.value.append(characters)
        self.spots += [self.base.spots[start]] * len(characters)
        self.ends += [self.base.spots[start] + 1] * len(characters)

    def text(self, end: int) -> Text:
        """Return the text; ``end`` is the place in the base where it ends."""
        spots = [*self.spots, self.base.spots[min(end, len(self.base.spots) - 1)]]
        return Text("".join(self.value), self.base.source, spots, self.ends, tuple(self.runs) or ((0, NOWHERE),))

    def _run(self, at: int, outer: Quoting | None, stretch: Stretch | None) -> None:
        quoting = Quoting(stretch.kind, stretch.at, outer, stretch.detail) if stretch else outer
        if not self.runs or self.runs[-1][1] != quoting:
            self.runs.append((at, quoting))


def without_returns(text: Text) -> Text:
    """Return a text whose lines end with a line feed alone, each character in its place."""
    if "\r\n" not in text.value:
        return text
    weaver, at = Weaver(text), 0
    while (end := text.value.find("\r\n", at)) >= 0:
        weaver.take(at, end, None)
        at = end + 1
    weaver.take(at, len(text.value), None)
    return weaver.text(len(text.value))


def without_asides(text: Text) -> Text:
    """Return a script without comments in backticks, of which the shell makes no word: they part continued options."""
    if "`" not in text.value or not (asides := list(_ASIDE.finditer(text.value))):
        return text
    weaver, at = Weaver(text), 0
    for aside in asides:
        weaver.take(at, aside.start(), None)
        at = aside.end()
    weaver.take(at, len(text.value), None)
    return weaver.text(len(text.value))


def concat(parts: Sequence[Text], source: SourceFile, start: int) -> Text:
    """Return the texts as one, each character with its own place; ``start`` is the place of nothing at all."""
    parts = [part for part in parts if part.value] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    value = "".join(part.value for part in parts)[:MAX_TEXT]
    spots: list[int] = []
    ends: list[int] = []
    runs = list(parts[0].runs) if parts else []  # of a text that grows by appending, not gone through each time
    for number, part in enumerate(parts):
        if len(spots) >= MAX_TEXT:
            break
        for at, quoting in part.runs if number else ():
            if runs[-1][1] != quoting:
                runs.append((len(spots) + at, quoting))
        spots += part.spots[: len(part.value)]
        ends += _ends(part)
    last = parts[-1].spots[-1] if parts else start
    return Text(value, source, [*spots[: len(value)], last], ends[: len(value)], tuple(runs) or ((0, NOWHERE),))


def _ends(text: Text) -> Sequence[int]:
    if text.ends is None and isinstance(text.spots, range):
        return text.spots[1:]
    return [spot + 1 for spot in text.spots[: len(text.value)]] if text.ends is None else text.ends


def with_holes(text: Text, spans: Iterable[tuple[int, int]]) -> Text:
    """Return a text with one unknown sign in place of each span of its characters, which come in order."""
    weaver, at = Weaver(text), 0
    for start, end in spans:
        weaver.take(at, start, None)
        weaver.put(HOLE, start, end, None)
        at = end
    if not at:
        return text
    weaver.take(at, len(text.value), None)
    return weaver.text(len(text.value))
