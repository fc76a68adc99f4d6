"""Arguments of ``vllm serve``: what the keywords of ``add_argument`` make of one."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pd_launch.launcher.builds.classes import OPAQUE, Hint
from pd_launch.schemas.core.record import dataclass


@dataclass
class Flag:
    """One argument. ``kind`` is how a value is read, ``values`` how many (None: one, or none for switches)."""

    names: list[str]
    kind: str
    values: str | int | None = None
    choices: list[Any] | None = None
    optional: bool = False
    default: Any = OPAQUE
    bounds: dict[str, float] = field(default_factory=dict)
    config: str = ""
    appends: bool = False


def of_literal(kinds: dict[str, Hint]) -> dict[str, Any]:
    """Return the keywords of an argument whose field is one of some words."""
    words = kinds["literal"].values
    kind = {int: "int", float: "float"}.get(type(words[0]), "str")
    return {"type": kind} if "str" in kinds else {"type": kind, "choices": sorted(words)}


def of_collection(hint: Hint) -> dict[str, Any]:
    """Return the keywords of an argument whose field is a list, set or tuple."""
    element = hint.inner[0] if hint.inner else (Hint("str"),)
    count: str | int = "+"
    if hint.kind == "tuple" and ("ellipsis",) not in [tuple(h.kind for h in inner) for inner in hint.inner]:
        count = len(hint.inner)
    if len(element) == 1 and element[0].kind == "literal":
        return {**of_literal({"literal": element[0]}), "nargs": count}
    kind = element[0].kind if len(element) == 1 and element[0].kind in ("int", "float", "str") else "str"
    return {"type": kind if len(element) == 1 and element[0].kind != "config" else "str", "nargs": count}


def made_flag(names: list[str], given: dict[str, Any]) -> Flag:
    """Return the argument that ``add_argument`` makes of its names and keywords."""
    kind = given.get("type", "str")
    kind = kind if isinstance(kind, str) else "any"
    action = given.get("action")
    optional = kind.endswith("?")
    kind, _, config = kind.rstrip("?").partition(":")
    if action == "bool":
        kind, optional = "bool", False
    elif action in ("store_true", "store_false"):
        kind = "switch"
        given.setdefault("default", action == "store_false")
    choices = given.get("choices")
    return Flag(
        names,
        kind,
        given.get("nargs"),
        choices if isinstance(choices, list) and choices else None,
        optional,
        given.get("default"),
        given.get("bounds", {}),
        config,
        action == "append",
    )
