"""Texts that Python puts together: ``json.dumps(…)``, f-strings, sums of strings, with the places of their parts."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from pd_launch.launcher.sources.text.weave import Stretch, Weaver, concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, Origin, SourceFile, Text
from pd_launch.schemas.core.whole import whole

Value = Callable[[ast.expr], Node]
MAX_DEPTH = 20
_PERCENT = lazy_pattern(r"(?P<same>%%)|%(?P<name>(?!))?(?:(?P<plain>[sd])|[^%])")
_BRACES = lazy_pattern(r"(?P<same>\{\{|\}\})|\{(?P<name>\w*)(?:(?P<plain>\})|(?!\w)[^{}]*\})")
_OPENING = lazy_pattern(r"(?P<prefix>[A-Za-z]{0,2})(?P<marks>\"\"\"|'''|\"|')")
_ESCAPE = lazy_pattern(
    r"\\(?:\r\n|N\{[^}]{1,80}\}|U[0-9a-fA-F]{8}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL
)


def made(value: str, source: SourceFile, origin: Origin) -> Text:
    """Return a text all of whose characters are where ``origin`` begins."""
    return _made(value, source, _offset(source, origin))


def _made(value: str, source: SourceFile, at: int) -> Text:
    return Text(value, source, [at] * (len(value) + 1))


def spelled(expression: ast.expr, value: Value, source: SourceFile, origin: Origin) -> Text | None:
    """Return the text of an f-string, a sum of strings, ``str(…)`` or ``json.dumps(…)``; None for anything else."""
    start = _offset(source, origin)
    if isinstance(expression, ast.JoinedStr):
        return concat(_formatted(expression, value, source, origin), source, start)
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        return _sum(expression, value, source, start)
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mod):
        right = expression.right
        given = list(right.elts) if isinstance(right, ast.Tuple) else [right]
        return _filled(value(expression.left).text, _PERCENT, given, {}, value)
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute) and _formats(expression):
        named = {keyword.arg: keyword.value for keyword in expression.keywords if keyword.arg}
        return _filled(value(expression.func.value).text, _BRACES, expression.args, named, value)
    if isinstance(expression, ast.Call) and len(expression.args) == 1 and ast.unparse(expression.func) == "str":
        return _shown(value(expression.args[0]), source)
    if isinstance(expression, ast.Call) and expression.args and ast.unparse(expression.func).endswith("json.dumps"):
        return dumped(value(expression.args[0]), source, start)
    return None


def dumped(data: Node, source: SourceFile, start: int) -> Text:
    """Return the JSON that a program makes of a value in its code, which keeps its places; ``start``: of the call."""
    return replace(concat(list(_json(data, source, 0)), source, start), data=data)


def _formatted(expression: ast.JoinedStr, value: Value, source: SourceFile, origin: Origin) -> list[Text]:
    """Return the parts of an f-string; what is literal keeps its places where the string is one literal."""
    start, end = _offset(source, origin), source.offset(origin.end_line, origin.end_column)
    written = _between_braces(source, start, end)
    literal = [str(piece.value) for piece in expression.values if isinstance(piece, ast.Constant)]
    if [text.value for text in written if text.value] != literal:
        written = [_made(text, source, start) for text in literal]
    places = iter(text for text in written if text.value)
    parts: list[Text] = []
    for piece in expression.values:
        if isinstance(piece, ast.FormattedValue):
            plain = piece.conversion == -1 and piece.format_spec is None
            shown = _shown(value(piece.value), source).value if plain else HOLE
            parts.append(_made(shown, source, parts[-1].spots[-1] if parts else start))
        else:
            parts.append(next(places))
    return parts


def _between_braces(source: SourceFile, start: int, end: int) -> list[Text]:
    """Return what is between the braces of one f-string literal, as far as it can be told; else nothing."""
    opening = _OPENING.match(source.text, start, end)
    if opening is None or "f" not in opening["prefix"].lower():
        return []
    body, stop = opening.end(), end - len(opening["marks"])
    stretch = Stretch("python", start, opening["prefix"].lower() + opening["marks"])
    found: list[Text] = []
    at = first = body
    while at < stop:
        if source.text[at] in "{}" and source.text[at + 1 : at + 2] != source.text[at]:
            found.append(_literal(source, first, at, stretch))
            at = first = _closing(source.text, at, stop)
        else:
            at += 2 if source.text[at] in "{}\\" else 1
    return [*found, _literal(source, first, stop, stretch)]


def _closing(text: str, at: int, stop: int) -> int:
    """Return the offset after the brace that closes the one at ``at``."""
    depth = 0
    while at < stop:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if not depth:
            break
    return at


def _literal(source: SourceFile, start: int, end: int, stretch: Stretch) -> Text:
    """Return the characters of a Python string's inside ``[start, end)``."""
    base = Text.verbatim(source, 0, len(source.text))
    prefix = stretch.detail.rstrip("\"'")
    weaver, at = Weaver(base), start
    weaver.begin(start, stretch)
    pattern = r"\{\{|\}\}|" if "f" in prefix else ""
    pattern += r"\r\n" if "r" in prefix else rf"\r\n|{_ESCAPE.pattern}"
    for match in re.compile(pattern, re.DOTALL).finditer(source.text, start, end):
        weaver.take(at, match.start(), stretch)
        at = match.end()
        if match[0][0] in "{}":
            weaver.put(match[0][0], *match.span(), stretch)
        elif match[0] == "\r\n":
            weaver.put("\n", *match.span(), stretch)
        elif match[0] not in ("\\\n", "\\\r\n"):
            weaver.put(_escaped(match[0]), *match.span(), stretch)
    weaver.take(at, end, stretch)
    return weaver.text(end)


