"""Where a value ends that comes after a name: a word of a shell, a text of JSON, YAML or Python, or a list of these.

The text may be of any language, and broken. What is read is read once, so that it costs no more than it is long.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass

Span = tuple[int, int]
_MOST_ITEMS = 10_000
_LONGEST_TEXT = 20_000
"""Characters of a text of several lines, as a private key has 3000: a quote that nobody closes would take all."""
_OPENS = lazy_pattern(r"""(?:\$|[fFrRbBuU]{1,2})?(?P<slashes>\\{0,15})(?P<quote>["'])""")
_QUOTES = {quote: lazy_pattern(rf"(?<!\\)\\{{0,40}}{quote}") for quote in "\"'"}
_CHANGES = lazy_pattern(r"""\\[^\n]|["'\n]""")
_BLANKS = lazy_pattern(r"(?:\s|,|\\\n){0,400}")
_RUN = lazy_pattern(r"""[^\s"'\\;,&|()<>`{}\[\]$]{1,4000}""")
_GOES_ON = lazy_pattern(r"""[,}\]](?=[^\s,}\]);"'\\])""")
_ESCAPED = lazy_pattern(r"\\(?:[^\"'nrt]|[nrt\"'])", re.DOTALL)
_BRACES = lazy_pattern(r"\$\{(?P<in>(?:[^{}\n]|\{[^{}\n]{0,100}\}){0,300})\}")
_IN_BRACES = lazy_pattern(r"[!#]?(?P<name>\w{1,80})(?P<default>:?[-=+])?")
_PLAIN = lazy_pattern(r"\$(?P<name>\w{1,80})")
_COMMANDS = ("$(", "`")
_PLACEHOLDERS = ("{{", "<", "***")


@dataclass
class Value:
    """What comes after a name: its secret parts, where it ends, and from where to look on."""

    spans: list[Span] = field(default_factory=list)
    end: int = 0
    resume: int = 0
    quoted: bool = False


class Values:
    """Reads the values of a text. ``used`` are the variables that become a part of one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.used: set[str] = set()
        self._at, self._open = [0], [""]
        for match in _CHANGES.finditer(text):
            sign, before = match[0], self._open[-1]
            if len(sign) == 1 and (sign == "\n" or not before or sign == before):
                self._at.append(match.end())
                self._open.append("" if sign == "\n" or before else sign)

    def quote_at(self, at: int) -> str:
        """Return the quote that is open at a place, of those on its line."""
        return self._open[bisect_right(self._at, at) - 1]

    def read(self, at: int, tight: bool) -> Value:
        """Return the value that begins ``at``, or the values of a list. ``tight`` is what a shell takes as a word."""
        if self.text[at : at + 1] in ("[", "("):
            return self._items(at, tight and self.text[at] == "(")
        return self.word(at, tight)

    def _items(self, at: int, tight: bool) -> Value:
        value = Value(end=at + 1, resume=at)
        for _ in range(_MOST_ITEMS):
            blanks = _BLANKS.match(self.text, value.end)
            begin = blanks.end() if blanks else value.end
            if self.text[begin : begin + 1] in ("", "]", ")", "{", "}"):
                break
            word = self.word(begin, tight)
            if word.end <= begin:
                break
            value.spans += word.spans
            value.end = value.resume = word.end
            value.quoted = value.quoted or word.quoted
        return value

    def word(self, at: int, tight: bool) -> Value:
        """Return one value. In a shell's word, what is quoted and what is not may follow each other."""
        value, around = Value(end=at, resume=at), self.quote_at(at)
        if self.text.startswith(_PLACEHOLDERS, at):
            return value
        while value.end < len(self.text):
            opens = _OPENS.match(self.text, value.end)
            if opens is None:
                if not self._bare(value, tight, around):
                    break
                continue
            joined = value.end > at
            if joined and (opens["slashes"] or opens["quote"] == around or not (tight or value.quoted)):
                break
            if not self._quoted(value, opens, tight and not around, joined):
                break
        value.resume = value.resume if value.resume > at else value.end
        if not value.spans and self._calls(at):
            value.resume = at
        return value

    def _calls(self, at: int) -> bool:
        """Whether a value is what a command prints: that one's words are looked at too."""
        return any(sign in self.text[at : at + 8] for sign in _COMMANDS)

    def _bare(self, value: Value, tight: bool, around: str) -> bool:
        start = at = value.end
        while at < len(self.text):
            run = _RUN.match(self.text, at) or _GOES_ON.match(self.text, at) or _BRACES.match(self.text, at)
            if run is None:
                run = self._special(at, tight, around)
            if run is None:
                break
            at = run.end()
        if at > start + 1 and self.text[at - 1] == ":" and self.text[at : at + 1].isspace():
            at -= 1  # of a message that names the value
        if at == start:
            return False
        value.spans += self.parts(start, at)
        value.end = at
        return True

    def _special(self, at: int, tight: bool, around: str) -> re.Match[str] | None:
        """Match a sign that only some languages take as a part of a word."""
        text = self.text
        if text[at] == "\\":
            if around or not tight:  # an escape of the text around
                return None
            return _ESCAPED.match(text, at)
        if text[at] == "$" and not text.startswith(("$(", "$'", '$"'), at):
            return _ANY.match(text, at)
        if text[at] in "{[(" and (text[at] != "(" or not tight):
            return _ANY.match(text, at)
        if text[at] in "&|<>" and not tight:
            return _ANY.match(text, at)
        return None

    def _quoted(self, value: Value, opens: re.Match[str], outside: bool, joined: bool) -> bool:
        """Add a quoted part; False where the value ends with it."""
        text, begin, quote = self.text, opens.end(), opens["quote"]
        literal = outside and quote == "'"
        close = self._close(begin, len(opens["slashes"]), quote, literal and not opens[0].startswith("$"))
        line = text.find("\n", begin)
        line = len(text) if line < 0 else line
        if joined and (close is None or close.start() > line):
            return False
        value.quoted = True
        if close is None or close.start() - begin > _LONGEST_TEXT or (close.start() > line and opens["slashes"]):
            value.spans += self.parts(begin, line)
            value.end = line
            return False
        value.spans += [(begin, close.start())] if literal else self.parts(begin, close.start())
        value.end = close.end()
        if close.start() > line:
            value.resume = line  # a quote that was not meant to be open hides no name
        return True

    def _close(self, begin: int, slashes: int, quote: str, shell: bool) -> re.Match[str] | None:
        """Find the quote that ends a text, which ``slashes`` are before: what is quoted inside has more of them."""
        for match in _QUOTES[quote].finditer(self.text, begin):
            before = match.end() - match.start() - 1
            if slashes:
                if before <= slashes:
                    return match
            elif before % 2 == 0 or (shell and self._ends(match.end())):
                return _ANY.match(self.text, match.end() - 1)
        return None

    def _ends(self, at: int) -> bool:
        """Whether a word ends here: for a shell, no sign before a single quote keeps it from ending a text."""
        return at >= len(self.text) or self.text[at].isspace() or self.text[at] in ";&|)"

    def parts(self, start: int, end: int) -> Iterator[Span]:
        """Iterate over what of a value is written there, and not only named: of ``${NAME:-default}`` the default."""
        text, at = self.text, start
        if text.startswith(_PLACEHOLDERS, start):
            return
        while at < end and text[at] == "$":
            match = _BRACES.match(text, at, end) or _PLAIN.match(text, at, end)
            if match is None:
                return
            yield from self._named(match, text[match.end() : match.end() + 1] == "/")
            at = match.end()
        if at > start and text[at : at + 1] in ("/", "`"):
            return
        if any(c.isalnum() for c in text[at:end]):
            yield at, end
            if at == start:
                self.used.update(match["name"] for match in _PLAIN.finditer(text, at, end))

    def _named(self, match: re.Match[str], is_folder: bool) -> Iterator[Span]:
        inside = match.groupdict().get("in")
        named = match if inside is None else _IN_BRACES.match(self.text, match.start("in"), match.end("in"))
        if named is None:
            return
        if not is_folder:
            self.used.add(named["name"])
        if inside is not None and named["default"]:
            start, end = named.end(), match.end("in")
            if end - start > 1 and self.text[start] in "\"'" and self.text[end - 1] == self.text[start]:
                start, end = start + 1, end - 1
            yield from self.parts(start, end)


_ANY = lazy_pattern(r".", re.DOTALL)
