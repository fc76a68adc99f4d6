"""The argument parser of ``vllm serve``, followed statement by statement without running it.

vLLM builds its parser from config classes: each field's type gives the argument's type, choices and number of values.
:class:`ParserReader` walks through the functions that build it, with the few kinds of statements that they use.
"""

from __future__ import annotations

import ast
from typing import Any

from pd_launch.launcher.builds.classes import OPAQUE, Class, Field
from pd_launch.launcher.builds.files import Limit
from pd_launch.launcher.builds.flags import Flag, made_flag, of_collection, of_literal
from pd_launch.launcher.builds.source import Module, NotFoundError, Package

SERVE = "vllm.entrypoints.cli.serve"
PARSER = "parser"
"""What every function that adds arguments calls the parser."""

MAKE, FRONTEND = "make_arg_parser", "FrontendArgs"
ARGS_MODULE = "vllm.engine.arg_utils"
_SIZE_NAMES = frozenset({"max_num_batched_tokens", "kv_cache_memory_bytes"})
_MOST_LENGTH = 1_000_000
_TYPES = {
    "int": "int",
    "float": "float",
    "str": "str",
    "json.loads": "json",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "length",
    "union_dict_and_str": "json-or-text",
}


def read_flags(package: Package) -> list[Flag]:
    """Return every argument of ``vllm serve`` in the order in which the parser adds them."""
    reader = ParserReader(package)
    function, module = _parser(package)
    reader.run(function, module, None, {})
    return reader.flags


def _parser(package: Package) -> tuple[ast.FunctionDef, Module]:
    """Return the function that builds the parser: the one that ``vllm serve`` imports, wherever it lies.

    Raises:
        NotFoundError: the build has no such function.
    """
    serve = package.module(SERVE)
    modules = [serve] if serve else []
    for path in package.files.below("vllm/entrypoints"):
        if f"def {MAKE}(" in (text := package.files.text(path) or "") and FRONTEND in text:
            found = package.module(path.removesuffix(".py").replace("/", "."))
            modules += [found] if found else []
    for module in modules:
        make = module.find(MAKE)
        if make is not None and isinstance(make[0], ast.FunctionDef):
            return make[0], make[1]
    raise NotFoundError(f"nothing below vllm/entrypoints defines {MAKE}")


class ParserReader:
    """Follows the functions that build the parser and collects its arguments."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.flags: list[Flag] = []
        self.sizes = _size_names(package)
        self.null_choice = _null_choice(package)

    def run(self, function: ast.FunctionDef, module: Module, owner: Class | None, names: dict[str, Any]) -> Any:
        """Run a function's body; return what it returns."""
        return _Frame(self, module, owner, names).body(function.body)

    def kwargs(self, owner: Class) -> dict[str, dict[str, Any]]:
        """Return what ``get_kwargs`` gives for a config class: keyword arguments of add_argument for each field."""
        return {name: self._field(entry) for name, entry in owner.fields().items()}

    def _field(self, entry: Field) -> dict[str, Any]:
        kinds = {hint.kind: hint for hint in reversed(entry.hints)}
        found: dict[str, Any] = {"default": entry.default, "bounds": entry.bounds}
        if "config" in kinds:
            found["type"] = f"config:{kinds['config'].name}"
        elif set(kinds) == {"bool", "str", "none"} and self.bare_text:
            found |= {"type": "str", "nargs": "?"}
        elif "bool" in kinds:
            return {**found, "action": "bool"}
        elif "literal" in kinds:
            found |= of_literal(kinds)
        elif collection := kinds.get("tuple") or kinds.get("list") or kinds.get("set"):
            found |= of_collection(collection)
        elif "int" in kinds:
            found["type"] = self._integer(entry.name)
        elif "float" in kinds:
            found["type"] = "float"
        elif "dict" in kinds:
            found["type"] = "json-or-text" if "str" in kinds or {"other", "any"} & set(kinds) else "json"
        else:
            found["type"] = "str"
        if "none" in kinds and "bool" not in kinds:
            found["type"] += "?"
            if found.get("choices"):
                found["choices"] = [*found["choices"], self.null_choice]
        return found

    @property
    def bare_text(self) -> bool:
        """Whether ``bool | str | None`` makes a flag that may have no value."""
        return "bool, str, type(None)" in _source(self.package)

    def _integer(self, name: str) -> str:
        if name == "max_model_len":
            return "length"
        return "size" if name in self.sizes else "int"


