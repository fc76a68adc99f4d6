"""How new characters must be written at a place of a file: in which quotes, inside what.

A place may lie several layers deep: in a JSON string, in double quotes of a shell, in a block scalar of YAML. Each
layer is a :class:`Quoting`; its ``outer`` is the layer around it, None for the file itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from pd_launch.schemas.core.lazy import lazy_pattern


class Quoting(NamedTuple):
    """One stretch of text in one kind of quotes.

    ``at`` is the offset in the file where the stretch begins: two stretches of one kind are not the same. ``detail`` is
    what else the kind needs: a block scalar's indentation, a Python string's prefix and quotation marks.
    """

    kind: str
    at: int
    outer: Quoting | None = None
    detail: str = ""


PLAIN_YAML = ("yaml", "yaml-flow")
"""The kinds of scalars of YAML without quotes, of which YAML takes some for numbers and other things."""
NOWHERE = Quoting("nowhere", -1)
"""Of characters that are not written themselves, such as the result of a calculation: nothing can be changed there."""

_PLAIN_WORD = lazy_pattern(r"[\w@%+=:,./-]*", re.ASCII)
_NO_PLAIN_YAML = lazy_pattern(r"[\n\r\t]|:(?=\s|\Z)|(?:\A|\s)#|\A[-?:](?=\s|\Z)|\{\{")
_NO_FLOW_YAML = lazy_pattern(r"[,\[\]{}]|\A\?")
_FILLED_IN = lazy_pattern(r"\{\{|\{%|\{#|<%|@[A-Z]\w{1,60}@|%[A-Z]\w{1,60}%")
"""What a template would fill in, wherever it is."""
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")


def spell(quoting: Quoting | None, text: str) -> str | None:
    """Return how ``text`` is written at a place, or None where it cannot be written there."""
    if _CONTROL.search(text) or _FILLED_IN.search(text):
        return None
    written: str | None = text
    while quoting is not None and written is not None:
        written = _WRITERS[quoting.kind](written, quoting.detail)
        quoting = quoting.outer
    return written


def _word(text: str, _: str) -> str:
    """Write a part of an unquoted shell word; signs that the shell would act on go into single quotes."""
    return text if _PLAIN_WORD.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def _ansi(text: str, _: str) -> str:
    return re.sub(r"([\\'])", r"\\\1", text).replace("\n", "\\n").replace("\t", "\\t")


def _unless(pattern: str) -> Callable[[str, str], str | None]:
    """Return a writer that leaves a text as it is and refuses one in which ``pattern`` is found."""
    refused = re.compile(pattern)
    return lambda text, _: None if refused.search(text) else text


def _before(pattern: str, escape: str) -> Callable[[str, str], str]:
    """Return a writer that puts ``escape`` before each sign that ``pattern`` matches."""
    signs = re.compile(f"({pattern})")
    return lambda text, _: signs.sub(lambda match: escape + match[0], text)


def _yaml_plain(text: str, _: str) -> str | None:
    return None if _NO_PLAIN_YAML.search(text) else text


def _yaml_flow(text: str, _: str) -> str | None:
    return None if _NO_PLAIN_YAML.search(text) or _NO_FLOW_YAML.search(text) else text


def _yaml_double(text: str, _: str) -> str:
    return re.sub(r'([\\"])', r"\\\1", text).replace("\n", "\\n").replace("\t", "\\t")


def _python(text: str, detail: str) -> str | None:
    """Write a part of a Python string; ``detail`` is its prefix in small letters and its quotation marks."""
    prefix = detail.rstrip("'\"")
    marks = detail[len(prefix) :]
    if "f" in prefix:
        text = text.replace("{", "{{").replace("}", "}}")
    if "r" in prefix:
        awkward = "\\" in text or marks[0] in text or (len(marks) == 1 and "\n" in text)
        return None if awkward else text
    text = text.replace("\\", "\\\\").replace(marks[0], f"\\{marks[0]}")
    return text if len(marks) == 3 else text.replace("\n", "\\n")


def _literal(text: str, _: str) -> str | None:
    """Write a value of JSON as Python does; only words and numbers, and texts that both write alike."""
    if re.fullmatch(r'-?[\d.]+|"[^"\\\n]*"', text):
        return text
    return {"true": "True", "false": "False", "null": "None"}.get(text)


_WRITERS: dict[str, Callable[[str, str], str | None]] = {
    "nowhere": lambda _text, _detail: None,
    "word": _word,
    "'": lambda text, _: text.replace("'", "'\\''"),
    '"': _before(r'[\\"$`]', "\\"),
    "$'": _ansi,
    "heredoc": _before(r"[\\$`]", "\\"),
    "json": lambda text, _: json.dumps(text, ensure_ascii=False)[1:-1],
    "yaml": _yaml_plain,
    "yaml-flow": _yaml_flow,
    "yaml'": lambda text, _: None if "\n" in text else text.replace("'", "''"),
    'yaml"': _yaml_double,
    "yaml|": lambda text, indent: text.replace("\n", f"\n{indent}"),
    "yaml>": _unless(r"\n"),
    "python": _python,
    "literal": _literal,
    "dumped": _unless(r'[\\"\n]'),
    "split": _unless(r"[\s'\"\\$]"),
    "percent": _before("%", "%"),
    "braces": lambda text, _: text.replace("{", "{{").replace("}", "}}"),
    "dollar": _before(r"\$", "$"),
    "specifier": lambda text, _: re.sub(r"[$%]", lambda match: match[0] * 2, text),
    "systemd": _unless(r"[^\w@+=:,./-]"),
    "systemd'": _unless(r"[\\'\n]"),
    'systemd"': _before(r'[\\"]', "\\"),
}
"""How each kind of stretch is written, by the stretch's ``detail``."""
