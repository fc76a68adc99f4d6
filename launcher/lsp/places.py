"""Places as the protocol counts them: lines end with CR LF, LF or CR, columns are units of an agreed encoding."""

from __future__ import annotations

from bisect import bisect_right

from pd_launch.launcher.lsp.model import Span, Spot
from pd_launch.schemas.core.lazy import lazy_pattern

_END = lazy_pattern(r"\r\n|\n|\r")


class Places:
    """Turns offsets of a text into places and back."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self.encoding = encoding
        self._starts = [0, *(match.end() for match in _END.finditer(text))]

    def spot(self, offset: int) -> Spot:
        """Return the place of an offset; one after the end is the end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        return Spot(line, units(self.text[self._starts[line] : offset], self.encoding))

    def span(self, start: int, end: int) -> Span:
        """Return the part ``[start, end)``."""
        return Span(self.spot(start), self.spot(max(start, end)))

    def offset(self, spot: Spot) -> int:
        """Return the offset of a place; a column after the line's end is its end, as the protocol says."""
        if spot.line >= len(self._starts):
            return len(self.text)
        start = self._starts[spot.line]
        end = self._starts[spot.line + 1] if spot.line + 1 < len(self._starts) else len(self.text)
        line = self.text[start:end].rstrip("\r\n")
        left = spot.column
        for at, character in enumerate(line):
            if left <= 0:
                return start + at
            left -= units(character, self.encoding)
        return start + len(line)


def units(text: str, encoding: str) -> int:
    """Return how many code units a text has."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)
