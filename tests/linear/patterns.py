"""Every regular expression of the product, how it is used, and texts that make one repeat itself as long as it can."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pd_launch.launcher
import pd_launch.schemas
from pd_launch.schemas.core.lazy import LazyPattern

if sys.version_info >= (3, 11):
    from re import _constants as constants
    from re import _parser as parser
else:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sre_constants as constants
        import sre_parse as parser

_ANCHORED = ("match", "fullmatch")
_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
_TEXTS = ("pd_launch.schemas.core.chinese",)
"""Modules that keep expressions as texts, and compile them where they are used."""
_TABLES = ("PATTERNS", "EXCEPTION")
"""Tables of lines of logs, whose expressions are applied once, from a literal on."""
ENDS = ("\0", "\n", "")


@dataclass(frozen=True)
class Used:
    """An expression with the ways in which it is applied."""

    where: str
    pattern: str | bytes
    flags: int
    methods: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.where} {ascii(self.pattern)[:60]}"


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Iterate over the product's modules with their syntax trees."""
    for package in (pd_launch.launcher, pd_launch.schemas):
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*.py")):
            yield f"{folder.name}/{path.relative_to(folder)}", ast.parse(path.read_text("utf-8"))


@cache
def used() -> list[Used]:
    """Return the expressions: literals of ``re.…`` calls, and what modules compile."""
    trees = dict(sources())
    calls = {where: [n for n in ast.walk(tree) if isinstance(n, ast.Call)] for where, tree in trees.items()}
    everywhere = [call for found in calls.values() for call in found]
    found: dict[tuple[str | bytes, int, tuple[str, ...]], Used] = {}
    for where, tree in trees.items():
        for one in _literals(where, tree):
            found.setdefault((one.pattern, one.flags, one.methods), one)
    for where, name, compiled in _compiled():
        own = calls.get(where.removeprefix("pd_launch.").replace(".", "/") + ".py", [])
        methods = ("match",) if name in _TABLES else _applied(name, own) or _applied(name, everywhere) or ("search",)
        one = Used(where, compiled.pattern, compiled.flags & ~re.UNICODE, methods)
        found.setdefault((one.pattern, one.flags, one.methods), one)
    return list(found.values())


def _literals(where: str, tree: ast.Module) -> Iterator[Used]:
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
            continue
        function, first = call.func, call.args[0]
        literal = isinstance(first, ast.Constant) and isinstance(first.value, (str, bytes))
        if not (isinstance(function.value, ast.Name) and function.value.id == "re" and literal):
            continue
        if function.attr in _METHODS:
            flags = sum(
                getattr(re, n.attr) for n in ast.walk(call) if isinstance(n, ast.Attribute) and n.attr.isupper()
            )
            yield Used(f"{where}:{call.lineno}", first.value, flags, (function.attr,))


def _compiled() -> Iterator[tuple[str, str, re.Pattern[Any]]]:
    """Iterate over compiled expressions that modules, their tables and their tables' rows hold."""
    for package in (pd_launch.launcher, pd_launch.schemas):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                module = importlib.import_module(found.name)
            except ImportError:  # pictures and models need what not every machine has, and hold no expression
                continue
            for name, value in vars(module).items():
                if found.name in _TEXTS and name.startswith("_") and isinstance(value, str):
                    value = re.compile(value)
                for pattern in _within(value, 0):
                    yield found.name, name, pattern


def _within(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, LazyPattern):
        yield value.compiled()
    elif isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _within(part, depth + 1)
    elif depth < 3 and isinstance(value, dict):
        yield from _within(list(value.values()), depth + 1)
    elif depth < 3 and type(value).__module__.startswith("pd_launch") and not isinstance(value, type):
        for name in dir(type(value)):
            if name in ("compiled", "regex", "pattern"):
                yield from _within(getattr(value, name), depth + 1)


def _applied(name: str, calls: list[ast.Call]) -> tuple[str, ...]:
    """Return how a compiled expression of that name is applied; ``match`` from a place on counts as a search."""
    found = set()
    for call in calls:
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in _METHODS:
            continue
        if isinstance(function.value, ast.Name) and function.value.id == name:
            walks = function.attr == "match" and len(call.args) > 1
            found.add("search" if walks else function.attr)
    return tuple(sorted(found))


