"""Where each argument and variable of a launch came from, for ``--show-origin``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pd_launch.launcher.launch.plan import environment
from pd_launch.launcher.secrets.masking import MASK, Held, is_secret, is_secret_flag, mask
from pd_launch.launcher.sources.profiles.arguments import argument_words
from pd_launch.schemas.core.launch import Arg, NodeLaunch
from pd_launch.schemas.core.values import Node, Origin

_WIDTH = 60


def origins(launches: Sequence[NodeLaunch]) -> list[str]:
    """Return a line for each argument, each value inside a JSON argument, and each variable, with its place."""
    rows: list[tuple[str, Origin | None]] = []
    held = Held.of(launches)
    for launch in launches:
        if len(launches) > 1:
            rank = launch.number("data-parallel-rank", 0)
            rows.append((f"{launch.label}, rank {rank}:" if launch.external_dp else f"{launch.label}:", None))
        rows += _rows(launch, held)
    rows = [(mask(text, held.secrets), origin) for text, origin in rows]  # names too may be secrets
    width = min(_WIDTH, max((len(text) for text, _ in rows), default=0))
    return [text if origin is None else f"{text:{width}}  {_place(origin)}" for text, origin in rows]


def _rows(launch: NodeLaunch, held: Held) -> Iterator[tuple[str, Origin | None]]:
    if launch.model is not None:
        yield held.shown(str(launch.model.value)), launch.model.origin
    for arg in launch.args:
        yield from _argument(arg, held)
    for name, value in environment(launch).items():
        yield f"{name}={held.value_of(name, value)}", launch.env[name].value.origin


def _argument(arg: Arg, held: Held) -> Iterator[tuple[str, Origin]]:
    value = arg.value
    if value is not None and isinstance(value.value, (dict, list)):
        yield arg.written, value.key or value.origin
        for path, leaf in _leaves(value, ""):
            yield f"  {path}: {_leaf(path, leaf, held)}", leaf.origin
        return
    secret = is_secret_flag(arg.name)
    words = [MASK if node is not None and secret else held.shown(text) for text, _, node in argument_words([arg])]
    yield " ".join(words), value.origin if value is not None else arg.origin


def _leaf(path: str, leaf: Node, held: Held) -> str:
    secret = any(is_secret(re.sub(r"\[\d+\]$", "", step)) for step in path.split("."))
    return MASK if secret else held.shown(str(leaf.plain()))


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
