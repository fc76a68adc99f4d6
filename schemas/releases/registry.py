"""Every fact of the tables, by name."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from pd_launch.schemas import releases
from pd_launch.schemas.releases.facts import Fact


@cache
def all_facts() -> dict[str, Fact]:
    """Return every fact that stands in a module of the tables, or that its ``facts()`` returns.

    Raises:
        ValueError: two facts have one name.
    """
    found: dict[str, Fact] = {}
    for module in modules():
        for fact in _facts(module):
            if found.setdefault(fact.name, fact) != fact:
                raise ValueError(f"two facts are named {fact.name}")
    return found


def modules() -> Iterator[ModuleType]:
    """Give the modules of the tables."""
    for info in pkgutil.iter_modules(releases.__path__):
        if info.name != "registry":
            yield importlib.import_module(f"{releases.__name__}.{info.name}")


def _facts(module: ModuleType) -> Iterator[Fact]:
    for name, value in vars(module).items():
        if not name.startswith("__"):
            yield from inside(value)
    if hasattr(module, "facts") and callable(module.facts):
        yield from module.facts()


def inside(value: object) -> Iterator[Fact]:
    """Give the facts in a value: itself, or those in a table or a row of one."""
    if isinstance(value, Fact):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from inside(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from inside(inner)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from inside(getattr(value, field.name))