def _escaped(written: str) -> str:
    try:
        with warnings.catch_warnings():  # they quote the file, raw, on standard error
            warnings.simplefilter("ignore")
            return str(ast.literal_eval(f"'''{written}'''"))
    except (SyntaxError, ValueError):
        return written


def _formats(call: ast.Call) -> bool:
    plain = not any(isinstance(argument, ast.Starred) for argument in call.args) and all(k.arg for k in call.keywords)
    return plain and isinstance(call.func, ast.Attribute) and call.func.attr == "format"


def _filled(
    template: Text | None, places: re.Pattern[str], given: list[ast.expr], named: dict[str, ast.expr], value: Value
) -> Text | None:
    """Return a template of ``%`` or ``.format`` with its places filled; what is not plain there is a hole."""
    if template is None:
        return None
    weaver, stretch = Weaver(template), Stretch("percent" if places is _PERCENT else "braces", template.spots[0])
    at = taken = 0
    for match in places.finditer(template.value):
        weaver.take(at, match.start(), stretch)
        at = match.end()
        name = match["name"] or ""
        if match["same"]:
            weaver.put(match["same"][0], *match.span(), stretch)
            continue
        wanted = named.get(name)
        if not name or name.isdecimal():
            index = whole(name) if name else taken
            taken += 1
            wanted = given[index] if index is not None and index < len(given) else None
        known = wanted is not None and match["plain"]
        weaver.fill(_shown(value(wanted), template.source).value if known and wanted else HOLE, match.start())
    weaver.take(at, len(template.value), stretch)
    return weaver.text(len(template.value))


def literals(source: SourceFile, start: int, end: int, value: object) -> Text | None:
    """Return the text of string literals that come after one another; None where that is not what ``value`` is."""
    raw = source.text[start:end]
    parts: list[Text] = []
    starts = [0, *(match.end() for match in re.finditer("\n", raw))]
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({raw})").readline):
            opening = _OPENING.match(token.string) if token.type == tokenize.STRING else None
            if opening is None:
                continue
            line, column = token.start
            at = start + starts[line - 1] + column - (line == 1)
            stretch = Stretch("python", at, opening["prefix"].lower() + opening["marks"])
            stop = at + len(token.string) - len(opening["marks"])
            parts.append(_literal(source, at + opening.end(), stop, stretch))
    except (tokenize.TokenError, SyntaxError, ValueError, TypeError):
        return None
    return concat(parts, source, start) if "".join(part.value for part in parts) == value else None


def _sum(expression: ast.BinOp, value: Value, source: SourceFile, start: int) -> Text | None:
    """Return the sum of two values of which one at least is surely a string."""
    sides = [value(expression.left), value(expression.right)]
    if not any(side.text is not None for side in sides):
        return None
    return concat([side.text if side.text is not None else _made(HOLE, source, start) for side in sides], source, start)


def _shown(node: Node, source: SourceFile) -> Text:
    if node.text is not None:
        return node.text
    return made(str(node.value) if isinstance(node.value, (str, int, float)) else HOLE, source, node.origin)


def _json(node: Node, source: SourceFile, depth: int) -> Iterator[Text]:
    """Iterate over the JSON of a value; what is not known of it is a hole."""
    start = _offset(source, node.origin)
    if depth < MAX_DEPTH and isinstance(node.value, dict):
        yield _made("{", source, start)
        yield from _separated(
            [*_key(key, entry, source), *_json(entry, source, depth + 1)] for key, entry in node.items()
        )
        yield _made("}", source, start)
    elif depth < MAX_DEPTH and isinstance(node.value, list):
        yield _made("[", source, start)
        yield from _separated(list(_json(entry, source, depth + 1)) for entry in node.elements())
        yield _made("]", source, start)
    elif isinstance(node.value, str):
        yield from _string(node.value, node.text, node.origin, source)
    elif node.value is None or isinstance(node.value, (int, float)):
        yield _number(json.dumps(node.value), source, node.origin)
    else:
        yield _made(HOLE, source, start)


def _key(key: str, entry: Node, source: SourceFile) -> list[Text]:
    if HOLE in key:  # JSON would escape the sign
        return [made(f'"{key}": ', source, entry.origin)]
    return [*_string(key, entry.key_text, entry.key or entry.origin, source), made(": ", source, entry.origin)]


def _string(value: str, text: Text | None, origin: Origin, source: SourceFile) -> list[Text]:
    """Return a string as json.dumps writes it; its characters keep their places where JSON has the same ones."""
    written = json.dumps(value)
    if text is None or text.value != written[1:-1]:
        return [made(written, source, origin)]
    marks = [made('"', source, origin)] * 2
    return [marks[0], text.quoted("dumped", text.spots[0]), marks[1]]


def _number(written: str, source: SourceFile, origin: Origin) -> Text:
    """Return a number or another word of JSON, which is written in Python's own way."""
    start, end = _offset(source, origin), source.offset(origin.end_line, origin.end_column)
    if end - start != len(written) or not source.text[start:end].isalnum():
        return made(written, source, origin)
    places = range(start, end + 1)
    return Text(written, source, places, None, ((0, None),)).quoted("literal", start)


def _separated(entries: Iterable[list[Text]]) -> Iterator[Text]:
    for number, entry in enumerate(entries):
        if number:
            yield entry[0].stand_in(", ")
        yield from entry


def _offset(source: SourceFile, origin: Origin) -> int:
    return source.offset(origin.line, origin.column)
