"""The parser of shell scripts: what it is given, and what it could not read."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pd_launch.launcher.sources.shell.flat import FlatParser
from pd_launch.launcher.sources.shell.unavailable import ShellUnavailable
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Origin, SourceFile, Text

_PLACEHOLDER = lazy_pattern(r"(?<![<\w])<\w(?:[\w.:/-]*\w|[\w .:/-]*[A-Za-z_])?>(?=[\s\"',:;)/]|\Z)")
"""``<host_ip>`` of a guide. Nobody writes two redirections in that form, without a blank before the second."""
_HEREDOC = lazy_pattern(r"(?<!<)<<-?[ \t]{0,20}['\"\\]?(?P<word>[A-Za-z_]\w{0,60})['\"]?(?!\w)")
_EXPANDS = lazy_pattern(r"\$[{(]|`|[\"']")
_LONGEST_CALCULATION = 500
_MOST_WORDS = 50
_CLOSING = ("fi", "done", "esac", "}", ")")
_TORN = lazy_pattern(r"(?m)^((?:(?!(?:^|\s)#).)*?[^\s\\])\\\n(?=[^\s#])")
"""A word that goes on in the next line: a backslash at its end, and no blank before or after."""
_STUCK = lazy_pattern(r"(?<=[^\s\\])\\[][ \t!#%&()*+,./:;<=>?@^{|}~-]")
"""An escaped sign inside a word: after a quoted part the parser would begin a new word there."""
_EQUALS = lazy_pattern(r"(?<=[ \t])==(?=[ \t]|$)")
_TESTS = lazy_pattern(r"[\[\]]|\(\(")
_BLANK_FIRST = lazy_pattern(r"(?<=[ \t])\\ (?=\S)")
"""An escaped blank with which a word begins: of several the parser would leave out the first."""
_NAMED_FD = lazy_pattern(r"(?:(?<=[\s;&|(])|^)\{[A-Za-z_]\w{0,80}\}(?=[<>])", re.MULTILINE)
"""``{name}>file``: the shell chooses a number, and sets the variable to it."""
_BRACES = lazy_pattern(
    r"(?:^|[;&|(]|\b(?:then|do|else)\b)[ \t]{0,40}\{(?![\s\"'{}])[^\s{};&|()<>`]{1,2000}\}", re.MULTILINE
)
"""Braces with which a command begins, and that make its words: the parser takes the first for a group's."""
_KEY = lazy_pattern(r"\$\{[!#]?[A-Za-z_]\w{0,80}\[[\w.-]{1,80}(?:[ \t]{1,9}[\w.-]{1,80}){1,9}\]")
"""A key with blanks, which need no quotes there."""
_ANSI = lazy_pattern(r"\$'(?:[^'\\]|\\.){0,100000}'", re.DOTALL)
"""A text in ``$'…'``. An escaped backslash at its end hides the end from the parser where a quote follows later."""


_others: list[FlatParser] = []


def use_parser(parser: FlatParser) -> None:
    """Read shell scripts with another parser from now on, where tree-sitter itself cannot be had."""
    _others[:] = [parser]


