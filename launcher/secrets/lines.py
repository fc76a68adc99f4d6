"""Texts and lines without what is secret in them, and where the characters that stay are then."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

Span = tuple[int, int]
MASK = "***"


def without(text: str, spans: Iterable[Span]) -> str:
    """Return a text with a mask in place of each of the spans, which are in order and apart."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], MASK]
        at = end
    return "".join([*parts, text[at:]])


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


class MaskedLine:
    """A line without what is secret in it, and where the characters that stay are now."""

    def __init__(self, line: str, spans: Sequence[Span]) -> None:
        self.text = without(line, spans)
        self._spans, self._ends, self._less = spans, [end for _, end in spans], [0]
        for start, end in spans:
            self._less.append(self._less[-1] + end - start - len(MASK))

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters ``[start, end)`` are now; of a secret, its mask."""
        first = self._moved(start, 0)
        return first, max(self._moved(end, len(MASK)), first + 1)

    def _moved(self, at: int, inside: int) -> int:
        number = bisect_right(self._ends, at)
        if number < len(self._spans) and self._spans[number][0] < at:
            return self._spans[number][0] - self._less[number] + inside
        return at - self._less[number]


def mask_line(line: str, start: int, end: int, spans: Iterable[Span]) -> tuple[str, int, int]:
    """Return ``line`` without the characters in ``spans``, and where the characters ``[start, end)`` are now."""
    masked = MaskedLine(line, list(spans))
    return (masked.text, *masked.place(start, end))
