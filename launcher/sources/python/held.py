"""Commands of engines that are in a Python file and that nothing was seen to run."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator

from pd_launch.launcher.sources.engine.prose import is_script_text
from pd_launch.launcher.sources.engine.wrapped import API_SERVER, STARTS, TALKS
from pd_launch.schemas.core.lazy import lazy_pattern

MOST = 3
"""Of which it is said; one is enough to see that not all is checked."""
_SHOWS = frozenset(
    {"print", "debug", "info", "warning", "error", "exception", "log", "write", "add_argument", "echo", "skip"}
    | {
        "critical",
        "fatal",
        "warn",
        "exit",
        "secho",
        "fail",
        "markdown",
        "Markdown",
        "Panel",
        "title",
        "caption",
        "note",
    }
    | {"trace", "success", "add_row", "set_description", "input", "option", "rule", "search", "match", "compile", "sub"}
    | {"replace", "startswith", "endswith", "count", "index", "find"}
)
_SHOWN_AS = frozenset({"help", "description", "epilog", "usage", "message", "msg", "title", "doc", "reason", "match"})
_SAYING = lazy_pattern(r"(?i)usage|help|doc|message|msg|descri|example|epilog|banner|prompt|readme|hint|comment|note")
"""Names of texts for people."""
Place = tuple[int, int]


def held_back(tree: ast.Module, seen: Collection[Place], unknown: bool) -> Iterator[ast.expr]:
    """Iterate over lists and texts that are commands of engines, without those at ``seen`` and those that are shown.

    Args:
        tree: the file.
        seen: where expressions begin that were read as commands.
        unknown: whether the file runs a command of which nothing is known; else words without an option do not count,
            as there would be nothing to check in them.
    """
    shown = shown_parts(tree)
    number = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or id(node) in shown or (node.lineno, node.col_offset) in seen:
            continue
        if _is_text(node) or ((_is_list(node) or _is_call(node)) and (unknown or _has_option(node))):
            yield node
            number += 1
            if number == MOST:
                return


def shown_parts(tree: ast.Module) -> set[int]:
    """Return the nodes of a file, by ``id``, that are compared, printed or logged, or say what something is."""
    shown = {id(part) for node in ast.walk(tree) for top in _shown(node) for part in ast.walk(top)}
    return shown | {id(part) for value in _only_shown(tree, shown) for part in ast.walk(value)}


def _shown(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over the parts below a node that are compared, printed or logged, or say what something is."""
    says = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if says or isinstance(node, (ast.Compare, ast.Assert, ast.Raise)):
        yield node
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _SHOWS and "stdin" not in ast.dump(node.func):
            yield node
        yield from (keyword.value for keyword in node.keywords if keyword.arg in _SHOWN_AS)
    elif isinstance(node, ast.Assign):
        names = [_last(target) for target in node.targets]
        if all(isinstance(name, str) and _SAYING.search(name) for name in names):
            yield node.value
    elif isinstance(node, (ast.List, ast.Tuple)) and node.elts and _value(node.elts[0]) in TALKS:
        yield node


def _only_shown(tree: ast.Module, shown: Collection[int]) -> Iterator[ast.expr]:
    """Iterate over the values of names that nothing does anything with but to show or to compare them."""
    uses: dict[str, list[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses.setdefault(node.id, []).append(id(node) in shown)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found = uses.get(node.targets[0].id, [])
            if found and all(found):
                yield node.value


def _is_list(node: ast.expr) -> bool:
    if not isinstance(node, (ast.List, ast.Tuple)) or len(node.elts) < 3:
        return False
    words = [_value(part) for part in node.elts[:6]]
    return any(pair == ("vllm", "serve") for pair in itertools.pairwise(words)) or API_SERVER in words


def _is_call(node: ast.expr) -> bool:
    """Whether a call of anything is given an engine's words one by one: ``sh.vllm("serve", …)``, ``f("vllm", …)``."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Call):
        parts = node.args
    elif isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    words = [_value(part) for part in parts[:6]]
    if any(pair == ("vllm", "serve") for pair in itertools.pairwise(words)):
        return True
    if not isinstance(node, (ast.Call, ast.Subscript)) or len(parts) < 2:
        return False
    called = node.func if isinstance(node, ast.Call) else node.value
    if words[0] == "serve":
        return _last(called) == "vllm"
    return isinstance(called, ast.Attribute) and called.attr == "serve" and _last(called.value) == "vllm"


def _has_option(node: ast.expr) -> bool:
    """Whether an option is among words, or is one of a call's keywords."""
    if isinstance(node, ast.Call) and node.keywords:
        return True
    return any(str(_value(part) or "").startswith("--") for part in ast.walk(node) if isinstance(part, ast.Constant))


def _last(node: ast.expr) -> object:
    """Return the last name of a function or of an entry: of ``sh.vllm`` and ``local["vllm"]``, ``vllm``."""
    if isinstance(node, ast.Subscript):
        return _value(node.slice)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _value(node: ast.expr) -> object:
    value = node.value if isinstance(node, ast.Constant) else None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _is_text(node: ast.expr) -> bool:
    text = _value(node)
    if not isinstance(text, str) or "vllm" not in text:
        return False
    start = STARTS.search(text)
    return start is not None and " -" in text[start.end() :] and is_script_text(text)
