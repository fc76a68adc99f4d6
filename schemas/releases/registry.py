"""Every fact of the tables, by name."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from pd_launch.schemas import releases
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.releases.facts import Fact


@cache
def all_facts() -> dict[str, Fact]:
    """Return every fact that is in a module of the tables, or that its ``facts()`` returns.

    Raises:
        ValueError: two facts have one name.
    """
    found: dict[str, Fact] = {}
    for module in modules():
        for fact in facts_of(module):
            if found.setdefault(fact.name, fact) != fact:
                raise ValueError(f"two facts are named {fact.name}")
    return found


_STATED = lazy_pattern(r"<(since|until|last|before|all)\s+([\w.-]+)>")


def stated(text: str, lang: str = "en") -> str:
    """Return a text with releases in place of ``<since FACT>``, ``<until …>``, ``<last …>``, ``<before …>``.

    ``<all FACT>`` are all its spans, in words.

    Raises:
        KeyError: there is no fact of that name.
    """

    def said(match: re.Match[str]) -> str:
        fact = all_facts()[match[2]]
        word = {"since": fact.first, "until": fact.until, "last": fact.last, "before": fact.before}
        return spans(fact).text(lang) if match[1] == "all" else str(word[match[1]])

    found = _STATED.sub(said, text)
    words = " ".join(found.split())
    return textwrap.fill(words, 120, break_on_hyphens=False, break_long_words=False) if lang == "en" else found


def spans(fact: Fact) -> Msg:
    """Return all spans of a fact in words: ``0.23.0, 0.27.1rc1 to 0.29.0rc1``."""
    parts = [dataclasses.replace(fact, since=since, until=until, again=()) for since, until in fact.spans]
    said = [part.spoken() for part in parts]
    said_zh = [part.replace(" to ", " 到 ").replace(" and later", " 起") for part in said]
    return Msg(", ".join(said), "、".join(said_zh))


BESIDE = ("core.flag_shapes", "core.pairing", "core.switches", "engine.connector_keys", "engine.pairs", "engine.sleep")
"""Tables in other rooms: a target and a launch are made with the first, the others speak of connectors."""


def modules() -> Iterator[ModuleType]:
    """Give the modules of the tables, in the order of their names."""
    here = [f"releases.{info.name}" for info in pkgutil.iter_modules(releases.__path__) if info.name != "registry"]
    for name in sorted([*here, *BESIDE], key=lambda one: one.rpartition(".")[2]):
        yield importlib.import_module(f"pd_launch.schemas.{name}")


def facts_of(module: ModuleType) -> Iterator[Fact]:
    """Give the facts that are in a module, or that its ``facts()`` returns; one may come twice."""
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
