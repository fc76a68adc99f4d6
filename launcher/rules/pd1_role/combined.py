"""Rows of schemas/releases/combinations.py, looked for in a launch: a part of rules PD114 and PD008."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.option_pairs import Conflict
from pd_launch.launcher.rules.places import at, surely_absent
from pd_launch.launcher.rules.variables import place_of
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import Arg, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.switches import paired
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, Origin, plain_node
from pd_launch.schemas.engine.running import running
from pd_launch.schemas.releases.combinations import COMBINATIONS, Combination, Given

Found = tuple[str, Origin]
"""What is written, as a message shows it in either language, and where."""


def combined(node: NodeLaunch, target: Target, idle: bool) -> Iterator[Conflict]:
    """Yield the rows that ``target`` refuses, or (``idle``) in which the first part does nothing."""
    for row, one, other in found_rows(node, target):
        if row.idle is idle:
            yield _conflict(one, other, row)


def found_rows(node: NodeLaunch, target: Target) -> Iterator[tuple[Combination, Found, Found]]:
    """Yield the rows of ``target`` that a launch fulfils, with both parts of each.

    Not for vllm-ascend: it changes vLLM's configuration before it is looked at.
    """
    if target.is_ascend:
        return
    for row in COMBINATIONS:
        if not row.fact.holds(target):
            continue
        one = _found(row.one, node, target)
        other = _found(row.other, node, target) if one is not None else None
        if one is not None and other is not None and all(_found(more, node, target) for more in row.also):
            yield row, one, other


def _conflict(one: Found, other: Found, row: Combination) -> Conflict:
    (shown, place), (beside, second) = one, other
    if row.other.absent:
        return Conflict(
            place,
            f"{shown} needs {beside}: the engine refuses it on its own",
            f"{shown} 需要同时写 {beside}：单独写会被引擎拒绝",
            None,
            Msg(f"add {beside}, or leave {shown} out", f"加上 {beside}，或去掉 {shown}"),
        )
    if row.idle:
        return Conflict(place, f"{shown} does nothing beside {beside}", f"{shown} 与 {beside} 同时写时不起作用", second)
    return Conflict(place, f"{shown} cannot be combined with {beside}", f"{shown} 不能与 {beside} 同时使用", second)


def _found(given: Given, node: NodeLaunch, target: Target) -> Found | None:
    if given.connectors is not None:
        return _connector(given, node, target)
    if given.name.startswith("$"):
        return _variable(given, node)
    if given.absent:
        return _missing(given, node)
    if given.key:
        found = _inside(node, given)
        return (_spelled(given, found), found.key or found.origin) if found and _meant(given, found) else None
    if given.words in ((True,), (False,)):
        return _switch(given, node)
    return _flag(given, node)


def _variable(given: Given, node: NodeLaunch) -> Found | None:
    variable = node.env.get(given.name[1:])
    if variable is None or not _meant(given, variable.value):
        return None
    return f"{variable.name}={variable.value.value}", place_of(variable)


def _switch(given: Given, node: NodeLaunch) -> Found | None:
    if node.switch(given.name) is not given.words[0]:
        return None
    last = _last(node, given.name, f"no-{given.name}", paired(given.name) or given.name)
    return (f"--{last.name}", last.origin) if last is not None else None


def _flag(given: Given, node: NodeLaunch) -> Found | None:
    if given.above is not None:
        size = node.number(given.name, 0)
        return (f"--{given.name} {size}", at(node, given.name)) if size is not None and size > given.above else None
    arg = _last(node, given.name, f"no-{given.name}")
    if arg is None:
        return None
    if arg.value is None:
        return (f"--{arg.name}", arg.origin) if not given.words and not given.but else None
    if not _meant(given, arg.value) or _same(node, given, arg.value):
        return None
    return f"--{given.name} {arg.value.value}", arg.value.origin


def _same(node: NodeLaunch, given: Given, value: Node) -> bool:
    """Whether another flag has the same value, or may have it."""
    if not given.unlike:
        return False
    own, other = value.integer(), node.number(given.unlike, 0)
    return own is None or not other or own == other


def _last(node: NodeLaunch, *names: str) -> Arg | None:
    found = [arg for arg in node.args if arg.name in names]
    return found[-1] if found else None


def _missing(given: Given, node: NodeLaunch) -> Found | None:
    """A flag, or a key of its object, that surely is not written, or (with ``words``) surely has another value."""
    if not given.key:
        return (_spelled(given), node.origin) if surely_absent(node, given.name) else None
    tree = _object(node, given.name)
    if node.partial or tree is None or not tree.complete():
        return None
    written = tree.get(*given.key)
    if written is None:
        return _spelled(given), tree.origin
    other = bool(given.words) and written.value not in given.words
    return (_spelled(given), written.origin) if other else None


def _connector(given: Given, node: NodeLaunch, target: Target) -> Found | None:
    for connector in running(node, target):
        if connector.name is None or (given.connectors and connector.name not in given.connectors):
            continue
        place = connector.tree.get("kv_connector") or connector.tree
        if not given.key:
            return connector.name, place.origin
        option = connector.option(*given.key)
        if option is not None and _meant(given, option):
            return f"{connector.name} {given.key[-1]}", option.key or option.origin
    return None


def _inside(node: NodeLaunch, given: Given) -> Node | None:
    dotted = node.arg(".".join((given.name, *given.key)))
    if dotted is not None:
        return dotted.value
    tree = _object(node, given.name)
    return tree.get(*given.key) if tree is not None else None


def _object(node: NodeLaunch, name: str) -> Node | None:
    """The object of a flag, also of one whose text other rules do not look into; None where it is not known."""
    value = node.value(name)
    if value is None or not isinstance(value.value, str):
        return value
    try:
        return plain_node(json.loads(value.value), value.origin)
    except (ValueError, RecursionError):
        return None


def _spelled(given: Given, value: Node | None = None) -> str:
    """How a flag or a key is shown: as vLLM's dotted flags, which is the same in every language."""
    flag = f"--{'.'.join((given.name, *given.key))}"
    word = value.value if value is not None and given.words else given.words[0] if given.absent and given.words else ""
    return f"{flag} {word}" if isinstance(word, str) and word else flag


def _meant(given: Given, value: Node) -> bool:
    if not value.known or value.value in (None, "None"):
        return False
    if given.but:
        return isinstance(value.value, str) and value.value not in given.but
    return not given.words or any(
        same(value, word) is True and isinstance(value.value, bool) == isinstance(word, bool) for word in given.words
    )
