"""What each form fills into its words, and what stays unknown: one table of syntaxes, one way through it.

A command string or a list of words becomes :class:`Words` here, whatever form it is in; shells alone follow their
own variables before (``shell.expansions``), as these depend on what the script did so far.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from pd_launch.launcher.sources.text.templates import filled
from pd_launch.launcher.sources.text.weave import Stretch, Weaver, with_holes
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text

Lookup = Callable[[str], str | None]
SHELL_NAME = lazy_pattern(
    r"\$\$|\$(?:\{(?P<braced>\w+)(?::?-(?P<default>[^}]{0,500})|:?\?[^}]{0,500})?\}|(?P<bare>\w+))"
)
KUBERNETES_NAME = lazy_pattern(r"\$\$|\$\((?P<braced>[\w.-]+)\)(?P<default>(?!))?(?P<bare>(?!))?")
FILLED_BEFORE = lazy_pattern(r"\$\{\w+(?::?[-=?][^}]{0,500})?\}")
"""What envsubst, kustomize or Flux fill into a manifest, which Kubernetes itself leaves as it is."""


class Syntax(NamedTuple):
    """How a form writes what is filled in, beside templates, which all forms may have."""

    name: str
    variables: re.Pattern[str] | None
    """What stands for a variable; None where the form's own reader has followed them: shells', systemd's."""
    quoting: str = "dollar"
    """What new text must keep to there (see ``schemas.core.quoting``)."""
    split_first: bool = False
    """Whether a command string is split into words before its variables are filled in."""
    escaped: bool = False
    """Whether a variable whose ``$`` was escaped, or was in single quotes, is text."""
    before: re.Pattern[str] | None = None
    """What other programs fill in before. Only an engine's own words are looked at: in a script it is a variable."""


SHELL = Syntax("shell", None)
GIVEN = Syntax("command line", None)
PYTHON = Syntax("python", None)
COMPOSE = Syntax("compose", SHELL_NAME)
KUBERNETES = Syntax("kubernetes", KUBERNETES_NAME, before=FILLED_BEFORE)
SYSTEMD = Syntax("systemd", None)
CONFIG = Syntax("config file", None, before=FILLED_BEFORE)
E2E = Syntax("e2e", SHELL_NAME, split_first=True)
LOOSE = Syntax("loose yaml", KUBERNETES_NAME, before=FILLED_BEFORE)
DOCKERFILE = Syntax("dockerfile", SHELL_NAME, escaped=True)
SUPERVISORD = Syntax("supervisord", None)
ARGUMENTS = Syntax("arguments", SHELL_NAME, split_first=True)
"""A text of arguments alone, which something else puts into a command."""
TABLES = (
    *(SHELL, GIVEN, PYTHON, COMPOSE, KUBERNETES, SYSTEMD, CONFIG, E2E, LOOSE),
    *(DOCKERFILE, SUPERVISORD, ARGUMENTS),
)
"""Every syntax that there is."""


class Words(list[Text]):
    """Words of a command in which all that is filled in has been looked at. Only :func:`expand` and its like make it.

    What turns words into an engine takes nothing else, so that no form can forget to expand its own.
    """

    def __init__(self, words: Iterable[Text], syntax: Syntax) -> None:
        super().__init__(words)
        self.syntax = syntax

    def having(self, words: Iterable[Text]) -> Words:
        """Return words of the same form: a part of these, or these with what the form adds itself."""
        return Words(words, self.syntax)


def nothing(_: str) -> None:
    """Know no variable."""


def filled_before(words: Words) -> Words:
    """Return the words of an engine without what other programs fill in before the form's own reader sees it."""
    pattern = words.syntax.before
    if pattern is None:
        return words
    return words.having(_without(word, pattern) for word in words)


def _without(word: Text, pattern: re.Pattern[str]) -> Text:
    return with_holes(word, (match.span() for match in pattern.finditer(word.value)))


def expand(texts: Iterable[Text], syntax: Syntax, lookup: Lookup = nothing) -> Words:
    """Return the words of a list, with what is filled in; what nobody knows before is a hole."""
    return Words((expand_value(text, syntax, lookup) for text in texts), syntax)


def expand_value(text: Text, syntax: Syntax, lookup: Lookup = nothing) -> Text:
    """Return one value, such as a variable's, with what is filled in."""
    return _replaced(filled(text), syntax, lookup)


def expand_node(node: Node, syntax: Syntax, lookup: Lookup = nothing) -> Node:
    """Return a value that goes to an engine as the text that it is, with what is filled in; the leaves of a mapping."""
    if isinstance(node.value, dict):
        return replace(node, value={key: expand_node(child, syntax, lookup) for key, child in node.items()})
    if isinstance(node.value, list):
        return replace(node, value=[expand_node(child, syntax, lookup) for child in node.elements()])
    if node.text is None:
        return node
    text = expand_value(node.text, syntax, lookup)
    text = text if syntax.before is None else _without(text, syntax.before)
    if HOLE not in text.value and text.value == node.text.value:
        return node
    return replace(text.node(), key=node.key, key_text=node.key_text, shadowed=node.shadowed)


def expand_command(text: Text, syntax: Syntax, lookup: Lookup = nothing) -> tuple[Words, Origin | None]:
    """Return the words of a command string, and where a quote is in it that is never closed."""
    text = filled(text)
    if not syntax.split_first:
        text = _replaced(text, syntax, lookup)
    words, unclosed = split_words(text)
    if syntax.split_first:
        words = [_replaced(word, syntax, lookup) for word in words]
    return Words(words, syntax), text.origin(unclosed, unclosed + 1) if unclosed >= 0 else None


def _replaced(text: Text, syntax: Syntax, lookup: Lookup) -> Text:
    """Return ``text`` with its variables replaced; the characters of a value all have the place of the variable."""
    pattern = syntax.variables
    if pattern is None:
        return text
    stretch = Stretch(syntax.quoting, text.spots[0])
    matches = list(pattern.finditer(text.value)) if "$" in text.value else []
    if syntax.escaped:
        matches = [match for match in matches if not _is_protected(text, match.start())]
    if not matches:
        return text.quoted(*stretch)
    weaver, at = Weaver(text), 0
    for match in matches:
        weaver.take(at, match.start(), stretch)
        if match.group() == "$$":
            weaver.put("$", match.start(), match.end(), stretch)
        else:
            weaver.fill(_replacement(match, lookup), match.start())
        at = match.end()
    weaver.take(at, len(text.value), stretch)
    return weaver.text(len(text.value))


def _is_protected(text: Text, at: int) -> bool:
    """Whether the sign at ``at`` was written after a backslash, or in single quotes."""
    quoting = text.quoting(at)
    return text.source.text[text.spots[at]] == "\\" or (quoting is not None and quoting.kind == "'")


def _replacement(match: re.Match[str], lookup: Lookup) -> str:
    """Return what stands for a variable: its value, or the default, unless that says nothing: it may well be set."""
    name = match["braced"] or match["bare"]
    if not name:
        return HOLE
    found = lookup(name)
    if found is not None:
        return found
    return match["default"] or HOLE


def split_words(text: Text) -> tuple[list[Text], int]:
    """Split a command string as a shell would, without expanding anything.

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
        return Stretch(inside or "word", text.spots[opened if inside else begun])

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
