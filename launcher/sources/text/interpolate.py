"""Texts with ``$NAME`` in them, and command strings, as compose, Kubernetes and test descriptions write them."""

from __future__ import annotations

import re
from collections.abc import Callable

from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.values import HOLE, Text

Lookup = Callable[[str], str | None]
SHELL_NAME = re.compile(r"\$\$|\$(?:\{(?P<braced>\w+)(?::?-(?P<default>[^}]{0,500})|:?\?[^}]{0,500})?\}|(?P<bare>\w+))")
KUBERNETES_NAME = re.compile(r"\$\$|\$\((?P<braced>[\w.-]+)\)(?P<default>(?!))?(?P<bare>(?!))?")


def substitute(text: Text, lookup: Lookup, pattern: re.Pattern[str] = SHELL_NAME) -> Text:
    """Return ``text`` with its variables replaced; one that ``lookup`` does not know becomes a hole.

    The characters of a value all have the place of the variable.
    """
    if "$" not in text.value:
        return text.quoted("dollar", text.spots[0])
    weaver, stretch = Weaver(text), Stretch("dollar", text.spots[0])
    at = 0
    for match in pattern.finditer(text.value):
        weaver.take(at, match.start(), stretch)
        if match.group() == "$$":
            weaver.put("$", match.start(), match.end(), stretch)
        else:
            weaver.fill(_replacement(match, lookup), match.start())
        at = match.end()
    weaver.take(at, len(text.value), stretch)
    return weaver.text(len(text.value))


def _replacement(match: re.Match[str], lookup: Lookup) -> str:
    name = match["braced"] or match["bare"]
    if not name:
        return match.group()
    found = lookup(name)
    if found is not None:
        return found
    return HOLE if match["default"] is None else match["default"]


def split_words(text: Text, reader: str = "") -> tuple[list[Text], int]:
    """Split a command string as a shell would, without expanding anything.

    ``reader`` is whose quoting new text must keep to, where that is not a shell: ``systemd``.

    Returns:
        The words with their places, and the offset in ``text`` of a quote that is never closed, or -1.
    """
    words: list[Text] = []
    weaver: Weaver | None = None
    inside, opened, closed, begun = "", -1, -1, 0
    value, at = text.value, 0

    def word() -> Weaver:
        nonlocal weaver, begun
        if weaver is None:
            weaver, begun = Weaver(text), at
        return weaver

    def stretch() -> Stretch:
        return Stretch(reader + inside or "word", text.spots[opened if inside else begun])

    def finish(end: int) -> None:
        nonlocal weaver
        if weaver is not None:
            words.append(weaver.text(end if weaver.value else closed))
        weaver = None

    while at < len(value):
        character = value[at]
        following = value[at + 1 : at + 2]
        if inside != "'" and character == "\\" and (not inside or following in '"\\$`\n'):
            if following and following != "\n":
                word().put(following, at, at + 2, stretch())
            at += 1
        elif character == inside and inside:
            inside, closed = "", at
        elif not inside and character in "'\"":
            inside, opened = character, at
            word().begin(at, stretch())
        elif not inside and character in " \t\n":
            finish(at)
        else:
            word().put(character, at, at + 1, stretch())
        at += 1
    if inside and weaver is not None and not weaver.value:
        closed = len(value)
    finish(len(value))
    return words, opened if inside else -1
