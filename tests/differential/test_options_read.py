"""Every key of ``kv_connector_extra_config`` that the installed vLLM's code asks for is in the tables.

The tables are read by launcher/builds/options.py, which follows imports and forms of reading. Here everything is looked
at, whatever it is imported by: what comes out of an expression with ``extra_config`` in its name, also through
variables, and every literal that such a value is asked for.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from pd_launch.schemas.core.target import vllm_target
from pd_launch.schemas.releases.vllm_tables import vllm_table

pytestmark = pytest.mark.engine
FOUND = importlib.util.find_spec("vllm")
if FOUND is None or FOUND.origin is None:
    pytest.skip("vLLM is not installed", allow_module_level=True)
ROOT = Path(FOUND.origin).parent
INSTALLED = metadata.version("vllm").partition("+")[0]
OTHERS = {
    "ec_transfer/": "options of an encoder cache's connector",
    "model_loader/": "options of a model loader",
    "quantization/": "what a quantised model's configuration says of its layers",
    "kv_connector/v1/umbp/": "no release registers it, so the tables, which start at the registered ones, lack it",
}
"""Folders whose ``extra_config`` is not that of a registered KV connector, with the reason."""
NO_OPTIONS = {
    "enable_telemetry": "an entry of a kvcr tier: TieringOffloadingSpec gives a tier its own entry under this name",
}
"""Keys that the walk finds and that are no options of a connector, with the reason."""


def test_every_key_is_in_the_table() -> None:
    table = vllm_table(vllm_target(INSTALLED, ""))
    assert table is not None, f"no table for vLLM {INSTALLED}"
    known = {entry.partition(".")[2] for entry in table.names("options")}
    asked = {key: place for path, tree in _modules() for key, place in _asked(tree, path)}
    missing = {key: place for key, place in asked.items() if key not in known and key not in NO_OPTIONS}
    assert not missing


def test_every_exception_is_needed() -> None:
    asked = {key for path, tree in _modules() for key, _ in _asked(tree, path)}
    if (ROOT / "v1/kv_offload/tiering/kvcr").is_dir():
        assert set(NO_OPTIONS) <= asked
    factory = (ROOT / "distributed/kv_transfer/kv_connector/factory.py").read_text(encoding="utf-8")
    assert "kv_connector.v1.umbp" not in factory


def test_the_walk_sees_what_the_tables_know() -> None:
    asked = {key for path, tree in _modules() for key, _ in _asked(tree, path)}
    assert {"connectors", "cpu_bytes_to_use", "num_threads"} <= asked
    assert ("host_pool_gib" in asked) == (ROOT / "v1/hisparse").is_dir()


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if any(other in name for other in OTHERS):
            continue
        text = path.read_text(encoding="utf-8")
        if "extra_config" in text:
            yield name, ast.parse(text)


def _asked(tree: ast.Module, path: str) -> Iterator[tuple[str, str]]:
    held = _held(tree)
    for node in ast.walk(tree):
        owner, key = _question(node)
        if owner is not None and isinstance(key, ast.Constant) and isinstance(key.value, str):
            is_helper = isinstance(owner, ast.Attribute) and owner.attr == "get_from_extra_config"
            if is_helper or _holds(owner, held):
                yield key.value, f"{path}:{node.lineno}"  # type: ignore[attr-defined]


def _question(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """Return what is asked and for which key."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr == "get_from_extra_config":
            return node.func, node.args[0]
        if node.func.attr in ("get", "pop", "setdefault"):
            return node.func.value, node.args[0]
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.value, node.slice
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return node.comparators[0], node.left
    return None, None


def _held(tree: ast.Module) -> set[str]:
    """Return the variables and attributes to which options, or a list of them, are given."""
    held: set[str] = set()
    for _ in range(3):  # variables given to variables
        for node in ast.walk(tree):
            value = getattr(node, "value", None)
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) or value is None:
                continue
            if _holds(value, held):
                held |= {name for target in targets if (name := _name(target))}
    return held


def _name(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _holds(node: ast.expr, held: set[str]) -> bool:
    """Whether an expression is the options, or has them in it as they are: not one of their values."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = _name(node)
        return (name.endswith("extra_config") and not name.startswith(("ec_", "model_loader"))) or name in held
    if isinstance(node, ast.ListComp):
        return _holds(node.elt, held)
    if isinstance(node, (ast.BoolOp, ast.List)):
        return any(_holds(part, held) for part in (node.values if isinstance(node, ast.BoolOp) else node.elts))
    if isinstance(node, ast.IfExp):
        return _holds(node.body, held) or _holds(node.orelse, held)
    if isinstance(node, ast.Subscript):
        is_number = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)
        return _is_options_key(node.slice) or (is_number and _holds(node.value, held))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("dict", "getattr"):
            return any(_holds(part, held) or _is_options_key(part) for part in node.args)
        return isinstance(node.func, ast.Attribute) and any(map(_is_options_key, node.args[:1]))
    return False


def _is_options_key(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "kv_connector_extra_config"