def apply(one: Used, text: str | bytes) -> None:
    """Apply an expression to a text in each of its ways."""
    compiled: re.Pattern[Any] = re.compile(one.pattern, one.flags)
    for method in {m if m in _ANCHORED else "finditer" for m in one.methods}:
        if method == "finditer":
            for _ in compiled.finditer(text):
                pass
        else:
            getattr(compiled, method)(text)


def attacks(one: Used) -> list[tuple[str, str, str]]:
    """Return beginning, unit and end of texts that make each repeat of an expression go on."""
    tree = parser.parse(one.pattern, one.flags)
    found: dict[tuple[str, str, str], None] = {}
    for prefix, unit in _repeats(tree):
        for end in ENDS:
            found[(prefix, unit, end)] = None
        found[("", prefix + unit, ENDS[0])] = None
        found[("", unit, ENDS[0])] = None
    whole = _sample(tree)
    for cut in {1, len(whole) // 2, len(whole) - 1, len(whole)}:
        if whole[:cut]:
            found[("", whole[:cut], "")] = None
    return [attack for attack in found if attack[1]]


def _repeats(tree: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    for kind, value in tree:
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT) or str(kind) == "POSSESSIVE_REPEAT":
            low, high, body = value
            if high is constants.MAXREPEAT:
                for unit in _units(body):
                    yield prefix, unit
            yield from _repeats(body, prefix)
            prefix += _sample(body) * max(low, 0)
            continue
        if kind is constants.SUBPATTERN:
            yield from _repeats(value[-1], prefix)
        elif str(kind) == "ATOMIC_GROUP":
            yield from _repeats(value, prefix)
        elif kind is constants.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, prefix)
        prefix += _sample([(kind, value)])


def _units(body: Any) -> set[str]:
    """Return texts that a repeated part takes."""
    if len(body) == 1 and body[0][0] is constants.BRANCH:
        return {_sample(branch) for branch in body[0][1][1]}
    if len(body) == 1 and body[0][0] is constants.IN:
        return {chr(c) for c in _chars(body[0][1])}
    return {_sample(body), _sample(body)[:1]}


def _sample(tree: Any) -> str:
    """Return a text that fits; what only looks around takes nothing."""
    text = ""
    for kind, value in tree:
        if kind is constants.LITERAL:
            text += chr(value)
        elif kind is constants.NOT_LITERAL:
            text += "a" if value != ord("a") else "b"
        elif kind is constants.ANY:
            text += "a"
        elif kind is constants.IN:
            text += chr(_chars(value)[0])
        elif kind is constants.SUBPATTERN:
            text += _sample(value[-1])
        elif kind is constants.BRANCH:
            text += _sample(value[1][0])
        elif kind in (constants.MAX_REPEAT, constants.MIN_REPEAT) or str(kind) == "POSSESSIVE_REPEAT":
            text += _sample(value[2]) * max(value[0], 0)
        elif str(kind) == "ATOMIC_GROUP":
            text += _sample(value)
    return text


_CLASSES = {"CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a_1", "CATEGORY_SPACE": " \n\t", "CATEGORY_NOT_SPACE": "a=/"}
_CLASSES |= {"CATEGORY_NOT_DIGIT": "a ", "CATEGORY_NOT_WORD": " -"}


def _chars(items: Any) -> list[int]:
    """Return some characters of a class."""
    compiled = [(kind, value) for kind, value in items if kind is not constants.NEGATE]
    if len(compiled) < len(items):
        taken = {ord(c) for c in "a1 \n\t_-/.=:{}[]\"'\\$&*,;<>"} - set(_listed(compiled))
        return sorted(taken, reverse=True)[:4] or [0x4E00]
    return _listed(compiled)[:4]


def _listed(items: Any) -> list[int]:
    found: list[int] = []
    for kind, value in items:
        if kind is constants.LITERAL:
            found.append(value)
        elif kind is constants.RANGE:
            found += [value[0], value[1], *([ord("a")] if value[0] <= ord("a") <= value[1] else [])]
        elif kind is constants.CATEGORY:
            found += [ord(c) for c in _CLASSES[str(value)]]
    return found
