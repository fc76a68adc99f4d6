"""A build's Python sources, read without importing them: modules, names across modules, types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from typing import Any

from pd_launch.launcher.builds.classes import OPAQUE, Class, Hint
from pd_launch.launcher.builds.files import Files, Limit
from pd_launch.schemas.core.record import dataclass

BUILTINS = frozenset({"int", "float", "str", "bool", "dict", "list", "set", "tuple", "object", "bytes", "type"})
_MOST_FACTOR = 1 << 64
MOST_STEPS = 1_000_000
"""Steps of the reader in one build; a release takes 60,000. Only a hostile one goes on and on."""


class NotFoundError(LookupError):
    """What every build has was not found in this one; the message says what."""


@dataclass
class Module:
    """One module: its top-level names, each with the expression, class, function or import that gives it."""

    name: str
    tree: ast.Module
    package: Package
    is_package: bool
    text: str = field(default="", repr=False)

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
        if depth > 12:
            return None
        if found is None:
            return self._find_in_stars(name, depth)
        if isinstance(found, ast.Import):
            return None
        if isinstance(found, ast.ImportFrom):
            origin = next(a.name for a in found.names if (a.asname or a.name) == name)
            module = self.package.module(self.absolute(found))
            return module._find(origin, depth + 1) if module else None
        return found, self

    def _find_in_stars(self, name: str, depth: int) -> tuple[ast.AST, Module] | None:
        """Look for a name in the modules of the package from which everything is imported; the last of them counts."""
        stars = [s for s in self.tree.body if isinstance(s, ast.ImportFrom) and s.names[0].name == "*"]
        for statement in reversed(stars if not name.startswith("_") else ()):
            module = self.package.module(self.absolute(statement))
            found = module._find(name, depth + 1) if module is not None and module is not self else None
            if found is not None:
                return found
        return None

    def absolute(self, statement: ast.ImportFrom) -> str:
        """Return the dotted name of the module that a statement imports from."""
        if not statement.level:
            return statement.module or ""
        parts = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        parts = parts[: len(parts) - statement.level + 1]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    def value(self, expression: ast.expr) -> Any:
        """Return an expression's value: plain data, a :class:`Class`, or OPAQUE."""
        self.package.step()
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
        except (ValueError, TypeError, SyntaxError, MemoryError):
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
        self.package.step()
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
        known = OPAQUE not in (left, right) and max(abs(left), abs(right)) < _MOST_FACTOR
        return left * right if known else OPAQUE
    return OPAQUE


@dataclass
class Package:
    """A build's package folder; modules are parsed when they are first asked for."""

    files: Files
    _modules: dict[str, Module | None] = field(default_factory=dict)
    _steps: int = 0

    def step(self) -> None:
        """Count one step of the reader.

        Raises:
            Limit: there were more than any build takes.
        """
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Limit("its classes and functions refer to each other without end")

    def module(self, name: str) -> Module | None:
        """Return a module by its dotted name, or None where the build has none.

        Raises:
            Limit: it is too large.
            SyntaxError: it is no Python that this interpreter knows.
        """
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name: str) -> Module | None:
        path = name.replace(".", "/")
        for file, is_package in ((f"{path}.py", False), (f"{path}/__init__.py", True)):
            text = self.files.text(file)
            if text is not None:
                return Module(name, ast.parse(text, file), self, is_package, text)
        return None

    def first(self, *names: str) -> Module:
        """Return the first module that is there.

        Raises:
            NotFoundError: the build has none of them.
        """
        for name in names:
            found = self.module(name)
            if found is not None:
                return found
        raise NotFoundError(f"there is no module {' or '.join(names)}")

    def class_(self, name: str, *modules: str) -> Class | None:
        """Return a class that one of the modules defines or imports."""
        for module_name in modules:
            module = self.module(module_name)
            found = module.find(name) if module else None
            if found and isinstance(found[0], ast.ClassDef):
                return Class(found[0], found[1])
        return None
