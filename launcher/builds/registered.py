"""Words that a build registers for options whose type is plain text: parsers of answers, and attention backends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from pd_launch.launcher.builds.source import NotFoundError, Package

_PARSERS = {
    "reasoning-parser": (("vllm.reasoning",), "_REASONING_PARSERS_TO_REGISTER"),
    "tool-call-parser": (("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers"), "_TOOL_PARSERS_TO_REGISTER"),
}
"""Option → the modules that may have the dict of what is registered under which name, and the dict."""
_BACKENDS = ("vllm.v1.attention.backends.registry", "AttentionBackendEnum")


def read_registered(package: Package) -> dict[str, Any]:
    """Return each word as ``OPTION.WORD``.

    Raises:
        NotFoundError: one of the registries is not where every release has it.
    """
    found: dict[str, Any] = {}
    for option, (modules, name) in _PARSERS.items():
        found |= {f"{option}.{word}": "" for word in _keys(package, modules, name)}
    found |= {f"attention-backend.{word}": "" for word in _members(package, *_BACKENDS)}
    return found


def _keys(package: Package, modules: tuple[str, ...], name: str) -> list[str]:
    for module_name in modules:
        module = package.module(module_name)
        value = module.names.get(name) if module is not None else None
        if isinstance(value, ast.Dict):
            keys = [key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            if keys and len(keys) == len(value.keys):
                return keys
    raise NotFoundError(f"{modules[0]} has no dict {name} of plain names")


def _members(package: Package, module_name: str, name: str) -> Iterator[str]:
    module = package.module(module_name)
    class_ = module.names.get(name) if module is not None else None
    if not isinstance(class_, ast.ClassDef):
        raise NotFoundError(f"{module_name} has no class {name}")
    for statement in class_.body:
        if isinstance(statement, ast.Assign):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
