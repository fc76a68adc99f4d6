"""Of which connector a piece of the engine's own code speaks: it compares a name before it reads that one's options."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

OPTIONS = "kv_connector_extra_config"


def outer_nodes(tree: ast.AST) -> dict[int, ast.AST]:
    """Return the node in which each node of a tree lies, by its ``id``."""
    return {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def spoken_of(node: ast.AST, outer: Mapping[int, ast.AST], connectors: Collection[str]) -> str:
    """Return the connector for which alone a node is come to; empty where no condition around it names one."""
    inner: ast.AST = node
    while (around := outer.get(id(inner))) is not None:
        for condition in _conditions(around, inner):
            if name := _compared(condition, connectors):
                return name
        inner = around
    return ""


def _conditions(around: ast.AST, inner: ast.AST) -> Iterator[ast.expr]:
    """Iterate over what must be true where ``inner``, a part of ``around``, is come to."""
    if isinstance(around, (ast.If, ast.IfExp)):
        body = around.body if isinstance(around, ast.If) else [around.body]
        if any(inner is part for part in body):
            yield around.test
    elif isinstance(around, ast.BoolOp) and isinstance(around.op, ast.And):
        yield from around.values[: next(i for i, value in enumerate(around.values) if value is inner)]


def _compared(condition: ast.expr, connectors: Collection[str]) -> str:
    """Return the connector with whose name something is compared in a condition."""
    parts = condition.values if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And) else [condition]
    for part in parts:
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq):
            for side in (part.left, part.comparators[0]):
                if isinstance(side, ast.Constant) and isinstance(side.value, str) and side.value in connectors:
                    return side.value
    return ""


def picked(tree: ast.AST, connectors: Collection[str]) -> dict[str, str]:
    """Return the variables that hold the options of every connector of one name, each with that name.

    ``[c["kv_connector_extra_config"] for c in all if c["kv_connector"] == "A"]`` is such a list.
    """
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.ListComp):
            continue
        names = [_compared(condition, connectors) for loop in node.value.generators for condition in loop.ifs]
        name = next(filter(None, names), "")
        if name and _asks_options(node.value.elt):
            found |= {target.id: name for target in node.targets if isinstance(target, ast.Name)}
    return found


def _asks_options(node: ast.expr) -> bool:
    key: ast.expr | None = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        key = node.args[0]
    return isinstance(key, ast.Constant) and key.value == OPTIONS


def one_of(node: ast.AST, lists: Mapping[str, str]) -> str:
    """Return the connector whose options a node takes out of one of those lists; empty if it does not."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
        return lists.get(node.value.id, "")
    return ""
