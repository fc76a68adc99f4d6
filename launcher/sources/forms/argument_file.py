"""Files of variables (``.env``) of which one holds arguments of an engine: ``VLLM_ARGS="--port 8000 …"``.

What puts them into a command is elsewhere, so that the engine may have any other arguments, and the variables of
the file are its own only where they are passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.sources.engine.found import Found, Nested, keep
from pd_launch.launcher.sources.text.interpolate import ARGUMENTS, expand, split_words
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import SourceFile, Text
from pd_launch.schemas.engine.sides import spoken_side

_LINE = lazy_pattern(r"[ \t]{0,40}(?:export[ \t]{1,40})?(?P<name>[A-Za-z_][\w.]{0,200})[ \t]?=(?P<value>[^\n]*)")
_BLANK = lazy_pattern(r"[ \t\r]{0,40}(?:#[^\n]*)?")
_SPEAKS = lazy_pattern(r"VLLM\w{0,80}(?:ARG|OPT|FLAG|EXTRA|PARAM)", re.IGNORECASE)
"""A name that says what the value is."""
_WORD_BEGINS, _WORD_ENDS = lazy_pattern(r"\S"), lazy_pattern(r"\s")
_LEAD = lazy_pattern(r"--[\w.-]{1,100}=")
MAX_LINES = 2000


def recognise(source: SourceFile) -> bool:
    """Whether a file has nothing but variables, one of them with arguments of an engine.

    Most files that are asked about have a line that is none: what reads arguments is imported after that.
    """
    return any(_holds(name, value) for name, value in _variables(source))


def read(given: SourceFile, source: SourceFile, found: Found) -> None:
    """Add an engine for each variable with arguments, and read each one with a command as a script."""
    from pd_launch.launcher.sources.engine.wrapped import STARTS

    for name, value in _variables(source):
        if STARTS.search(value.value):
            found.nested.append(Nested(value, keep))
        elif _holds(name, value):
            _add(name, value, source, found)


def _add(name: str, value: Text, source: SourceFile, found: Found) -> None:
    from pd_launch.launcher.sources.forms.only_arguments import add_arguments

    def finish(node: NodeLaunch) -> None:
        node.env_open = node.origin
        node.side = spoken_side(name) or spoken_side(source.path.rpartition("/")[2])

    words = expand(_words(value), ARGUMENTS)
    add_arguments(words, name, value.origin(), found, finish)


def _words(value: Text) -> list[Text]:
    """Return the words of a value: who splits it, a shell or a program, is not known, so that JSON keeps its quotes.

    Quotes around a word, or around what follows its equals sign, are taken off.
    """
    words, at, text = [], 0, value.value
    while (start := _WORD_BEGINS.search(text, at)) is not None:
        first = start.start()
        lead = _LEAD.match(text, first)
        inner = lead.end() if lead is not None else first
        mark = text[inner : inner + 1]
        close = text.find(mark, inner + 1) if mark in ("'", '"') else -1
        if close > 0:
            quoted = value.part(inner + 1, close).quoted(mark, value.spots[inner])
            head = [value.part(first, inner).quoted("split", value.spots[first])] if inner > first else []
            words.append(concat([*head, quoted], value.source, value.spots[first]))
            at = close + 1
        else:
            end = _WORD_ENDS.search(text, first)
            at = end.start() if end is not None else len(text)
            words.append(value.part(first, at).quoted("split", value.spots[first]))
    return words


def _holds(name: str, value: Text) -> bool:
    from pd_launch.launcher.sources.engine.wrapped import STARTS
    from pd_launch.launcher.sources.forms.only_arguments import only_arguments

    words = _words(value)
    return STARTS.search(value.value) is not None or only_arguments(words, _SPEAKS.search(name) is not None)


def _variables(source: SourceFile) -> Iterator[tuple[str, Text]]:
    """Iterate over the variables of a file and their values without the quotes around them; none of another file."""
    found: list[tuple[str, Text]] = []
    at = 0
    for _ in range(MAX_LINES):
        if at >= len(source.text):
            yield from found
            return
        end = source.text.find("\n", at)
        end = len(source.text) if end < 0 else end
        match = _LINE.match(source.text, at, end)
        if match is not None:
            found.append((match["name"], _unquoted(source, match.start("value"), end)))
        elif _BLANK.fullmatch(source.text, at, end) is None:
            return
        at = end + 1


def _unquoted(source: SourceFile, start: int, end: int) -> Text:
    raw = source.text[start:end]
    start += len(raw) - len(raw.lstrip())
    stop = start + len(raw.strip())
    mark = source.text[start : start + 1]
    if mark in ("'", '"') and stop - start > 1 and source.text[stop - 1] == mark:
        whole = Text.verbatim(source, start, stop)
        words, unclosed = split_words(whole)
        return words[0] if len(words) == 1 and unclosed < 0 else whole.part(1, len(whole.value) - 1)
    return Text.verbatim(source, start, stop)
