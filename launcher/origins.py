"""Where each argument and variable of a launch came from, for ``--show-origin``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.plan import environment
from pd_launch.launcher.render import argument_words
from pd_launch.launcher.secrets import MASK, is_secret
from pd_launch.schemas.launch import Arg, NodeLaunch
from pd_launch.schemas.values import Node, Origin

_WIDTH = 60


def origins(launches: Sequence[NodeLaunch]) -> list[str]:
    """Return a line for each argument, each value inside a JSON argument, and each variable, with its place."""
    rows: list[tuple[str, Origin | None]] = []
    for launch in launches:
        if len(launches) > 1:
            rank = launch.number("data-parallel-rank", 0)
            rows.append((f"{launch.label}, rank {rank}:" if launch.external_dp else f"{launch.label}:", None))
        rows += _rows(launch)
    width = min(_WIDTH, max((len(text) for text, _ in rows), default=0))
    return [text if origin is None else f"{text:{width}}  {_place(origin)}" for text, origin in rows]


def _rows(launch: NodeLaunch) -> Iterator[tuple[str, Origin | None]]:
    if launch.model is not None:
        yield str(launch.model.value), launch.model.origin
    for arg in launch.args:
        yield from _argument(arg)
    for name, value in environment(launch).items():
        yield f"{name}={MASK if is_secret(name) else value}", launch.env[name].value.origin


def _argument(arg: Arg) -> Iterator[tuple[str, Origin]]:
    value = arg.value
    if value is not None and isinstance(value.value, (dict, list)):
        yield arg.written, value.key or value.origin
        for path, leaf in _leaves(value, ""):
            yield f"  {path}: {MASK if is_secret(path) else leaf.plain()}", leaf.origin
        return
    words = [MASK if node is not None and is_secret(arg.name) else text for text, _, node in argument_words([arg])]
    yield " ".join(words), value.origin if value is not None else arg.origin


def _leaves(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    if isinstance(node.value, dict) and node.value:
        for key, child in node.items():
            yield from _leaves(child, f"{path}.{key}" if path else key)
    elif isinstance(node.value, list) and node.value:
        for index, child in enumerate(node.elements()):
            yield from _leaves(child, f"{path}[{index}]")
    else:
        yield path, node


def _place(origin: Origin) -> str:
    via = f" ({origin.via})" if origin.via else ""
    return f"{origin.file}:{origin.line}:{origin.column}{via}"
