"""Brace expansion as bash does it: what ``a{b,c}`` and ``{1..3}`` stand for, before all else in a word.

A word is a list of signs: a character that counts as it is, or "" for a part that is quoted, escaped or expands to
something, and that braces leave alone. What comes out are words of stretches, as offsets into the list, and of texts
that sequences make.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass

Stretched = tuple[int, int, str | None]
"""From where to where in the word, with the text that a sequence makes of that, or None for what is there."""
Words = list[tuple[Stretched, ...]]
MOST_BRACES = 100
MOST_STEPS = 1_000_000
_INTEGER = r"[+-]?[0-9]{1,18}"
_NUMBERS = lazy_pattern(rf"({_INTEGER})\.\.({_INTEGER})(?:\.\.({_INTEGER}))?")
_LETTERS = lazy_pattern(rf"([A-Za-z])\.\.([A-Za-z])(?:\.\.({_INTEGER}))?")
_PADDED = lazy_pattern(r"-?0.")


class TooMuch(Exception):
    """A word has so many braces, or stands for so many words, that they are not followed."""


def has_braces(text: str) -> bool:
    """Whether braces in a word may stand for several words."""
    return "{" in text and "}" in text and ("," in text or ".." in text)


def expanded(signs: Sequence[str], most: int) -> tuple[Words, bool]:
    """Return the words that one word stands for, itself where it has no braces to expand, and whether these are all.

    Of a sequence that counts further than ``most``, there are so many.

    Raises:
        TooMuch: these are more than ``most``, or its braces are too many.
    """
    count = sum(sign == "{" for sign in signs)
    if count > MOST_BRACES or count * count * len(signs) > MOST_STEPS:
        raise TooMuch
    braces = _Braces(signs, most)
    return braces.words(0, len(signs)), not braces.cut


@dataclass
class _Braces:
    signs: Sequence[str]
    most: int
    cut: bool = False

    def words(self, at: int, end: int) -> Words:
        """Return the words that the part from ``at`` to ``end`` stands for."""
        found: Words = [()]
        while True:
            pair = self._pair(at, end)
            if pair is None:
                return self._joined(found, [_stretch(at, end)])
            opening, closing = pair
            inner = self._inner(opening, closing)
            last = closing + 1 == end
            if inner is None and last:
                return self._joined(found, [_stretch(at, end)])
            found = self._joined(found, [_stretch(at, opening)])
            found = self._joined(found, inner if inner is not None else [_stretch(opening, closing + 1)])
            if last:
                return found
            at = closing + 1

    def _inner(self, opening: int, closing: int) -> Words | None:
        """Return what is between two braces, one word for each that it lists; None for no list and no sequence."""
        if "," in self.signs[opening + 1 : closing]:
            found: Words = []
            for start, stop in self._listed(opening + 1, closing):
                found += self.words(start, stop)
                self._few(len(found))
            return found
        made = self._sequence(opening, closing)
        return None if made is None else [((opening, closing + 1, text),) for text in made]

    def _pair(self, at: int, end: int) -> tuple[int, int] | None:
        """Return the first brace that begins an expansion, and the one that ends it."""
        begin = at
        while at < end:
            alone = at == begin and (at + 1 == end or self.signs[at + 1] == "}")
            if self.signs[at] == "{" and not alone:
                closing = self._closing(at + 1, end)
                if closing is not None:
                    return at, closing
            at += 1
        return None

    def _closing(self, at: int, end: int) -> int | None:
        """Return the brace that ends a list or sequence; one before any comma or ``..`` is a character."""
        level, parted = 0, False
        for spot in range(at, end):
            sign = self.signs[spot]
            if sign == "}" and level == 0 and parted:
                return spot
            if sign == "{":
                level += 1
            elif sign == "}" and level:
                level -= 1
            elif level == 0:
                parted |= sign == "," or (self._are_dots(spot, end) and self.signs[spot + 2 : spot + 3] != ["}"])
        return None

    def _are_dots(self, at: int, end: int) -> bool:
        return at + 1 < end and self.signs[at] == self.signs[at + 1] == "."

    def _listed(self, at: int, end: int) -> Iterator[tuple[int, int]]:
        """Iterate over the parts between commas that are in no further braces."""
        level, start = 0, at
        for spot in range(at, end):
            sign = self.signs[spot]
            if sign == "," and level == 0:
                yield start, spot
                start = spot + 1
            level += (sign == "{") - (sign == "}" and level > 0)
        yield start, end

    def _sequence(self, opening: int, closing: int) -> list[str] | None:
        """Return the texts that ``{1..3}``, ``{a..c}`` or ``{08..0..2}`` counts."""
        inner = self.signs[opening + 1 : closing]
        text = "".join(inner)
        if len(text) < len(inner):  # a part of it is quoted or expands
            return None
        match = _NUMBERS.fullmatch(text) or _LETTERS.fullmatch(text)
        if match is None:
            return None
        first, last, said = match.groups()
        step = abs(int(said or 1)) or 1
        letters = first.isalpha()
        start, stop = (ord(first), ord(last)) if letters else (int(first), int(last))
        counted = range(start, stop + 1, step) if start <= stop else range(start, stop - 1, -step)
        self.cut |= abs(stop - start) // step >= self.most
        counted = counted[: self.most]
        if letters:
            return [chr(number) for number in counted]
        width = max(len(first), len(last)) if _PADDED.match(first) or _PADDED.match(last) else 0
        return [f"{number:0{width}d}" for number in counted]

    def _joined(self, before: Words, behind: Words) -> Words:
        self._few(len(before) * len(behind))
        return [first + second for first in before for second in behind]

    def _few(self, count: int) -> None:
        if count > self.most:
            raise TooMuch


def _stretch(at: int, end: int) -> tuple[Stretched, ...]:
    return ((at, end, None),) if at < end else ()
