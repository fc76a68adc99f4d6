"""Where any of many values is in a text, in one pass: a file may hold thousands of secrets and of findings."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

Span = tuple[int, int]
_CUT = "…"
_HEAD = 8
"""Characters by which values are looked up: hardly one secret is shorter."""
_EFFORT = 64
"""Steps for each character of a text. Only a text that was made for it takes more; its rest is then masked whole."""


class Copies:
    """Finds values in texts. Overlapping finds are given each."""

    def __init__(self, values: Iterable[str]) -> None:
        self._short: list[str] = []
        self._groups: dict[str, list[str]] = {}
        for value in sorted(set(values)):
            if len(value) < _HEAD:
                self._short += [value] if value else []
            else:
                self._groups.setdefault(value[:_HEAD], []).append(value)
        self._longest = {head: max(map(len, group)) for head, group in self._groups.items()}
        self._shorter = {head: _prefixes(group) for head, group in self._groups.items()}

    def spans(self, text: str) -> Iterator[Span]:
        """Iterate over where the values are in ``text``, also where it shows one's beginning before an ellipsis."""
        for value in self._short:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + len(value))
        heads = self._heads(text)
        yield from self._whole(text, heads)
        yield from self._beginnings(text, heads)

    def _heads(self, text: str) -> list[int]:
        """Return where in a text any value may begin."""
        groups = self._groups
        if len(groups) > _HEAD:
            return [at for at in range(len(text) - _HEAD + 1) if text[at : at + _HEAD] in groups]
        found: list[int] = []
        for head in groups:
            at = text.find(head)
            while at >= 0:
                found.append(at)
                at = text.find(head, at + 1)
        return sorted(found)

    def _whole(self, text: str, heads: Iterable[int]) -> Iterator[Span]:
        """Iterate over the longest value at each place."""
        left = _EFFORT * (len(text) + 1000)
        for at in heads:
            head = text[at : at + _HEAD]
            group, shorter = self._groups[head], self._shorter[head]
            piece = text[at : at + self._longest[head]]
            number = bisect_right(group, piece) - 1
            while number >= 0 and not piece.startswith(group[number]):
                number = shorter[number]
                left -= 1
            left -= len(piece) // _EFFORT
            if number >= 0:
                yield at, at + len(group[number])
            if left < 0:
                yield at, len(text)
                return

    def _beginnings(self, text: str, heads: list[int]) -> Iterator[Span]:
        """Iterate over where a text shows the beginning of a value that it cuts short."""
        before, end = 0, text.find(_CUT)
        while end >= 0:
            for at in heads[bisect_left(heads, before) : bisect_right(heads, end - _HEAD)]:
                group, shown = self._groups[text[at : at + _HEAD]], text[at:end]
                number = bisect_left(group, shown)
                if number < len(group) and group[number].startswith(shown):
                    yield at, end
                    break
            before, end = end, text.find(_CUT, end + 1)


def _prefixes(group: list[str]) -> list[int]:
    """Return, for each of sorted values, which other one is its longest beginning; -1 where none is."""
    found: list[int] = []
    open_: list[int] = []
    for number, value in enumerate(group):
        while open_ and not value.startswith(group[open_[-1]]):
            open_.pop()
        found.append(open_[-1] if open_ else -1)
        open_.append(number)
    return found


class Quoted:
    """Finds words that are quoted in a message: after a quote or ``=``, before a quote, a blank or the end."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._lengths = sorted({len(word) for word in self._words}, reverse=True)

    def spans(self, text: str) -> Iterator[Span]:
        """Iterate over where one of the words is quoted in ``text``, the longest at each place."""
        for at in range(1, len(text)):
            if text[at - 1] not in "'\"`=":
                continue
            for length in self._lengths:
                behind = text[at + length : at + length + 1]
                if text[at : at + length] in self._words and (not behind or behind in "'\"`" or behind.isspace()):
                    yield at, at + length
                    break
