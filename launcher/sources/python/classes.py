"""Classes of engines in Python files: under which names a file has them, and where it uses one in a way not followed.

``E = vllm.LLM``, ``class Mine(LLM)``, ``partial(LLM, …)`` and ``getattr(vllm, "LLM")`` are rewritten to calls of the
class itself, so that all readers see one form. Every other use either makes no engine (an annotation, a test of a
type) or is left over, and said.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from pd_launch.schemas.core.lazy import lazy_pattern

_VLLM = "vllm"
_MOST_ROUNDS = 4
"""Names for names for classes."""
_SETS_UP = ("__init__", "__new__")
_LOOKS = frozenset(
    {"isinstance", "issubclass", "cast", "hasattr", "getattr", "setattr", "delattr", "super", "vars", "dir", "help"}
    | {"print", "repr", "str", "type", "id", "fields", "signature", "getsource", "getfile", "getmembers", "getdoc"}
    | {"get_type_hints", "get_kwargs", "Mock", "MagicMock", "AsyncMock", "create_autospec", "object", "debug", "info"}
    | {"warning", "error", "Depends", "Annotated", "TypeVar", "NewType", "_compute_kwargs", "get_attrs"}
)
"""Functions that look at a class, and make none of its objects."""
_TYPED = ("annotation", "returns", "type_comment", "bound", "spec", "spec_set", "response_model")
_MAKERS = ("from_cli",)
"""What a class makes its objects with, beside its own call, of values that may be in the file."""
_CODE = lazy_pattern(r"(?:^|[;\n])[ \t]{0,40}(?:from[ \t]{1,9}vllm\b[^\n;]{0,200}[ \t]import|import[ \t]{1,9}vllm)\b")
_MADE = lazy_pattern(r"(?<![\w.])(?:vllm\.)?(?:LLM|EngineArgs|AsyncEngineArgs)\([^)\n]")
"""A program that makes an engine, as a text: with something in the brackets."""


class Classes(NamedTuple):
    """The names of engines' classes in one file."""

    named: dict[str, str]
    """What a name of the file stands for."""
    modules: frozenset[str]
    """Names of the package itself."""
    own: frozenset[str]
    """Classes of the file that are made of one, and take arguments of their own."""

    def of(self, node: ast.AST) -> str | None:
        """Return the engine's class that an expression is, or None."""
        if isinstance(node, ast.Name):
            return self.named.get(node.id)
        if isinstance(node, ast.Attribute) and node.attr in self.named.values():
            return node.attr if ast.unparse(node.value).partition(".")[0] in self.modules else None
        return None


def classes_of(tree: ast.Module, engines: Collection[str]) -> Classes:
    """Return the names that a file has for the classes ``engines``: only of those that it takes from vLLM."""
    named: dict[str, str] = {}
    modules = set[str]()
    assigned: dict[str, list[ast.expr]] = {}
    made: list[ast.ClassDef] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == _VLLM:
            named.update({name.asname or name.name: name.name for name in node.names if name.name in engines})
        elif isinstance(node, ast.Import):
            modules |= {name.asname or _VLLM for name in node.names if name.name.partition(".")[0] == _VLLM}
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.ClassDef) and len(node.bases) == 1:
            made.append(node)
    if modules:
        named.update({name: name for name in engines if name not in named})
    if not named:
        return Classes({}, frozenset(), frozenset())
    own = set[str]()
    found = Classes(named, frozenset(modules), frozenset())
    for _ in range(_MOST_ROUNDS):
        before = len(named) + len(own)
        for name, values in assigned.items():
            kind = found.of(_plain(values[0])) if len(values) == 1 else None
            if kind is not None:
                named.setdefault(name, kind)
        for written in made:
            base = written.bases[0]
            kind = found.of(base)
            if kind is not None and (_sets_up(written) or (isinstance(base, ast.Name) and base.id in own)):
                own.add(written.name)
            if kind is not None:
                named.setdefault(written.name, kind)
        if len(named) + len(own) == before:
            break
    return Classes(named, frozenset(modules), frozenset(own))


def _sets_up(written: ast.ClassDef) -> bool:
    """Whether a class takes arguments of its own, or none of the engine's: as a data class does."""
    if any("dataclass" in ast.unparse(decorator) for decorator in written.decorator_list):
        return True
    return any(isinstance(part, ast.FunctionDef) and part.name in _SETS_UP for part in written.body)


