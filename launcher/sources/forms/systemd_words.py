"""Words of a unit's settings: systemd's quotes, escapes, specifiers and variables, which are not a shell's.

systemd.syntax(7), section Quoting; systemd.service(5), section Command lines; systemd.unit(5), section Specifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Text

BLANKS = " \t\n\r"
_ESCAPE = lazy_pattern(
    r"\\(?:(?P<sign>[abfnrtvs\\\"'])"
    r"|(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8}))|(?P<octal>[0-3][0-7]{2}))"
)
_SIGNS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_SPECIFIERS = "aAbBCdEfgGhHiIjJlLmMnNopPqsStTuUvVwWyY"
"""Letters after ``%`` that stand for something; any other is kept with its sign."""
EXPANDED = lazy_pattern(rf"%%|%(?P<specifier>[{_SPECIFIERS}])|\$\$|\$\{{(?P<braced>[A-Za-z_]\w{{0,200}})\}}")
"""What is expanded inside a word of a command line."""
SPECIFIED = lazy_pattern(rf"%%|%(?P<specifier>[{_SPECIFIERS}])(?P<braced>(?!))?")
"""What is expanded in a setting that is no command line: there a ``$`` is just a sign."""
_WHOLE = lazy_pattern(r"\$(?![{$])")
"""How a word begins that is a variable as a whole, whose value is split at blanks."""
_NAME = lazy_pattern(r"[A-Za-z_]\w{0,200}")
_UNIT = lazy_pattern(r"(?P<prefix>[^/@]{1,255})(?P<template>@(?P<instance>[^/]{0,255}))?\.service")


class Split(NamedTuple):
    """The words of a setting; ``unclosed`` is the offset of a quote that is never closed, or -1."""

    words: list[Text]
    unclosed: int = -1


@dataclass
class _Splitter:
    text: Text
    escapes: bool = True
    words: list[Text] = field(default_factory=list)
    weaver: Weaver | None = None
    quote: str = ""
    opened: int = -1
    closed: int = -1
    begun: int = 0

    def word(self, at: int) -> Weaver:
        """Return the word that is being read, or begin one."""
        if self.weaver is None:
            self.weaver, self.begun = Weaver(self.text), at
        return self.weaver

    def stretch(self) -> Stretch:
        return Stretch(f"systemd{self.quote}", self.text.spots[self.opened if self.quote else self.begun])

    def finish(self, end: int) -> None:
        if self.weaver is not None:
            self.words.append(self.weaver.text(end if self.weaver.value else self.closed))
        self.weaver = None

    def step(self, at: int) -> int:
        """Take in what is at ``at``; return where the next begins."""
        character = self.text.value[at]
        if character == "\\":
            meaning, size = _escaped(self.text.value, at, self.escapes)
            self.word(at).put(meaning, at, at + size, self.stretch())
            return at + size
        if self.quote and character == self.quote:
            self.quote, self.closed = "", at
        elif not self.quote and character in "'\"":
            word = self.word(at)
            self.quote, self.opened = character, at
            word.begin(at, self.stretch())
        elif not self.quote and character in BLANKS:
            self.finish(at)
        else:
            self.word(at).put(character, at, at + 1, self.stretch())
        return at + 1

    def done(self) -> Split:
        if self.quote and self.weaver is not None and not self.weaver.value:
            self.closed = len(self.text.value)
        self.finish(len(self.text.value))
        return Split(self.words, self.opened if self.quote else -1)


def _escaped(value: str, at: int, escapes: bool) -> tuple[str, int]:
    """Return what an escape stands for, and how many characters it has; one that is not known stays as it is."""
    if not escapes:
        return value[at + 1 : at + 2], min(2, len(value) - at)
    match = _ESCAPE.match(value, at)
    if match is None:
        return value[at : at + 2], min(2, len(value) - at)
    number = match["x"] or match["u"] or match["U"]
    if match["sign"]:
        return _SIGNS.get(match["sign"], match["sign"]), match.end() - at
    code = int(number, 16) if number else int(match["octal"], 8)
    return (chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else match.group()), match.end() - at


def split(text: Text, escapes: bool = True) -> Split:
    """Split a setting into words; without ``escapes`` a backslash only keeps the sign after it, as in a variable."""
    splitter, at = _Splitter(text, escapes), 0
    while at < len(text.value):
        at = splitter.step(at)
    return splitter.done()


def command_lines(text: Text) -> Iterator[Split]:
    """Iterate over the command lines of a setting, which a lone ``;`` parts; ``\\;`` is a word."""
    splitter, at, value = _Splitter(text), 0, text.value
    while at < len(value):
        lone = splitter.weaver is None and not splitter.quote
        if lone and value[at] == ";" and value[at + 1 : at + 2] in ("", *BLANKS):
            yield splitter.done()
            splitter = _Splitter(text)
            at += 1
        elif lone and value.startswith("\\;", at) and value[at + 2 : at + 3] in ("", *BLANKS):
            splitter.word(at).put(";", at, at + 2, splitter.stretch())
            at += 2
        else:
            at = splitter.step(at)
    yield splitter.done()


@dataclass(frozen=True)
class Names:
    """What a unit's own name says: the values of specifiers that are known from it."""

    known: Mapping[str, str]

    @classmethod
    def of(cls, path: str) -> Names:
        """Read the name of a unit's file.

        The instance of a template is not known before it is started; nor is that of a unit which is no template,
        whose file may well become one under another name.
        """
        match = _UNIT.fullmatch(path.rpartition("/")[2])
        if match is None:
            return cls({})
        prefix, instance = match["prefix"], match["instance"]
        known = {"p": prefix, "j": prefix.rpartition("-")[2]}
        if match["template"] is None:
            return cls({**known, "n": f"{prefix}.service", "N": prefix})
        if not instance:
            return cls(known)
        whole = f"{prefix}@{instance}"
        plain = {} if "-" in instance or "\\" in instance else {"I": instance}
        return cls({**known, **plain, "i": instance, "n": f"{whole}.service", "N": whole})


