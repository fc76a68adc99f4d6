"""A launch's arguments in the order of its command line: added, replaced, and as words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any

from pd_launch.launcher.sources.profiles.variables import as_written
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.launch import JSON_ARGS, Arg, Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.switches import REPEATABLE
from pd_launch.schemas.core.values import Node, Unknown

MULTI_PORT = "data-parallel-multi-port-external-lb"
DERIVED = {
    "model": "model",
    "port": "port",
    "tensor-parallel-size": "parallel.tensor",
    "pipeline-parallel-size": "parallel.pipeline",
    "prefill-context-parallel-size": "parallel.prefill_context",
    "decode-context-parallel-size": "parallel.decode_context",
    "data-parallel-size": "parallel.data",
    "data-parallel-size-local": "nodes, or parallel.ranks",
    "data-parallel-rank": "parallel.launch: external",
    "data-parallel-start-rank": "nodes",
    "data-parallel-address": "nodes",
    "data-parallel-rpc-port": "rpc_port",
    "data-parallel-hybrid-lb": "parallel.launch: hybrid",
    MULTI_PORT: "parallel.launch: external",
    "headless": "nodes",
    "nnodes": "nodes",
    "node-rank": "nodes",
    "master-addr": "nodes",
    "master-port": "master_port",
    "enable-expert-parallel": "parallel.expert",
    "kv-transfer-config": "transfer and decode.offload",
}
"""Flags that follow from other keys of the profile; ``engine`` may not set them."""
_OPTION = lazy_pattern(r"-(?![\d.])")


@dataclass
class Arguments:
    """Collects a launch's arguments in the order of its command line."""

    launch: NodeLaunch
    faults: list[Fault] = field(default_factory=list)

    def add(self, name: str, value: Any, place: Node) -> None:
        """Add a flag: True is a bare flag, False its negation, None nothing, a list several words, a mapping JSON."""
        origin = place.key or place.origin
        if value is None:
            return
        if isinstance(value, bool):
            self.launch.add(
                Arg(
                    name if value else f"no-{name}", f"--{name if value else f'no-{name}'}", origin, text=place.key_text
                )
            )
        elif isinstance(value, dict):
            self.json(name, place)
        elif isinstance(value, list):
            nodes = [_word(part) for part in place.elements()]
            self.no_options(name, nodes)
            if name in REPEATABLE:
                self.launch.add(*[Arg(name, f"--{name}", origin, node, text=place.key_text) for node in nodes])
                return
            first, more = nodes[0] if nodes else None, tuple(nodes[1:])
            self.launch.add(Arg(name, f"--{name}", origin, first, more, place.key_text))
        else:
            same = name not in DERIVED and place.plain() == value
            node = _word(place if same else Node(value, place.origin, related=place.related))
            self.no_options(name, [node])
            self.launch.add(Arg(name, f"--{name}", origin, self._tree(name, node), text=place.key_text))

    def no_options(self, name: str, words: list[Node]) -> None:
        """Refuse words that the command line would take for options: nothing would check or hide what these say."""
        self.faults += [
            _option_for_value(name, word) for word in words if isinstance(word.value, str) and _OPTION.match(word.value)
        ]

    def _tree(self, name: str, node: Node) -> Node:
        """Read a JSON argument that is written as text."""
        if name not in JSON_ARGS or node.text is None or not node.text.value.lstrip().startswith("{"):
            return node
        tree, faults = parse_json(node.text)
        self.faults += faults
        return node if faults else tree

    def json(self, name: str, tree: Node) -> None:
        """Add an argument whose value is JSON."""
        self.launch.add(Arg(name, f"--{name}", tree.key or tree.origin, tree))


def _option_for_value(name: str, node: Node) -> Fault:
    return Fault(
        "profile",
        node.origin,
        Msg(
            f"the value of {name} must not begin with -: the command line would treat it as an option",
            f"{name} 的值不能以 - 开头：命令行会把它当成选项",
        ),
        help=Msg("write the value itself", "请写值本身"),
    )


def _word(node: Node) -> Node:
    """Return a scalar as the word that the command line gets, as it is written where it is written."""
    if isinstance(node.value, (dict, list)):
        return node
    value: Any = node.value if isinstance(node.value, (str, Unknown)) else as_written(node)
    return replace(node, value=value, shadowed=[])


def argument_words(args: Iterable[Arg]) -> list[tuple[str, Arg, Node | None]]:
    """Return the words of the command line after the model, each with its argument and, if it is one, its value."""
    words: list[tuple[str, Arg, Node | None]] = []
    for arg in args:
        if arg.name:
            words.append((arg.written, arg, None))
        for node in (arg.value, *arg.more) if arg.value is not None else ():
            value = node.value
            if isinstance(value, (dict, list)):
                value = json_text(node.plain())
            words.append((_unknown_text(value), arg, node))
    return words


def json_text(value: Any) -> str:
    """Return plain data as one line of JSON; what is unknown stays as it was written."""
    return json.dumps(value, ensure_ascii=False, default=_unknown_text)


def _unknown_text(value: object) -> str:
    return value.text if isinstance(value, Unknown) else str(value)


def replace_arguments(launch: NodeLaunch, extra: Iterable[Arg]) -> None:
    """Let extra arguments replace rendered ones of the same name; dotted ones change their part of a JSON argument."""
    extra = [_with_dotted(launch, arg) for arg in extra]
    names = {arg.name for arg in extra}
    names |= {name.removeprefix("no-") for name in names} | {f"no-{name}" for name in names}
    launch.replace(names, extra)


def _with_dotted(launch: NodeLaunch, arg: Arg) -> Arg:
    if "." not in arg.written or arg.name not in JSON_ARGS or arg.value is None:
        return arg
    rendered = launch.value(arg.name)
    tree = arg.value if rendered is None else _changed(rendered, arg.value)
    return Arg(arg.name, f"--{arg.name}", arg.origin, tree)


def _changed(tree: Node, change: Node) -> Node:
    """Return ``tree`` with what ``change`` sets in it."""
    if not isinstance(tree.value, dict) or not isinstance(change.value, dict):
        return change
    value = dict(tree.value)
    for key, node in change.value.items():
        value[key] = _changed(value[key], node) if key in value else node
    return Node(value, tree.origin, key=tree.key, related=tree.related)
