"""Texts with ``$NAME`` in them, and command strings, as compose, Kubernetes and test descriptions write them."""

from __future__ import annotations

import re
from collections.abc import Callable

from pd_launch.schemas.values import HOLE, Text

Lookup = Callable[[str], str | None]
SHELL_NAME = re.compile(r"\$\$|\$(?:\{(?P<braced>\w+)(?::?-(?P<default>[^}]{0,500})|:?\?[^}]{0,500})?\}|(?P<bare>\w+))")
KUBERNETES_NAME = re.compile(r"\$\$|\$\((?P<braced>[\w.-]+)\)(?P<default>(?!))?(?P<bare>(?!))?")


def substitute(text: Text, lookup: Lookup, pattern: re.Pattern[str] = SHELL_NAME) -> Text:
    """Return ``text`` with its variables replaced; one that ``lookup`` does not know becomes a hole.

    The characters of a value all have the place of the variable.
    """
    if "$" not in text.value:
        return text
    value: list[str] = []
    spots: list[int] = []
    at = 0
    for match in pattern.finditer(text.value):
        value.append(text.value[at : match.start()])
        spots += text.spots[at : match.start()]
        new = _replacement(match, lookup)
        value.append(new)
        spots += [text.spots[match.start()]] * len(new)
        at = match.end()
    value.append(text.value[at:])
    spots += text.spots[at:]
    return Text("".join(value), text.source, spots)


def _replacement(match: re.Match[str], lookup: Lookup) -> str:
    name = match["braced"] or match["bare"]
    if not name:
        return "$" if match.group() == "$$" else match.group()
    found = lookup(name)
    if found is not None:
        return found
    return HOLE if match["default"] is None else match["default"]


def split_words(text: Text) -> tuple[list[Text], int]:
    """Split a command string as a shell would, without expanding anything.

    Returns:
        The words with their places, and the offset in ``text`` of a quote that is never closed, or -1.
    """
    words: list[Text] = []
    characters: list[str] = []
    spots: list[int] = []
    inside, started, opened = "", False, -1
    value, at = text.value, 0

    def take(index: int) -> None:
        characters.append(value[index])
        spots.append(text.spots[index])

    def finish(end: int) -> None:
        words.append(Text("".join(characters), text.source, [*spots, text.spots[min(end, len(text.spots) - 1)]]))
        characters.clear()
        spots.clear()

    while at < len(value):
        character = value[at]
        following = value[at + 1 : at + 2]
        if inside == "'":
            if character == "'":
                inside = ""
            else:
                take(at)
        elif character == "\\" and (not inside or following in '"\\$`\n'):
            if following and following != "\n":
                take(at + 1)
                started = True
            at += 1
        elif inside:
            if character == '"':
                inside = ""
            else:
                take(at)
        elif character in "'\"":
            inside, started, opened = character, True, at
        elif character in " \t\n":
            if started:
                finish(at)
            started = False
        else:
            take(at)
            started = True
        at += 1
    if started:
        finish(len(value))
    return words, opened if inside else -1
