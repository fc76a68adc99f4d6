"""What a build knows, as plain data: the tables in schemas/releases/data, and those of a build that is read itself."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pd_launch.launcher.builds import additional
from pd_launch.launcher.builds.classes import OPAQUE, Class, Field, Hint
from pd_launch.launcher.builds.files import Files, Limit
from pd_launch.launcher.builds.flags import Flag
from pd_launch.launcher.builds.options import read_options
from pd_launch.launcher.builds.parser import ARGS_MODULE, read_flags
from pd_launch.launcher.builds.registered import read_registered
from pd_launch.launcher.builds.source import Module, NotFoundError, Package
from pd_launch.schemas.core.record import dataclass

FACTORY = "vllm.distributed.kv_transfer.kv_connector.factory"
_ROOTS = (
    "KVTransferConfig",
    "SpeculativeConfig",
    "CompilationConfig",
    "ParallelConfig",
    "SchedulerConfig",
    "CacheConfig",
)
_SURE_FLAGS = ("port", "max-num-seqs", "kv-transfer-config", "tensor-parallel-size")
_SURE_FIELDS = ("KVTransferConfig.kv_connector", "KVTransferConfig.kv_role")
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a reader raises on sources that are not as it expects them: no fault of pd-launch's, and never a traceback."""

Table = dict[str, Any]
"""Section → name → what the release says of it."""


@dataclass(frozen=True)
class Reading:
    """What was read of a build: ``sections``, and why others could not be read (``unread``: section → reason)."""

    sections: Table
    unread: dict[str, str]


def read_vllm(files: Files) -> Reading:
    """Return the flags, config classes, environment variables, Python keywords, connectors and their options."""
    package = Package(files)
    flags = _Once(lambda: read_flags(package))
    connectors = _Once(lambda: _connectors(package.first(FACTORY)))
    return _read(
        {
            "flags": lambda: _complete({name: entry for name, entry in map(_flag, flags()) if name}, *_SURE_FLAGS),
            "fields": lambda: _complete(_classes(package, [f.config for f in flags() if f.config]), *_SURE_FIELDS),
            "env": lambda: _complete(_environment(package.first("vllm.envs"), "environment_variables"), "VLLM_PORT"),
            "connectors": lambda: _complete(connectors()),
            "modules": lambda: _modules(package, connectors()),
            "options": lambda: read_options(package, connectors()),
            "registered": lambda: read_registered(package),
            "keywords": lambda: dict.fromkeys(_keywords(package, flags()), ""),
            "facts": lambda: _parser_facts(package),
        }
    )


def read_ascend(files: Files) -> Reading:
    """Return the additional-config keys, environment variables, connectors and their options of a vllm-ascend."""
    package = Package(files)
    config = _Once(lambda: package.first("vllm_ascend.ascend_config"))
    connectors = _Once(lambda: _connectors(package.first("vllm_ascend.distributed.kv_transfer")))

    def keys() -> Table:
        typed = additional.forbids_others(config())
        found = additional.strict_keys(config()) if typed else additional.read_keys(package)
        return _complete(dict.fromkeys(sorted(found), ""))

    return _read(
        {
            "additional": keys,
            "groups": lambda: additional.groups(config()) if additional.forbids_others(config()) else {},
            "facts": lambda: {"strict": additional.forbids_others(config())},
            "env": lambda: _complete(_environment(package.first("vllm_ascend.envs"), "env_variables")),
            "connectors": lambda: _complete(connectors()),
            "modules": lambda: _modules(package, connectors()),
            "options": lambda: read_options(package, connectors()),
        }
    )


def _parser_facts(package: Package) -> Table:
    """Return how the parser differs from others: whether ``--enable-x`` also has ``--disable-x``, and the reverse."""
    module = package.module("vllm.utils.argparse_utils")
    classes = [node for node in module.names.values() if isinstance(node, ast.ClassDef)] if module else []
    paired = (node for node in classes if any("BooleanOptionalAction" in ast.unparse(base) for base in node.bases))
    return {"paired_switches": True} if any("'--disable-'" in ast.unparse(node) for node in paired) else {}


