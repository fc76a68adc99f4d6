"""What the tests of the input forms share: read texts, find one node, compare a place with the text that is there."""

from __future__ import annotations

from typing import Any

from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.values import Node, Origin


def deployment(files: dict[str, str], **options: Any) -> Deployment:
    """Return the only deployment of a call."""
    found = read_texts(files, **options)
    assert len(found) == 1, [list(d.sources) for d in found]
    return found[0]


def launch(text: str, name: str = "serve.sh", **options: Any) -> tuple[NodeLaunch, Deployment]:
    """Return the only engine of one file, with its deployment."""
    found = deployment({name: text}, **options)
    assert len(found.nodes) == 1, found.nodes
    return found.nodes[0], found


def at(found: Deployment, place: Origin | None) -> tuple[int, str]:
    """Return the line of a place, and the characters of the file that it spans."""
    assert place is not None
    source = found.sources[place.file]
    start = source.offset(place.line, place.column)
    return place.line, source.text[start : source.offset(place.end_line, place.end_column)]


def value(node: NodeLaunch, flag: str) -> Any:
    """Return an argument's value as plain data; True for a bare flag."""
    arg = node.arg(flag)
    assert arg is not None, f"--{flag} is missing: {[a.name for a in node.args]}"
    return True if arg.value is None else arg.value.plain()


def flag(node: NodeLaunch, name: str) -> Node:
    """Return an argument's value with its place."""
    arg = node.arg(name)
    assert arg is not None and arg.value is not None
    return arg.value


def variables(node: NodeLaunch) -> dict[str, Any]:
    """Return the environment as plain data; Unknown values as None."""
    return {name: found.value.value if found.value.known else None for name, found in node.env.items()}


def faults(found: Deployment) -> list[str]:
    """Return the kinds of all faults."""
    return [fault.kind for fault in found.faults]
