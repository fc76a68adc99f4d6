"""Edits that move what a variable said into a JSON argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pd_launch.launcher.rules.edits import Edits, insert_entries, joined
from pd_launch.launcher.upgrade.words import add_argument, remove_variable
from pd_launch.schemas.core.launch import EnvVar, NodeLaunch
from pd_launch.schemas.engine.kv_transfer import connectors

Moved = tuple[Callable[[], list[Edits | None]], str, set[str]]
"""What writes it, what is written, and the names that this touches."""


def nested(name: str, value: object) -> dict[str, object]:
    """Return the entries that ``a.b`` with a value is."""
    head, _, rest = name.partition(".")
    return {head: nested(rest, value) if rest else value}


def into_additional(variable: EnvVar, sharing: Sequence[NodeLaunch], name: str, value: object) -> Moved:
    """Return what moves a variable into additional_config of every engine that it is set for."""

    def edits() -> list[Edits | None]:
        additions = _once([_addition(node, name, value) for node in sharing])
        if additions is None:
            return []
        return [joined(cut, *additions) for cut in remove_variable(variable)]

    shown = "true" if value is True else "false" if value is False else str(value)
    return edits, f"additional_config.{name}: {shown}", {"--additional-config", *name.split(".")}


def into_options(variable: EnvVar, sharing: Sequence[NodeLaunch], connector: str, key: str, value: object) -> Moved:
    """Return what moves a variable into the options of the connector that reads it."""

    def edits() -> list[Edits | None]:
        found = [c for node in sharing for c in connectors(node.kv_transfer) if c.name == connector]
        additions: list[Edits | None] = []
        for one in found:
            if one.option(key) is not None:
                continue
            if one.extra is not None:
                additions.append(insert_entries(one.extra, {key: value}))
            else:
                additions.append(insert_entries(one.tree, {"kv_connector_extra_config": {key: value}}))
        once = _once(additions)
        return [] if once is None else [joined(cut, *once) for cut in remove_variable(variable)]

    return edits, f"{connector} {key}: {value}", {key, "kv_connector_extra_config"}


def _addition(node: NodeLaunch, name: str, value: object) -> Edits | None:
    tree = node.additional
    head, _, rest = name.partition(".")
    if tree is None:
        return next((one for one in add_argument(node, "additional-config", nested(name, value)) if one), None)
    there = tree.get(head)
    if there is None:
        return insert_entries(tree, nested(name, value))
    if rest and isinstance(there.value, dict):
        return () if there.get(rest) is not None else insert_entries(there, {rest: value})
    return ()  # the key counts already, and the variable does not


def _once(edits: Sequence[Edits | None]) -> list[Edits] | None:
    """Return each edit once; None where one of them cannot be made."""
    found: list[Edits] = []
    for one in edits:
        if one is None:
            return None
        if one and one not in found:
            found.append(one)
    return found
