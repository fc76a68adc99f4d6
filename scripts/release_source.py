"""A release's Python sources, read without importing them: modules, names across modules, classes and their types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

BUILTINS = frozenset({"int", "float", "str", "bool", "dict", "list", "set", "tuple", "object", "bytes", "type"})
OPAQUE: Any = object()
"""A value that the reader cannot know."""


@dataclass(frozen=True)
class Hint:
    """One member of a type: ``kind`` is a builtin's name, ``none``, ``any``, ``literal``, ``config`` or ``other``.

    ``name`` is the class of ``config`` and ``other``, ``values`` are a literal's words, ``inner`` are a collection's
    element types.
    """

    kind: str
    name: str = ""
    values: tuple[Any, ...] = ()
    inner: tuple[tuple[Hint, ...], ...] = ()


@dataclass
class Field:
    """A field of a config class. ``default`` is OPAQUE where it is no plain value; ``bounds`` are ge, gt, le, lt."""

    name: str
    hints: list[Hint]
    default: Any
    bounds: dict[str, float]


@dataclass
class Class:
    """A class with the module it stands in."""

    node: ast.ClassDef
    module: Module

    @property
    def name(self) -> str:
        """The class's name."""
        return self.node.name

    @property
    def bases(self) -> list[Class]:
        """Base classes that can be found, in order."""
        found = (self.module.value(base) for base in self.node.bases)
        return [base for base in found if isinstance(base, Class)]

    def decorated(self, *names: str) -> bool:
        """Whether a decorator has one of these names."""
        for decorator in self.node.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(call).rpartition(".")[2] in names:
                return True
        return False

    @property
    def is_config(self) -> bool:
        """Whether it is a dataclass, pydantic's or the standard one."""
        return self.decorated("config", "dataclass")

    def derives(self, name: str) -> bool:
        """Whether it derives from a class of that name, at any depth."""
        if any(ast.unparse(base).rpartition(".")[2].partition("[")[0] == name for base in self.node.bases):
            return True
        return any(base.derives(name) for base in self.bases)

    def method(self, name: str) -> tuple[ast.FunctionDef, Class] | None:
        """Return a method and the class that defines it, or None."""
        for statement in self.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return statement, self
        return next((found for base in self.bases if (found := base.method(name))), None)

    def fields(self) -> dict[str, Field]:
        """Return the dataclass's fields in order, inherited ones first."""
        found: dict[str, Field] = {}
        for base in reversed(self.bases):
            if base.is_config:
                found.update(base.fields())
        for statement in self.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = ast.unparse(statement.annotation)
                if not text.startswith(("ClassVar", "typing.ClassVar", "InitVar")):
                    found[statement.target.id] = self._field(statement)
        return found

    def _field(self, statement: ast.AnnAssign) -> Field:
        assert isinstance(statement.target, ast.Name)
        value, bounds = statement.value, _bounds(statement.annotation)
        if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in ("Field", "field"):
            bounds |= _keywords(value)
            given = {keyword.arg: keyword.value for keyword in value.keywords}
            default = given.get("default", value.args[0] if value.args else None)
            factory = given.get("default_factory")
            known = self.plain(default) if default is not None else _made(factory)
        else:
            known = OPAQUE if value is None else self.plain(value)
        return Field(statement.target.id, self.module.hints(statement.annotation), known, bounds)

    def plain(self, value: ast.expr) -> Any:
        """Return a default as plain data; OPAQUE where it is none."""
        found = self.module.value(value)
        return found if isinstance(found, (str, int, float, bool, type(None), list)) else OPAQUE


def _made(factory: ast.expr | None) -> Any:
    text = ast.unparse(factory) if factory is not None else ""
    if isinstance(factory, ast.Lambda):
        try:
            return ast.literal_eval(factory.body)
        except ValueError:
            return OPAQUE
    return {"list": [], "dict": {}, "set": []}.get(text, OPAQUE)


