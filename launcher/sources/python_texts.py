"""Texts that Python puts together: ``json.dumps(…)``, f-strings, sums of strings, with the places of their parts."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator

from pd_launch.schemas.values import HOLE, Node, Origin, SourceFile, Text

Value = Callable[[ast.expr], Node]
Part = tuple[str, int]
"""Characters, and the offset in the file that all of them come from."""
MAX_DEPTH = 20
_PERCENT = re.compile(r"(?P<same>%%)|%(?P<name>(?!))?(?:(?P<plain>[sd])|[^%])")
_BRACES = re.compile(r"(?P<same>\{\{|\}\})|\{(?P<name>\w*)(?:(?P<plain>\})|(?!\w)[^{}]*\})")


def made(value: str, source: SourceFile, origin: Origin) -> Text:
    """Return a text all of whose characters stand where ``origin`` begins."""
    return _text([(value, _offset(source, origin))], source, _offset(source, origin))


def spelled(expression: ast.expr, value: Value, source: SourceFile, origin: Origin) -> Text | None:
    """Return the text of an f-string, a sum of strings, ``str(…)`` or ``json.dumps(…)``; None for anything else."""
    parts: list[Part] = []
    start = _offset(source, origin)
    if isinstance(expression, ast.JoinedStr):
        for piece in expression.values:
            inner = piece.value if isinstance(piece, ast.FormattedValue) else piece
            plain = not isinstance(piece, ast.FormattedValue) or (piece.conversion == -1 and piece.format_spec is None)
            parts.append((_shown(value(inner)) if plain else HOLE, start))
    elif isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        return _sum(expression, value, source, start)
    elif isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mod):
        right = expression.right
        given = list(right.elts) if isinstance(right, ast.Tuple) else [right]
        return _filled(value(expression.left).text, _PERCENT, given, {}, value)
    elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute) and _formats(expression):
        named = {keyword.arg: keyword.value for keyword in expression.keywords if keyword.arg}
        return _filled(value(expression.func.value).text, _BRACES, expression.args, named, value)
    elif isinstance(expression, ast.Call) and len(expression.args) == 1 and ast.unparse(expression.func) == "str":
        parts.append((_shown(value(expression.args[0])), _offset(source, value(expression.args[0]).origin)))
    elif isinstance(expression, ast.Call) and expression.args and ast.unparse(expression.func).endswith("json.dumps"):
        parts += _json(value(expression.args[0]), source, 0)
    else:
        return None
    return _text(parts, source, start)


def _formats(call: ast.Call) -> bool:
    plain = not any(isinstance(argument, ast.Starred) for argument in call.args) and all(k.arg for k in call.keywords)
    return plain and isinstance(call.func, ast.Attribute) and call.func.attr == "format"


def _filled(
    template: Text | None, places: re.Pattern[str], given: list[ast.expr], named: dict[str, ast.expr], value: Value
) -> Text | None:
    """Return a template of ``%`` or ``.format`` with its places filled; what is not plain there is a hole."""
    if template is None:
        return None
    parts: list[Part] = []
    at = taken = 0
    for match in places.finditer(template.value):
        parts += zip(template.value[at : match.start()], template.spots[at : match.start()], strict=False)
        at = match.end()
        name, spot = match["name"] or "", template.spots[match.start()]
        if match["same"]:
            parts.append((match["same"][0], spot))
            continue
        wanted = named.get(name)
        if not name or name.isdigit():
            index = int(name) if name else taken
            taken += 1
            wanted = given[index] if index < len(given) else None
        parts.append((_shown(value(wanted)) if wanted is not None and match["plain"] else HOLE, spot))
    parts += zip(template.value[at:], template.spots[at:], strict=False)
    return _text(parts, template.source, template.spots[0])


def literals(source: SourceFile, start: int, end: int, value: object) -> Text | None:
    """Return the text of string literals that stand behind one another; None where that is not what ``value`` is.

    Where a literal has escapes, all of its characters stand where it begins.
    """
    raw = source.text[start:end]
    parts: list[Part] = []
    starts = [0, *(match.end() for match in re.finditer("\n", raw))]
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({raw})").readline):
            if token.type != tokenize.STRING:
                continue
            line, column = token.start
            at = start + starts[line - 1] + column - (line == 1)
            piece = ast.literal_eval(token.string)
            inner = token.string.find(piece) if isinstance(piece, str) else -1
            parts += [(c, at + inner + i if inner >= 0 else at) for i, c in enumerate(piece)]
    except (tokenize.TokenError, SyntaxError, ValueError, TypeError):
        return None
    return _text(parts, source, start) if "".join(part for part, _ in parts) == value else None


def _sum(expression: ast.BinOp, value: Value, source: SourceFile, start: int) -> Text | None:
    """Return the sum of two values of which one at least is surely a string."""
    sides = [value(expression.left), value(expression.right)]
    if not any(side.text is not None for side in sides):
        return None
    parts: list[Part] = []
    for side in sides:
        if side.text is not None:
            parts += zip(side.text.value, side.text.spots, strict=False)
        else:
            parts.append((HOLE, start))
    return _text(parts, source, start)


def _shown(node: Node) -> str:
    if node.text is not None:
        return node.text.value
    return str(node.value) if isinstance(node.value, (str, int, float)) else HOLE


def _json(node: Node, source: SourceFile, depth: int) -> Iterator[Part]:
    """Iterate over the JSON of a value; what is not known of it is a hole."""
    start = _offset(source, node.origin)
    if depth < MAX_DEPTH and isinstance(node.value, dict):
        yield "{", start
        yield from _separated(
            ([(json.dumps(key) + ": ", _offset(source, entry.key or entry.origin)), *_json(entry, source, depth + 1)])
            for key, entry in node.items()
        )
        yield "}", start
    elif depth < MAX_DEPTH and isinstance(node.value, list):
        yield "[", start
        yield from _separated(list(_json(entry, source, depth + 1)) for entry in node.elements())
        yield "]", start
    elif node.value is None or isinstance(node.value, (str, int, float)):
        yield json.dumps(node.value), start
    else:
        yield HOLE, start


def _separated(entries: Iterable[list[Part]]) -> Iterator[Part]:
    for number, entry in enumerate(entries):
        if number:
            yield ", ", entry[0][1]
        yield from entry


def _offset(source: SourceFile, origin: Origin) -> int:
    return source.offset(origin.line, origin.column)


def _text(parts: Iterable[Part], source: SourceFile, start: int) -> Text:
    value: list[str] = []
    spots: list[int] = []
    for characters, spot in parts:
        value.append(characters)
        spots += [spot] * len(characters)
    return Text("".join(value), source, [*spots, spots[-1] if spots else start])
