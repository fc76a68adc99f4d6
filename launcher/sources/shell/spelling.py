"""The text of a script as its syntax nodes spell it: places, escapes, and how much may be put together."""

from __future__ import annotations

import re
from typing import Any

from pd_launch.launcher.sources.shell.state import MAX_ITEMS, MAX_MADE, Effort
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Text

_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI_PART = lazy_pattern(
    r"\\(?:(?P<hex>x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8})|(?P<octal>[0-7]{1,3})|(?P<sign>.))|.",
    re.DOTALL,
)


class Spelling:
    """Syntax nodes of one script as texts. ``base`` is the script's text with its places."""

    def __init__(self, base: Text, effort: Effort) -> None:
        self.base = base
        self.effort = effort
        self.source = base.source
        self._ascii = base.value.isascii()
        self._chars: list[int] | None = None
        self._inside = 0
        self.cuts: list[Fault] = []
        """Where a value was longer than is followed."""

    def cut(self, node: Any, limit: Msg) -> None:
        """Say that what a syntax node stands for is not known to its end."""
        origin = self.base.origin(*self.span(node))
        left = Msg("its value is not checked", "这里的值没有检查")
        self.cuts.append(not_followed(origin, limit, left))

    def char(self, byte: int) -> int:
        """Return the character offset of a byte offset."""
        if self._ascii:
            return byte
        if self._chars is None:
            self._chars = [0] * (len(self.base.value.encode("utf-8", "surrogatepass")) + 1)
            at = 0
            for index, character in enumerate(self.base.value):
                width = len(character.encode("utf-8", "surrogatepass"))
                for offset in range(width):
                    self._chars[at + offset] = index
                at += width
            self._chars[at] = len(self.base.value)
        return self._chars[min(byte, len(self._chars) - 1)]

    def span(self, node: Any) -> tuple[int, int]:
        """Return a syntax node's character offsets."""
        return self.char(node.start_byte), self.char(node.end_byte)

    def _inner_span(self, node: Any) -> tuple[int, int]:
        """Return the offsets of an expansion inside a string; the parser counts blanks before its ``$`` in."""
        start, end = self.span(node)
        raw = self.base.value[start:end]
        return start + len(raw) - len(raw.lstrip()), end

    def raw(self, node: Any) -> str:
        """Return a syntax node's text as it stands."""
        start, end = self.span(node)
        return self.base.value[start:end]

    @property
    def full(self) -> bool:
        """Whether values were put together to as much as one script may."""
        return self.effort.made > MAX_MADE

    def affords(self, characters: int) -> bool:
        """Count characters that are put together once more; return whether that may be."""
        self.effort.made += characters
        return not self.full

    def _lost(self, node: Any) -> Text:
        self.cut(node, Msg(f"values of more than {MAX_MADE} characters", f"值超过 {MAX_MADE} 个字符"))
        return self.spread(HOLE, *self.span(node))

    def too_many(self, node: Any) -> None:
        """Say that not all elements of a syntax node are known."""
        self.cut(node, Msg(f"more than {MAX_ITEMS} elements", f"超过 {MAX_ITEMS} 个元素"))

    def _unescape(self, start: int, end: int, escape: re.Pattern[str], stretch: Stretch) -> Text:
        if "\\" not in self.base.value[start:end]:
            return self.base.part(start, end).quoted(*stretch)
        weaver = Weaver(self.base)
        at = start
        for match in escape.finditer(self.base.value, start, end):
            weaver.take(at, match.start(), stretch)
            if match[1] != "\n":
                weaver.put(match[1], match.start(), match.end(), stretch)
            at = match.end()
        weaver.take(at, end, stretch)
        return weaver.text(end)

    def _ansi(self, start: int, end: int) -> Text:
        """Return the text of ``$'…'``."""
        weaver, stretch = Weaver(self.base), Stretch("$'", self.base.spots[start])
        for match in _ANSI_PART.finditer(self.base.value, start, end):
            code = match["hex"] or match["octal"]
            if code:
                number = int(code.lstrip("xuU"), 16 if match["hex"] else 8)
                character = chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
            else:
                character = _ANSI.get(match["sign"], match["sign"]) if match["sign"] else match.group()
            weaver.put(character, match.start(), match.end(), stretch)
        return weaver.text(end)

    def spread(self, value: str, start: int, end: int) -> Text:
        """Return ``value`` with all its characters at the expansion that it came from."""
        return Text(value, self.source, [self.base.spots[start]] * len(value) + [self.base.spots[end]])
