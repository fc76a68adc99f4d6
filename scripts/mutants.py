"""The single-point mutants of a Python file: what scripts/mutate.py changes, one at a time.

A mutant is a piece of the file's bytes and what stands there instead. Pieces come from the syntax tree; annotations,
texts and what only a type checker reads are left alone, because no test could tell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARED = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
}
_DEFAULTS = {"int": "0", "str": '""', "list": "[]", "dict": "{}", "set": "set()"}
_TEXTS = (ast.JoinedStr, ast.List, ast.Tuple)


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: `old`, the bytes from `start` to `end` of the file at `path`, becomes `new`; lines count from 1."""

    path: str
    start: int
    end: int
    kind: str
    old: str
    new: str
    line: int
    last_line: int
    inside: bool
    """Whether it is in a function, and so runs when that is called instead of when the module is imported."""

    @property
    def name(self) -> str:
        """What identifies it as long as the file stays as it is."""
        return f"{self.path}:{self.start}:{self.kind}:{self.new}"

    def applied(self, content: bytes) -> bytes:
        """The file with the change; ValueError if the file is another one."""
        if content[self.start : self.end].decode() != self.old:
            raise ValueError(f"{self.path} has changed")
        return content[: self.start] + self.new.encode() + content[self.end :]


def mutants_of(root: Path, path: str) -> list[Mutant]:
    """All mutants of the file at `path` below `root`, in the order of their places."""
    return sorted(_Reader(path, (root / path).read_bytes()).found())


def parses(content: bytes) -> bool:
    """Whether Python takes this file."""
    try:
        ast.parse(content)
    except SyntaxError:
        return False
    return True


class _Reader:
    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content
        self._lines = [0]
        for line in content.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def found(self) -> set[Mutant]:
        return set(self._walk(ast.parse(self.content), None))

    def _walk(self, node: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> Iterator[Mutant]:
        inside = function is not None
        for kind, start, end, new in self._changes(node, function):
            yield self._mutant(kind, start, end, new, inside)
        if isinstance(node, ast.JoinedStr):
            return  # before Python 3.12, the places in it are not those of the file
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            inner = node if name == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._walk(child, inner)

    def _changes(
        self, node: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef | None
    ) -> Iterator[tuple[str, int, int, str]]:
        """Kind, start, end and new text of each change of this node itself."""
        if isinstance(node, ast.Compare):
            for before, op, after in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                pattern, new = _COMPARED[type(op)]
                yield from self._between("comparison", before, after, pattern, new)
        elif isinstance(node, ast.BoolOp):
            word, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for before, after in zip(node.values, node.values[1:], strict=False):
                yield from self._between("boolean", before, after, rf"\b{word}\b", new)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            if not any(_is_text(side) for side in (node.left, node.right)):
                sign, new = (r"\+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
                yield from self._between("arithmetic", node.left, node.right, sign, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield "not", self._start(node), self._start(node) + 3, ""
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            for value in (node.value + 1, node.value - 1):
                yield "constant", *self._span(node), str(value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            yield "extreme", *self._span(node.func), "max" if node.func.id == "min" else "min"
        elif isinstance(node, ast.arguments):
            for default in (*node.defaults, *node.kw_defaults):
                if isinstance(default, ast.Constant) and isinstance(default.value, bool):
                    yield "default", *self._span(default), str(not default.value)
        elif isinstance(node, ast.stmt) and function is not None:
            yield from self._statement(node, function)

    def _statement(
        self, node: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> Iterator[tuple[str, int, int, str]]:
        span = self._span(node)
        if isinstance(node, (ast.Break, ast.Continue)):
            yield "loop", *span, "continue" if isinstance(node, ast.Break) else "break"
        elif isinstance(node, (ast.Assign, ast.AugAssign)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            yield "deleted", *span, "pass"
        elif isinstance(node, ast.Return) and node.value is not None and function.returns is not None:
            start, end = self._span(node.value)
            old = self.content[start:end].decode()
            new = _default(ast.unparse(function.returns), old)
            if new not in (None, old):
                yield "returned", start, end, str(new)

    def _between(
        self, kind: str, before: ast.expr, after: ast.expr, pattern: str, new: str
    ) -> Iterator[tuple[str, int, int, str]]:
        """The operator between two operands, whose place the tree does not have; comments there are passed over."""
        start = self._span(before)[1]
        gap = re.sub(rb"#[^\n]*", lambda match: b" " * len(match[0]), self.content[start : self._start(after)])
        match = re.search(pattern.encode(), gap)
        if match:
            yield kind, start + match.start(), start + match.end(), new

    def _mutant(self, kind: str, start: int, end: int, new: str, inside: bool) -> Mutant:
        first, last = (self.content.count(b"\n", 0, place) + 1 for place in (start, max(start, end - 1)))
        return Mutant(self.path, start, end, kind, self.content[start:end].decode(), new, first, last, inside)

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._start(node), self._lines[node.end_lineno - 1] + node.end_col_offset


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, _TEXTS) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _default(returns: str, old: str) -> str | None:
    """What a function of this return type could return instead; None if there is nothing that its type allows."""
    if re.search(r"\| None$", returns):
        return "None"
    if returns == "bool":
        return {"True": "False", "False": "True"}.get(old, f"not ({old})")
    if re.fullmatch(r"tuple\[.*, \.\.\.\]", returns):
        return "()"
    return _DEFAULTS.get(returns.partition("[")[0])
