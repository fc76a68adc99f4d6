"""What a release knows, as plain data for the tables in schemas/releases/data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from release_flags import ARGS_MODULE, Flag, read_flags
from release_source import OPAQUE, Class, Field, Hint, Module, Package

FACTORY = "vllm.distributed.kv_transfer.kv_connector.factory"
_ROOTS = (
    "KVTransferConfig",
    "SpeculativeConfig",
    "CompilationConfig",
    "ParallelConfig",
    "SchedulerConfig",
    "CacheConfig",
)
Table = dict[str, Any]
"""Section → name → what the release says of it."""


def vllm_table(root: Path) -> Table:
    """Return the flags, config classes, environment variables, connectors and Python keywords of a vLLM release."""
    package = Package(root)
    flags = read_flags(package)
    return {
        "flags": {name: entry for name, entry in map(_flag, flags) if name},
        "fields": _classes(package, [flag.config for flag in flags if flag.config]),
        "env": _environment(package.first("vllm.envs"), "environment_variables"),
        "connectors": (connectors := _connectors(package.first(FACTORY))),
        "modules": _modules(package, connectors),
        "keywords": dict.fromkeys(_keywords(package, flags), ""),
    }


def ascend_table(root: Path) -> Table:
    """Return the additional-config keys, environment variables and connectors of a vllm-ascend release."""
    package = Package(root)
    config = package.first("vllm_ascend.ascend_config")
    strict = _forbids(config)
    return {
        "additional": dict.fromkeys(sorted(_strict_keys(config) if strict else _read_keys(root)), ""),
        "groups": _groups(config) if strict else {},
        "facts": {"strict": strict},
        "env": _environment(package.first("vllm_ascend.envs"), "env_variables"),
        "connectors": (connectors := _connectors(package.first("vllm_ascend.distributed.kv_transfer"))),
        "modules": _modules(package, connectors),
    }


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
    return sorted(f"vllm.config.{path.stem}" for path in (package.root / "vllm" / "config").glob("*.py"))


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
    """Return each environment variable with the kind of its value: int, float, flag, text, or its words."""
    table = module.names.get(name)
    assert isinstance(table, ast.Dict), name
    return {
        key.value: _variable(value)
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


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


def _forbids(module: Module) -> bool:
    """Whether the typed options refuse unknown keys."""
    config = module.find("AscendConfig")
    if config is None or not isinstance(config[0], ast.ClassDef):
        return False
    return "extra='forbid'" in ast.unparse(config[0])


def _strict_keys(module: Module) -> set[str]:
    """Return the keys of a release with typed options: the fields, and what is taken out before they are checked."""
    config = module.value(ast.Name("AscendConfig"))
    assert isinstance(config, Class)
    keys = set(config.fields())
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "_NON_USER_INPUT_KEYS" for target in node.targets
        ):
            keys |= set(ast.literal_eval(node.value))
    return {key for key in keys if not key.startswith("_")}


def _groups(module: Module) -> Table:
    """Return the keys of each group of a release with typed options."""
    config = module.value(ast.Name("AscendConfig"))
    assert isinstance(config, Class)
    return dict(sorted(_nested(config)))


def _nested(config: Class) -> Iterator[tuple[str, list[str]]]:
    for name, entry in config.fields().items():
        for hint in entry.hints:
            inner = config.module.value(ast.Name(hint.name)) if hint.kind == "config" else None
            if isinstance(inner, Class):
                yield name, sorted(key for key in inner.fields() if not key.startswith("_"))
                yield from _nested(inner)


def _read_keys(root: Path) -> set[str]:
    """Return every key that some module reads from the dict of additional options."""
    found: set[str] = set()
    for path in sorted((root / "vllm_ascend").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "additional_config" in text:
            found |= set(_keys(ast.parse(text)))
    return found


def _keys(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            parts = _asked(node)
        elif isinstance(node, ast.Subscript) and _is_additional(node.value):
            parts = [node.slice]
        elif isinstance(node, ast.Compare) and _is_additional(node.comparators[0]):
            parts = [node.left]
        yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def _asked(call: ast.Call) -> list[ast.expr]:
    """Return the key that a call asks the dict for: its own method, or a function that is given dict and key."""
    function = call.func
    if isinstance(function, ast.Attribute) and _is_additional(function.value):
        return call.args[:1] if function.attr in ("get", "pop", "setdefault") else []
    return [key for owner, key in pairwise(call.args) if _is_additional(owner)]


def _is_additional(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return text.rpartition(".")[2] in ("additional_config", "additional_config or {})", "additional_config or {}")
