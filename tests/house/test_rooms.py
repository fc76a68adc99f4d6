"""The house as docs/architecture.md draws it: no circle of files or of folders, and no way up to the commands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("schemas", "launcher", "connector")
TOP = ("launcher/cli", "launcher/internal", "launcher/commands")
"""The command layer: nothing of the library imports it."""


def _module(path: Path) -> str:
    return str(path.relative_to(ROOT).with_suffix("")).removesuffix("/__init__")


MODULES = {_module(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def _imported(tree: ast.AST) -> Iterable[str]:
    """Give the modules of ours that a file imports, when loaded or later, except for type checkers only."""
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in (node for node in ast.walk(tree) if id(node) not in only_types):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pd_launch"):
            base = (node.module or "").replace(".", "/").removeprefix("pd_launch").lstrip("/")
            for name in node.names:
                whole = f"{base}/{name.name}" if base else name.name
                yield whole if whole in MODULES else base
        elif isinstance(node, ast.Import):
            yield from (name.name.replace(".", "/").removeprefix("pd_launch/") for name in node.names)


@cache
def imports() -> dict[str, set[str]]:
    return {
        name: {found for found in _imported(ast.parse(path.read_text("utf-8"))) if found in MODULES and found != name}
        for name, path in MODULES.items()
    }


def room(module: str) -> str:
    """Return the folder that a module is in; the few modules beside the folders are rooms of their own."""
    folder = module if (ROOT / module).is_dir() else module.rpartition("/")[0]
    return module if folder in PACKAGES else folder


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Return all sets of nodes that reach each other (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            place = stack.index(node)
            if len(stack) - place > 1:
                found.append(sorted(stack[place:]))
            del stack[place:]

    for node in arrows:
        if node not in index:
            visit(node)
    return found


def rooms() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module, others in imports().items():
        found.setdefault(room(module), set()).update(room(other) for other in others if room(other) != room(module))
    return found


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert "schemas/core" in rooms()["launcher/check"] and len(rooms()) > 35


def test_no_circle_of_files() -> None:
    assert circles(imports()) == []


def test_no_circle_of_folders() -> None:
    assert circles(rooms()) == []


def test_packages_import_only_downwards() -> None:
    allowed = {"schemas": {"schemas"}, "launcher": {"schemas", "launcher"}, "connector": {"schemas", "connector"}}
    wrong = [
        (module, other)
        for module, others in imports().items()
        for other in others
        if other.partition("/")[0] not in allowed[module.partition("/")[0]]
    ]
    assert not wrong


def test_nothing_of_the_library_imports_the_commands() -> None:
    wrong = [(one, other) for one, others in rooms().items() for other in others if other in TOP and one not in TOP]
    assert not wrong


def test_drawers_of_schemas_lie_in_order() -> None:
    """Each may use those before it: values, then what releases do, models, what a launch means, what it takes."""
    order = ["schemas/core", "schemas/releases", "schemas/models", "schemas/engine", "schemas/memory"]
    for place, name in enumerate(order):
        assert rooms()[name] <= set(order[:place])


def test_every_folder_says_what_it_is() -> None:
    for name, path in MODULES.items():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), name
