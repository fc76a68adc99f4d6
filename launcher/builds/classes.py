"""Classes of a build's sources: config fields with their types, defaults and bounds, read without importing them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pd_launch.schemas.core.record import dataclass

if TYPE_CHECKING:
    from pd_launch.launcher.builds.source import Module

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
    """A class with the module it is in."""

    node: ast.ClassDef
    module: Module

    @property
    def name(self) -> str:
        """The class's name."""
        return self.node.name

    @property
    def bases(self) -> list[Class]:
        """Base classes that can be found, in order."""
        self.module.package.step()
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
