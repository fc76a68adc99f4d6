"""The keys of ``--additional-config`` that a vllm-ascend knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from pd_launch.launcher.builds.classes import Class
from pd_launch.launcher.builds.source import Module, Package


def forbids_others(module: Module) -> bool:
    """Whether the typed options refuse unknown keys."""
    config = module.find("AscendConfig")
    if config is None or not isinstance(config[0], ast.ClassDef):
        return False
    return "extra='forbid'" in ast.unparse(config[0])


def strict_keys(module: Module) -> set[str]:
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


def groups(module: Module) -> dict[str, list[str]]:
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


def read_keys(package: Package) -> set[str]:
    """Return every key that some module reads from the dict of additional options."""
    found: set[str] = set()
    for path in package.files.below("vllm_ascend"):
        text = package.files.text(path) or ""
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
