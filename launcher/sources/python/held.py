"""Commands of engines that stand in a Python file and that nothing was seen to run, where it runs what is not known."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator

from pd_launch.launcher.sources.engine.prose import is_script_text
from pd_launch.launcher.sources.engine.wrapped import API_SERVER, STARTS

MOST = 3
"""Of which it is said; one is enough to see that not all is checked."""
_SHOWS = ("print", "debug", "info", "warning", "error", "exception", "log", "write", "add_argument", "echo", "skip")
Place = tuple[int, int]


def held_back(tree: ast.Module, seen: Collection[Place]) -> Iterator[ast.expr]:
    """Iterate over lists and texts that are commands of engines, without those at ``seen`` and those that are shown."""
    shown = {id(part) for node in ast.walk(tree) for top in _shown(node) for part in ast.walk(top)}
    number = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or id(node) in shown or (node.lineno, node.col_offset) in seen:
            continue
        if _is_list(node) or _is_text(node):
            yield node
            number += 1
            if number == MOST:
                return


def _shown(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over the parts below a node that are compared, printed or logged, or say what something is."""
    says = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if says or isinstance(node, (ast.Compare, ast.Assert, ast.Raise)):
        yield node
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _SHOWS:
            yield node
        yield from (keyword.value for keyword in node.keywords if keyword.arg in ("help", "description", "epilog"))


def _is_list(node: ast.expr) -> bool:
    if not isinstance(node, (ast.List, ast.Tuple)) or len(node.elts) < 3:
        return False
    words = [part.value if isinstance(part, ast.Constant) else None for part in node.elts[:6]]
    return any(pair == ("vllm", "serve") for pair in itertools.pairwise(words)) or API_SERVER in words


def _is_text(node: ast.expr) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(text, str) or "vllm" not in text:
        return False
    start = STARTS.search(text)
    return start is not None and " -" in text[start.end() :] and is_script_text(text)