def parser_of_scripts() -> Any:
    """Return the parser of shell scripts.

    Raises:
        ShellUnavailable: it is not installed.
    """
    if _others:
        return _others[0]
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        raise ShellUnavailable(
            "shell scripts need a parser: pip install tree-sitter tree-sitter-bash (the extra [scripts] of pd-launch)"
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _without_false_ends(text: str) -> str:
    """Mask lines of here-documents that only begin with the word at their end: the parser would end them there."""
    words = {match["word"] for match in _HEREDOC.finditer(text)}
    if not words or len(words) > _MOST_WORDS:
        return text
    begins = re.compile(rf"(?m)^(\t*)({'|'.join(map(re.escape, words))})(?=[^\n])")
    if not begins.search(text):
        return text
    lines = {word: [m.start() for m in re.finditer(rf"(?m)^\t*{re.escape(word)}$", text)] for word in words}
    parts, at = [], 0
    for start in _HEREDOC.finditer(text):
        ends = lines[start["word"]]
        first, next_end = text.find("\n", start.end()), bisect_right(ends, start.end())
        if start.start() < at or first < 0 or next_end == len(ends):
            continue  # inside the one before, or without an end
        end = ends[next_end]
        body = begins.sub(lambda match: match[1] + "~" * len(match[2]), text[first:end])
        parts += [text[at:first], body]
        at = end
    return "".join([*parts, text[at:]])


def _without_shifts(text: str) -> str:
    """Mask ``$((…))``: in a here-document the parser takes a shift for a further one, and brackets for subshells.

    What the parser must see nothing of becomes a variable; where something else is expanded inside, only shifts go.
    """
    parts, at = [], 0
    while (start := text.find("$((", at)) >= 0:
        end = _end_of_calculation(text, start)
        inner = text[start + 3 : end - 2]
        if "<<" in inner or "(" in inner:
            plain = "\n" not in inner and not _EXPANDS.search(inner)
            shown = "${" + "_" * (end - start - 3) + "}" if plain else f"$(({inner.replace('<<', '+ ')}))"
            parts += [text[at:start], shown]
        else:
            parts.append(text[at:end])
        at = end
    return "".join([*parts, text[at:]])


def _end_of_calculation(text: str, start: int) -> int:
    """Return where ``$((`` ends that begins at ``start``: after its last bracket, or after the first ones."""
    depth = 0
    for at in range(start + 1, min(start + _LONGEST_CALCULATION, len(text))):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at + 1 if text[at - 1] == ")" else start + 3
    return start + 3


def _without_equals(text: str) -> str:
    """Mask the word ``==`` outside of tests: in the body of a function the parser takes it for an operator."""
    if "==" not in text:
        return text
    lines = text.split("\n")
    return "\n".join(line if _TESTS.search(line) else _EQUALS.sub("::", line) for line in lines)


def masked(text: str) -> str:
    """Return a text of the same length with plain words where the parser would see something else.

    The words' own characters are taken from the file.
    """
    text = _without_shifts(text)
    text = _KEY.sub(lambda match: re.sub(r"[ \t]", "_", match.group()), text)
    text = _NAMED_FD.sub(lambda match: "9" * len(match.group()), text)
    text = _BRACES.sub(lambda match: re.sub(r"[{},.]", "_", match.group()), text)
    text = _PLACEHOLDER.sub(lambda match: re.sub(r"[<> :;]", "_", match.group()), text)
    text = _ANSI.sub(lambda match: match.group().replace("\\\\", "__"), text)
    text = _without_equals(text)
    text = _BLANK_FIRST.sub("::", _STUCK.sub("::", _without_false_ends(text)))
    return _TORN.sub(lambda match: match[1] + "__", text)


def has_errors(text: Text) -> bool:
    """Whether the parser meets something in a script that it cannot read."""
    tree = parser_of_scripts().parse(masked(text.value).encode("utf-8", "surrogatepass"))
    return bool(tree.root_node.has_error)


def unclosed(root: Any) -> Iterator[tuple[Any, str]]:
    """Iterate over what a script never closes, with the word that is missing: the shell refuses all of it."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_missing and node.type in _CLOSING:
            yield node.parent, node.type
        elif node.has_error:
            waiting += reversed(node.children)


def unread(root: Any) -> Iterator[Any]:
    """Iterate over what the parser could not read: errors, and here-documents of which it found no end."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" or (node.type == "heredoc_redirect" and any(c.is_missing for c in node.children)):
            yield node
        else:
            waiting += reversed([child for child in node.children if child.has_error])


def held(places: Iterable[Origin], source: SourceFile) -> Callable[[int], bool]:
    """Return what tells whether one of ``places`` holds an offset of the file."""
    spans = sorted((source.offset(p.line, p.column), source.offset(p.end_line, p.end_column)) for p in places)
    furthest = list(itertools.accumulate((end for _, end in spans), max))

    def held(offset: int) -> bool:
        before = bisect_right(spans, offset, key=lambda span: span[0])
        return before > 0 and offset < furthest[before - 1]

    return held