def _bounds(annotation: ast.expr) -> dict[str, float]:
    calls = (node for node in ast.walk(annotation) if isinstance(node, ast.Call))
    found: dict[str, float] = {}
    for call in calls:
        if ast.unparse(call.func).rpartition(".")[2] == "Field":
            found |= _keywords(call)
    return found


def _keywords(call: ast.Call) -> dict[str, float]:
    found = {}
    for keyword in call.keywords:
        if keyword.arg in ("ge", "gt", "le", "lt"):
            try:
                found[keyword.arg] = ast.literal_eval(keyword.value)
            except ValueError:
                continue
    return found


@dataclass
class Module:
    """One module: its top-level names, each with the expression, class, function or import that gives it."""

    name: str
    tree: ast.Module
    package: Package
    is_package: bool

    @cached_property
    def names(self) -> dict[str, ast.AST]:
        """Top-level names as they are at run time; what is only for type checkers comes last."""
        found: dict[str, ast.AST] = {}
        late: dict[str, ast.AST] = {}
        self._collect(self.tree.body, found, late)
        return {**late, **found}

    def _collect(self, body: list[ast.stmt], found: dict[str, ast.AST], late: dict[str, ast.AST]) -> None:
        for statement in body:
            if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
                self._collect(statement.body, late, late)
                self._collect(statement.orelse, found, late)
            elif isinstance(statement, (ast.If, ast.Try)):
                self._collect(statement.body, found, late)
            else:
                found.update(self._names(statement))

    @staticmethod
    def _names(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target.id, statement.value
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                yield alias.asname or alias.name, statement

    def find(self, name: str) -> tuple[ast.AST, Module] | None:
        """Return what a top-level name stands for and the module where it is written; None for one from outside."""
        return self._find(name, 0)

    def _find(self, name: str, depth: int) -> tuple[ast.AST, Module] | None:
        found = self.names.get(name)
        if found is None or depth > 12:
            return None
        if isinstance(found, ast.Import):
            return None
        if isinstance(found, ast.ImportFrom):
            origin = next(a.name for a in found.names if (a.asname or a.name) == name)
            module = self.package.module(self._absolute(found))
            return module._find(origin, depth + 1) if module else None
        return found, self

    def _absolute(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        parts = parts[: len(parts) - statement.level + 1]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    def value(self, expression: ast.expr) -> Any:
        """Return an expression's value: plain data, a :class:`Class`, or OPAQUE."""
        if isinstance(expression, ast.Name):
            found = self.find(expression.id)
            if found is None:
                return OPAQUE
            node, module = found
            if isinstance(node, ast.ClassDef):
                return Class(node, module)
            return module.value(node) if isinstance(node, ast.expr) else OPAQUE
        if isinstance(expression, ast.Attribute):
            owner = self.value(expression.value)
            return self._member(owner, expression.attr) if isinstance(owner, Class) else OPAQUE
        if isinstance(expression, ast.Call) and ast.unparse(expression.func) == "get_field":
            owner = self.value(expression.args[0])
            name = expression.args[1]
            if isinstance(owner, Class) and isinstance(name, ast.Constant) and isinstance(name.value, str):
                return self._member(owner, name.value)
            return ()
        try:
            return ast.literal_eval(expression)
        except (ValueError, TypeError, MemoryError):
            return _product(expression)

    @staticmethod
    def _member(owner: Class, name: str) -> Any:
        if owner.derives("Enum"):
            return OPAQUE
        field_ = owner.fields().get(name) if owner.is_config else None
        return field_.default if field_ else OPAQUE

    def hints(self, annotation: ast.expr) -> list[Hint]:
        """Return the members of a type, unions and aliases resolved, in order of writing and each once."""
        return list(dict.fromkeys(self._hints(annotation, 0)))

    def _hints(self, node: ast.expr, depth: int) -> Iterator[Hint]:
        if depth > 20:
            yield Hint("other", ast.unparse(node))
        elif isinstance(node, ast.Constant):
            if node.value is None:
                yield Hint("none")
            elif isinstance(node.value, str):
                yield from self._hints(ast.parse(node.value, mode="eval").body, depth + 1)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self._hints(node.left, depth + 1)
            yield from self._hints(node.right, depth + 1)
        elif isinstance(node, ast.Subscript):
            yield from self._subscript(node, depth)
        elif isinstance(node, ast.Name):
            yield from self._named(node, depth)
        else:
            yield Hint("other", ast.unparse(node))

    def _subscript(self, node: ast.Subscript, depth: int) -> Iterator[Hint]:
        base = ast.unparse(node.value).rpartition(".")[2]
        arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if base in ("Optional", "Union"):
            for argument in arguments:
                yield from self._hints(argument, depth + 1)
            if base == "Optional":
                yield Hint("none")
        elif base == "Annotated" and any("PydanticSchema" in ast.unparse(more) for more in arguments[1:]):
            yield Hint("any")  # a reader of its own, which takes other forms too
        elif base in ("Annotated", "SkipValidation"):
            yield from self._hints(arguments[0], depth + 1)
        elif base == "Literal":
            yield Hint("literal", values=tuple(dict.fromkeys(self._words(arguments))))
        elif base.lower() in ("list", "set", "tuple", "dict"):
            inner = tuple(
                (Hint("ellipsis"),) if ast.unparse(a) == "..." else tuple(self._hints(a, depth + 1)) for a in arguments
            )
            yield Hint(base.lower(), inner=inner)
        else:
            yield Hint("other", ast.unparse(node))

    def _words(self, arguments: list[ast.expr]) -> Iterator[Any]:
        for argument in arguments:
            if isinstance(argument, (ast.Name, ast.Subscript)):
                for hint in self._hints(argument, 1):
                    yield from hint.values
            else:
                value = self.value(argument)
                if value is not OPAQUE:
                    yield value

    def _named(self, node: ast.Name, depth: int) -> Iterator[Hint]:
        if node.id in BUILTINS:
            yield Hint(node.id)
            return
        if node.id == "Any":
            yield Hint("any")
            return
        found = self.find(node.id)
        if found is None:
            yield Hint("other", node.id)
            return
        target, module = found
        if isinstance(target, ast.ClassDef):
            class_ = Class(target, module)
            if class_.is_config:
                yield Hint("config", node.id)
            elif class_.derives("dict"):
                yield Hint("dict")
            else:
                yield Hint("other", node.id)
        elif isinstance(target, ast.expr) and target is not node:
            yield from module._hints(target, depth + 1)
        else:
            yield Hint("other", node.id)


def _product(expression: ast.expr) -> Any:
    """Return the value of a product of numbers, such as ``16 * 1024 * 1024``; OPAQUE for anything else."""
    if isinstance(expression, ast.Constant):
        return expression.value if isinstance(expression.value, (int, float)) else OPAQUE
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mult):
        left, right = _product(expression.left), _product(expression.right)
        return OPAQUE if OPAQUE in (left, right) else left * right
    return OPAQUE


@dataclass
class Package:
    """A release's package folder; modules are parsed when they are first asked for."""

    root: Path
    _modules: dict[str, Module | None] = field(default_factory=dict)

    def module(self, name: str) -> Module | None:
        """Return a module by its dotted name, or None where the release has none."""
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name: str) -> Module | None:
        path = self.root.joinpath(*name.split("."))
        for file, is_package in ((path.with_name(f"{path.name}.py"), False), (path / "__init__.py", True)):
            if file.is_file():
                return Module(name, ast.parse(file.read_text(encoding="utf-8")), self, is_package)
        return None

    def first(self, *names: str) -> Module:
        """Return the first module that is there.

        Raises:
            LookupError: the release has none of them.
        """
        for name in names:
            found = self.module(name)
            if found is not None:
                return found
        raise LookupError(f"the release has none of the modules {', '.join(names)}")

    def class_(self, name: str, *modules: str) -> Class | None:
        """Return a class that one of the modules defines or imports."""
        for module_name in modules:
            module = self.module(module_name)
            found = module.find(name) if module else None
            if found and isinstance(found[0], ast.ClassDef):
                return Class(found[0], found[1])
        return None