def specified(word: Text, names: Names) -> Text:
    """Return a word of a setting that is no command line, with its specifiers replaced."""
    return _expanded(word, SPECIFIED, "percent", names, {})


def arguments(word: Text, names: Names, env: Mapping[str, Text]) -> list[Text]:
    """Return what a word of a command line becomes: ``$NAME`` any number of words, everything else one."""
    if not _WHOLE.match(word.value):
        return [_expanded(word, EXPANDED, "specifier", names, env)]
    name = word.value[1:]
    value = env.get(name) if _NAME.fullmatch(name) else None
    if value is None:  # it may be set elsewhere, by the manager or a file
        return [word.stand_in(HOLE * 2)]
    return split(value, escapes=False).words


def literal(word: Text, names: Names) -> Text:
    """Return a word of a command line whose variables are not replaced, as after the prefix ``:``."""
    return _expanded(word, SPECIFIED, "percent", names, {})


def _expanded(word: Text, pattern: re.Pattern[str], kind: str, names: Names, env: Mapping[str, Text]) -> Text:
    """Return a word with what ``pattern`` finds replaced; new text in it is written as ``kind`` says."""
    weaver, stretch = Weaver(word), Stretch(kind, word.spots[0])
    at = 0
    for match in pattern.finditer(word.value):
        weaver.take(at, match.start(), stretch)
        if match["specifier"]:
            weaver.fill(names.known.get(match["specifier"], HOLE), match.start())
        elif match["braced"]:
            value = env.get(match["braced"])
            weaver.fill(HOLE if value is None else value.value, match.start())
        else:
            weaver.put(match.group()[0], *match.span(), stretch)
        at = match.end()
    if not at:
        return word.quoted(*stretch)
    weaver.take(at, len(word.value), stretch)
    return weaver.text(len(word.value))
