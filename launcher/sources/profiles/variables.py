"""Environment variables of a profile: those of both sides, then of one, then of one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pd_launch.schemas.core.joins import Join
from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.values import Node, Unknown


def layered_variables(sections: Sequence[Node]) -> dict[str, EnvVar]:
    """Return the variables of several sections, each of which goes before the ones in front of it.

    ``prepend`` and ``append`` go around what the sections in front say, else around what the variable holds when the
    engine starts. The value of one that is to be unset is None.
    """
    found: dict[str, EnvVar] = {}
    for name, node in (entry for section in sections for entry in section.items()):
        found[name] = _joined(name, node, found.get(name)) if isinstance(node.value, dict) else _plain(name, node)
    return found


def _plain(name: str, node: Node) -> EnvVar:
    return EnvVar(name, node if node.value is None else _text_node(node), "profile")


def _joined(name: str, node: Node, before: EnvVar | None) -> EnvVar:
    parts = {key: as_written(part) for key, part in node.items()}
    join = Join(parts.get("prepend", ""), parts.get("append", ""))
    place = next(iter(node.value.values()), node).origin
    if before is not None and before.joins is None:
        said = before.value.value
        return EnvVar(name, Node(join.around(None if said is None else str(said)), place, key=node.key), "profile")
    if before is not None and before.joins is not None:
        join = join.over(before.joins)
    return EnvVar(name, Node(Unknown(join.shown(name)), place, key=node.key), "profile", join)


def _text_node(node: Node) -> Node:
    """Return an environment value as text, exactly as it is written."""
    return replace(node, value=as_written(node), shadowed=[])


def as_written(node: Node) -> str:
    """Return a scalar's characters as they are in the file."""
    return node.text.value if node.text is not None else str(node.value)