class _Once:
    """Something that several sections are made of: read once, also where it cannot be read."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = OPAQUE
        self._fault: BaseException | None = None

    def __call__(self) -> Any:
        if self._fault is not None:
            raise self._fault
        if self._made is OPAQUE:
            try:
                self._made = self._make()
            except FAULTS as fault:
                self._fault = fault
                raise
        return self._made


def _read(readers: dict[str, Callable[[], Table]]) -> Reading:
    sections: Table = {}
    unread: dict[str, str] = {}
    for name, reader in readers.items():
        try:
            sections[name] = json.loads(json.dumps(reader()))
        except FAULTS as fault:
            unread[name] = _reason(fault)
    return Reading(sections, unread)


def _reason(fault: BaseException) -> str:
    if isinstance(fault, SyntaxError):
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return f"{fault.filename or 'a type'}, line {fault.lineno}: Python {version} cannot read it"
    if isinstance(fault, (RecursionError, MemoryError)):
        return "it is nested too deeply"
    if isinstance(fault, (Limit, NotFoundError)):
        return str(fault)
    if isinstance(fault, OSError):
        return f"{fault.filename}: {fault.strerror}"
    return f"it is written in a way that is not understood ({type(fault).__name__})"


def _complete(found: Table, *names: str) -> Table:
    """Return a section as it is, unless it lacks what every build has: then it was not understood.

    Raises:
        NotFoundError: it does.
    """
    missing = [name for name in names if name not in found]
    if missing or not found:
        raise NotFoundError(f"{missing[0] if missing else 'anything'} was not found, which every build has")
    return found


def _flag(flag: Flag) -> tuple[str, Table | str]:
    long = [name[2:] for name in flag.names if name.startswith("--")]
    if not long:
        return "", {}
    entry: Table = {"kind": flag.kind}
    also = [*long[1:], *(name for name in flag.names if name.startswith("-") and not name.startswith("--"))]
    for key, value in (
        ("also", also),
        ("values", flag.values),
        ("choices", flag.choices),
        ("optional", flag.optional),
        ("config", flag.config),
        ("appends", flag.appends),
        ("bounds", flag.bounds),
    ):
        if value:
            entry[key] = value
    if flag.default is not OPAQUE and flag.default is not None:
        entry["default"] = flag.default
    return long[0], flag.kind if entry == {"kind": flag.kind} else entry


def _classes(package: Package, names: list[str]) -> Table:
    """Return the fields of config classes, and of those that their fields hold, as ``Class.field``."""
    waiting = sorted({*names, *_ROOTS})
    found: Table = {}
    while waiting:
        name = waiting.pop()
        class_ = None if name in found else package.class_(name, ARGS_MODULE, "vllm.config", *_config_modules(package))
        if class_ is None or not class_.is_config:
            continue
        loose = _validated(class_)
        fields = class_.fields()
        found[name] = {f"{name}.{key}": _field(entry, key in loose or "*" in loose) for key, entry in fields.items()}
        waiting += [hint.name for entry in fields.values() for hint in entry.hints if hint.kind == "config"]
    return {key: entry for _, fields in sorted(found.items()) for key, entry in fields.items()}


def _config_modules(package: Package) -> list[str]:
    paths = package.files.below("vllm/config", deep=False)
    return [f"vllm.config.{path.rpartition('/')[2].removesuffix('.py')}" for path in paths]


def _field(entry: Field, loose: bool) -> Table | str:
    known = [_type(hint) for hint in entry.hints if not loose or hint.kind == "config"]
    types = "|".join(dict.fromkeys(["any", *known] if loose else known))
    found: Table = {"types": types}
    words = [word for hint in entry.hints for word in hint.values]
    if words and not loose:
        found["choices"] = words
    if entry.bounds:
        found["bounds"] = entry.bounds
    if entry.default is not OPAQUE and entry.default is not None:
        found["default"] = entry.default
    return types if found == {"types": types} else found


def _type(hint: Hint) -> str:
    if hint.kind == "config":
        return f"config:{hint.name}"
    if hint.name == "Path":
        return "str"
    return "any" if hint.kind == "object" else hint.kind


def _validated(class_: Class) -> set[str]:
    """Return the fields that a validator may convert before their type is looked at; ``*`` is all of them.

    One that only lets None pass, as many do, converts nothing.
    """
    found: set[str] = set()
    for statement in class_.node.body:
        for decorator in statement.decorator_list if isinstance(statement, ast.FunctionDef) else ():
            if isinstance(decorator, ast.Call):
                name = ast.unparse(decorator.func)
                early = any(k.arg == "mode" and ast.unparse(k.value) != "'after'" for k in decorator.keywords)
                if name == "field_validator" and early and not _passes_none(statement):
                    named = (a.value for a in decorator.args if isinstance(a, ast.Constant))
                    found |= {value for value in named if isinstance(value, str)}
                elif name == "model_validator" and early:
                    found.add("*")
    for base in class_.bases:
        found |= _validated(base)
    return found


def _passes_none(function: ast.stmt) -> bool:
    text = " ".join(ast.unparse(function).split())
    short, long = (
        "return None if value is None else handler(value)",
        "if value is None: return value return handler(value)",
    )
    return short in text or long in text


def _environment(module: Module, name: str) -> Table:
    """Return each environment variable with the kind of its value: int, float, flag, text, or its words.

    Raises:
        NotFoundError: they are not in one dict, as they are in every release.
    """
    found = module.find(name)
    if found is None or not isinstance(found[0], ast.Dict):
        raise NotFoundError(f"{module.name} has no dict {name}")
    entries = {key: _variable(value) for key, value in _entries(found[0], found[1], name, 0)}
    for statement in found[1].tree.body:
        entries |= _added(statement, found[1], name)
    return entries


def _entries(node: ast.Dict, module: Module, name: str, depth: int) -> Iterator[tuple[str, ast.expr]]:
    """Iterate over a dict's entries, those of other dicts that are put into it included."""
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            other = module.find(value.id) if isinstance(value, ast.Name) else (value, module)
            if other is None or not isinstance(other[0], ast.Dict) or depth > 8:
                raise NotFoundError(f"{module.name}: what {name} is made of was not found")
            yield from _entries(other[0], other[1], name, depth + 1)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _added(statement: ast.stmt, module: Module, name: str) -> Table:
    """Return what a statement after the dict puts into it."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and ast.unparse(target.value) == name:
            key = target.slice
            return {str(key.value): _variable(statement.value)} if isinstance(key, ast.Constant) else {}
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if ast.unparse(call.func) == f"{name}.update" and len(call.args) == 1:
            spread = ast.Dict(keys=[None], values=[call.args[0]])
            return {key: _variable(value) for key, value in _entries(spread, module, name, 0)}
    return {}


def _variable(value: ast.expr) -> str | list[Any]:
    text = ast.unparse(value)
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "env_with_choices" and len(value.args) > 2:
        words = value.args[2]
        if isinstance(words, (ast.List, ast.Tuple)):
            return [word.value for word in words.elts if isinstance(word, ast.Constant)]
    body = ast.unparse(value.body) if isinstance(value, ast.Lambda) else text
    if body.startswith(("bool(int(", "bool(")):
        return "flag"
    if body.startswith(("int(", "float(")):
        return body.partition("(")[0]
    return "flag" if "in ('1', 'true')" in body or "in ('true', '1')" in body else "text"


def _connectors(module: Module) -> dict[str, list[str]]:
    """Return each registered connector's module and class."""
    found = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "KVConnectorFactory.register_connector":
            words = [*node.args, *(keyword.value for keyword in node.keywords)]
            plain = [word.value if isinstance(word, ast.Constant) else None for word in words]
            if len(plain) == 3 and all(isinstance(word, str) for word in plain):
                found[str(plain[0])] = [str(plain[1]), str(plain[2])]
    return found


def _modules(package: Package, connectors: dict[str, list[str]]) -> Table:
    """Return the names in each registered connector's module that may be connector classes."""
    found = {}
    for name in sorted({module for module, _ in connectors.values()}):
        module = package.module(name)
        if module is not None:
            found[name] = sorted(word for word in module.names if "Connector" in word)
    return found


def _keywords(package: Package, flags: list[Flag]) -> list[str]:
    """Return the keyword arguments that ``LLM`` and ``EngineArgs`` take and that are no flag's name."""
    arguments = package.class_("AsyncEngineArgs", ARGS_MODULE)
    names = set(arguments.fields()) if arguments else set()
    llm = package.class_("LLM", "vllm.entrypoints.llm")
    init = llm.method("__init__") if llm else None
    if init:
        names |= {argument.arg for argument in (*init[0].args.args, *init[0].args.kwonlyargs)} - {"self"}
    known = {name.lstrip("-").replace("-", "_") for flag in flags for name in flag.names}
    return sorted(name for name in names - known if not name.startswith("_"))
