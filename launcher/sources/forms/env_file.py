"""Files of variables as ``EnvironmentFile=`` of systemd reads them: NAME=VALUE lines, quotes around whole values.

systemd.exec(5), at EnvironmentFile=.
"""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import SourceFile, Text

_LINE = lazy_pattern(r"[ \t\r\n]*(?:(?P<comment>[#;][^\n]*)|(?P<name>[^=\n]*)(?P<sign>=)?[ \t]*)")
_NAME = lazy_pattern(r"[A-Za-z_]\w*")
_ESCAPED_IN_QUOTES = '"\\`$'


def read_env_file(source: SourceFile) -> Iterator[tuple[Text, Text]]:
    """Iterate over the variables of a file: name and value, each in its place."""
    whole = Text.verbatim(source, 0, len(source.text))
    at = 1 if source.text.startswith("\ufeff") else 0
    while at < len(source.text):
        line = _LINE.match(source.text, at)
        if line is None:  # it matches anywhere
            return
        at = max(line.end(), at + 1)
        if line["comment"] is not None or not line["sign"]:
            continue
        value, at = _value(whole, line.end())
        name = line["name"].strip()
        if _NAME.fullmatch(name):
            yield whole.part(line.start("name"), line.start("name") + len(name)), value


def _value(whole: Text, start: int) -> tuple[Text, int]:
    """Return the value that begins at ``start``, and the end of its line."""
    text, at = whole.value, start
    weaver = Weaver(whole)
    while text[at : at + 1] in ("'", '"'):
        at = _quoted(whole, weaver, at)
        while text[at : at + 1] in (" ", "\t"):
            at += 1
    stretch, end = Stretch("word", whole.spots[at]), _line_end(text, at)
    stop = end - (len(text[at:end]) - len(text[at:end].rstrip()))
    while at < stop:
        size = 2 if text[at] == "\\" and at + 1 < stop else 1
        character = text[at + size - 1]
        if size == 1 or character != "\n":  # a line that ends with a backslash goes on
            weaver.put(character, at, at + size, stretch)
        at += size
    return (weaver.text(stop) if weaver.runs else whole.part(start, start)), end


def _line_end(text: str, at: int) -> int:
    """Return the end of a value without quotes: of its line, or of the last that goes on in the next."""
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        before = text[at:end].removesuffix("\r")
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return end
        at = end + 1


def _quoted(whole: Text, weaver: Weaver, opened: int) -> int:
    """Take in a value in quotes; return where it ends, after them."""
    text, mark = whole.value, whole.value[opened]
    stretch = Stretch(mark, opened)
    at = opened + 1
    weaver.begin(opened, stretch)
    while at < len(text) and text[at] != mark:
        escaped = mark == '"' and text[at] == "\\" and text[at + 1 : at + 2] in (*_ESCAPED_IN_QUOTES, "\n")
        size = 2 if escaped else 1
        if not (escaped and text[at + 1] == "\n"):
            weaver.put(text[at + size - 1], at, at + size, stretch)
        at += size
    return at + 1