def _plain(value: ast.expr) -> ast.expr:
    """Return ``vllm.LLM`` of ``getattr(vllm, "LLM")``; others as they are."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or value.func.id != "getattr":
        return value
    name = value.args[1].value if len(value.args) > 1 and isinstance(value.args[1], ast.Constant) else None
    if not isinstance(name, str) or not name.isidentifier():
        return value
    return ast.copy_location(ast.Attribute(value.args[0], name, ast.Load()), value)


class Plainly(ast.NodeTransformer):
    """Writes each call of an engine's class as one of its own name."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return a call with the class's own name in it, and what it is given."""
        self.generic_visit(node)
        function = _plain(node.func)
        kind = self.classes.of(function)
        if isinstance(function, ast.Name) and function.id in self.classes.own:
            return node
        if kind is not None:
            node.func = ast.copy_location(ast.Name(kind, ast.Load()), node.func)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "from_cli":
            owner = self.classes.of(node.func.value)
            if owner is not None:
                node.func.value = ast.copy_location(ast.Name(owner, ast.Load()), node.func.value)
        elif _is_partial(node) and self.classes.of(_plain(node.args[0])) is not None:
            return self._partly(node, [*node.keywords, _more(node)])
        elif isinstance(node.func, ast.Call) and _is_open(node.func):  # partial(LLM, …)(…)
            inner, names = node.func, {keyword.arg for keyword in node.keywords}
            kept = [keyword for keyword in inner.keywords[:-1] if keyword.arg not in names or keyword.arg is None]
            made = ast.Call(inner.func, [*inner.args, *node.args], [*kept, *node.keywords])
            return ast.copy_location(made, node)
        return node

    def _partly(self, node: ast.Call, keywords: list[ast.keyword]) -> ast.Call:
        kind = self.classes.of(_plain(node.args[0])) or ""
        name = ast.copy_location(ast.Name(kind, ast.Load()), node.args[0])
        return ast.copy_location(ast.Call(name, node.args[1:], keywords), node)


_OPEN = "…"
"""Stands for the arguments that whoever calls a partial function adds."""


def _more(place: ast.Call) -> ast.keyword:
    return ast.copy_location(ast.keyword(None, ast.copy_location(ast.Name(_OPEN, ast.Load()), place)), place)


def _is_open(call: ast.Call) -> bool:
    last = call.keywords[-1].value if call.keywords else None
    return isinstance(last, ast.Name) and last.id == _OPEN


def _is_partial(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name == "partial" and bool(call.args)


def uses_of(tree: ast.Module, classes: Classes, shown: Collection[int]) -> list[ast.expr]:
    """Return the uses of engines' classes of which a reader must take in each, in the order of the file.

    Args:
        tree: the file as it was rewritten, with nothing copied yet.
        classes: its names.
        shown: the nodes, by ``id``, that are compared or shown.
    """
    judged = set(shown)
    for node in ast.walk(tree):
        judged.update(id(part) for part in _judged(node, classes))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and _is_use(node, classes)]
    left = [node for node in found if id(node) not in judged]
    return sorted(left, key=lambda node: (node.lineno, node.col_offset))


def _is_use(node: ast.AST, classes: Classes) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _MADE.search(node.value) is not None and _CODE.search(node.value) is not None
    return classes.of(node) is not None and isinstance(getattr(node, "ctx", None), ast.Load)


def _judged(node: ast.AST, classes: Classes) -> Iterator[ast.AST]:
    """Iterate over the parts below a node that make no engine."""
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if isinstance(part, ast.AST):
            yield from ast.walk(part)
    if isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Attribute):
        yield from () if node.attr in _MAKERS else (node.value,)
    elif isinstance(node, ast.ClassDef):
        yield from (part for base in node.bases for part in ast.walk(base))
    elif isinstance(node, ast.Subscript) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)):
        yield from _types(node)
    elif isinstance(node, (ast.ExceptHandler, ast.Delete)):
        yield from ast.walk(node)
    elif isinstance(node, ast.Assign):
        named = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if named and all(name in classes.named for name in named):  # each use of the name is looked at
            yield from ast.walk(_plain(node.value))
            yield node.value


def _of_call(call: ast.Call) -> Iterator[ast.AST]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _LOOKS:
        yield from (part for given in call.args for part in ast.walk(given))
    for keyword in call.keywords:
        if keyword.arg in _TYPED:
            yield from ast.walk(keyword.value)


def _types(node: ast.Subscript | ast.BinOp) -> Sequence[ast.AST]:
    """Return the parts of an expression that names a type: ``list[LLM]``, ``LLM | None``."""
    parts = [node.slice] if isinstance(node, ast.Subscript) else [node.left, node.right]
    return [inner for part in parts for inner in ast.walk(part)]