def _source(package: Package) -> str:
    function = package.first(ARGS_MODULE).names["_compute_kwargs"]
    return ast.unparse(function)


def _size_names(package: Package) -> frozenset[str]:
    """Return the fields whose integers may be written as 32k or 1G."""
    function = package.first(ARGS_MODULE).names["_compute_kwargs"]
    for node in ast.walk(function):
        if isinstance(node, (ast.Set, ast.Tuple)):
            words = {e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)}
            if words >= _SIZE_NAMES:
                return frozenset(words)
    return _SIZE_NAMES


def _null_choice(package: Package) -> str | None:
    return "None" if "append('None')" in _source(package) else None


def short(value: Any) -> Any:
    """Return a text or list that is as short as any build's.

    Raises:
        Limit: it is not: it grows by itself.
    """
    if isinstance(value, (str, list)) and len(value) > _MOST_LENGTH:
        raise Limit("what its parser is made of grows without end")
    return value


class _Frame:
    """One function's local names, and the statements that it may hold."""

    def __init__(self, reader: ParserReader, module: Module, owner: Class | None, names: dict[str, Any]) -> None:
        self.reader = reader
        self.module = module
        self.owner = owner
        self.names = names

    def body(self, statements: list[ast.stmt]) -> Any:
        for statement in statements:
            self.reader.package.step()
            if isinstance(statement, ast.Return):
                return self.value(statement.value) if statement.value else None
            self.statement(statement)
        return None

    def statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            value = self.value(statement.value)
            for target in statement.targets:
                self.assign(target, value)
        elif isinstance(statement, ast.AnnAssign) and statement.value:
            self.assign(statement.target, self.value(statement.value))
        elif isinstance(statement, (ast.With, ast.Try)):
            self.body(statement.body)
        elif isinstance(statement, ast.AugAssign):
            self.assign(statement.target, self.sum(self.value(statement.target), self.value(statement.value)))
        elif isinstance(statement, ast.Expr):
            self.value(statement.value)
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                if isinstance(target, ast.Subscript):
                    self.value(target.value).pop(self.value(target.slice), None)
        elif isinstance(statement, ast.If):
            test = self.value(statement.test)
            self.body(statement.body if test is OPAQUE or test else statement.orelse)
        elif isinstance(statement, ast.For):
            for item in list(self.value(statement.iter)):
                self.assign(statement.target, item)
                self.body(statement.body)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                self.names.setdefault(alias.asname or alias.name, OPAQUE)

    @staticmethod
    def sum(left: Any, right: Any) -> Any:
        return OPAQUE if left is OPAQUE or right is OPAQUE else short(left + right)

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple):
            for part, item in zip(target.elts, value, strict=True):
                self.assign(part, item)
        elif isinstance(target, ast.Subscript):
            owner = self.value(target.value)
            if isinstance(owner, dict):
                owner[self.value(target.slice)] = value

    def value(self, node: ast.expr) -> Any:
        text = ast.unparse(node)
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if text in _TYPES:
            return _TYPES[text]
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Attribute) and node.attr == "BooleanOptionalAction":
            return "bool"
        if isinstance(node, ast.Lambda):
            return "word" if ".lower().replace('-', '_')" in text else "any"
        if isinstance(node, ast.Subscript):
            owner = self.value(node.value)
            return owner.get(self.value(node.slice), OPAQUE) if isinstance(owner, dict) else OPAQUE
        if isinstance(node, ast.Dict):
            return self.mapping(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.JoinedStr):
            return self.joined(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            parts = [self.value(part) for part in node.elts]
            return OPAQUE if any(part is OPAQUE for part in parts) else parts
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            owner = self.value(node.comparators[0])
            return self.value(node.left) in owner if isinstance(owner, dict) else OPAQUE
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.sum(self.value(node.left), self.value(node.right))
        return self.module.value(node)

    def mapping(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found |= self.value(value)
            else:
                found[self.value(key)] = self.value(value)
        return found

    def joined(self, node: ast.JoinedStr) -> Any:
        parts = []
        for part in node.values:
            value = self.value(part.value) if isinstance(part, ast.FormattedValue) else self.value(part)
            if value is OPAQUE:
                return OPAQUE
            parts.append(str(value))
        return short("".join(parts))

    def call(self, node: ast.Call) -> Any:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        if name == "add_argument":
            self.add(node)
            return OPAQUE
        if name == "get_kwargs":
            owner = self.value(node.args[0])
            assert isinstance(owner, Class), ast.unparse(node)
            return self.reader.kwargs(owner)
        if name in ("optional_type", "parse_type"):
            inner = self.value(node.args[0])
            return f"{inner if isinstance(inner, str) else 'any'}{'?' if name == 'optional_type' else ''}"
        if name in ("add_cli_args", "_customize_cli_kwargs"):
            return self.method(node, name)
        if name == "get_args":
            hints = self.module.hints(node.args[0])
            return [word for hint in hints for word in hint.values] or OPAQUE
        if isinstance(function, ast.Attribute):
            return self.of_value(node, function)
        if any(isinstance(argument, ast.Name) and argument.id == PARSER for argument in node.args):
            return self.helper(node)
        return OPAQUE

    def helper(self, node: ast.Call) -> Any:
        """Call a function that is given the parser, as forks have to add arguments of their own."""
        found = self.module.find(node.func.id) if isinstance(node.func, ast.Name) else None
        if found is None or not isinstance(found[0], ast.FunctionDef):
            return OPAQUE
        function, module = found[0], found[1]
        parameters = [argument.arg for argument in function.args.args]
        given = {name: self.value(argument) for name, argument in zip(parameters, node.args, strict=False)}
        return self.reader.run(function, module, None, given)

    def of_value(self, node: ast.Call, function: ast.Attribute) -> Any:
        """Call a method of a plain value: ``pop``, ``items``, ``replace``, ``append``, ``remove``."""
        owner = self.value(function.value)
        arguments = [self.value(argument) for argument in node.args]
        if isinstance(owner, dict) and function.attr in ("pop", "items", "get"):
            return getattr(owner, function.attr)(*arguments)
        if isinstance(owner, str) and function.attr == "replace":
            return OPAQUE if OPAQUE in arguments else short(owner.replace(*arguments))
        if isinstance(owner, list) and function.attr in ("append", "remove", "extend"):
            if OPAQUE in arguments:
                owner.clear()
            elif function.attr != "remove" or arguments[0] in owner:
                getattr(owner, function.attr)(*arguments)
                short(owner)
        return OPAQUE

    def method(self, node: ast.Call, name: str) -> Any:
        """Call a function that adds arguments or changes their keywords, on a class or on ``super()``."""
        assert isinstance(node.func, ast.Attribute)
        target = ast.unparse(node.func.value)
        if target == "super()":
            assert self.owner is not None
            found = next((m for base in self.owner.bases if (m := base.method(name))), None)
            cls = self.names.get("cls", self.owner)
        else:
            cls = self.names["cls"] if target == "cls" else self.value(node.func.value)
            found = cls.method(name) if isinstance(cls, Class) else None
        if found is None:
            return OPAQUE
        function, definer = found
        parameters = [argument.arg for argument in function.args.args]
        names: dict[str, Any] = {"cls": cls, "async_args_only": False}
        plain = [parameter for parameter in parameters if parameter != "cls"]
        names |= dict(zip(plain, (self.value(argument) for argument in node.args), strict=False))
        return self.reader.run(function, definer.module, definer, names)

    def add(self, node: ast.Call) -> None:
        names: list[str] = []
        for argument in node.args:
            value = self.value(argument.value if isinstance(argument, ast.Starred) else argument)
            names += value if isinstance(value, list) else [value]
        given: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            given |= value if keyword.arg is None else {keyword.arg: value}
        self.reader.flags.append(made_flag(names, given))
