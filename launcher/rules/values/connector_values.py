"""Options of connectors that the target refuses, misreads or misses: a part of what rule PD007 looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pd_launch.launcher.rules.edits import renamed, set_value
from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.connector_keys import options_of
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.releases.connector_options import (
    ABOVE,
    BUFFER_DEVICES,
    BUFFER_REFUSED,
    NIXL,
    REQUIRED,
    WORDS,
    Required,
)

_OFF = frozenset({"false", "0", "no", "off", "none", "null"})
_WANTED = {"int": Msg("a whole number", "整数"), "float": Msg("a number", "数字")}


def connector_values(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check the options of registered connectors against what the target's connectors do with them."""
    target = deployment.target
    for connector in connectors(node.kv_transfer):
        if connector.tree.get("kv_connector_module_path") is not None or connector.is_offload:
            continue
        yield from _required(connector, node, target)
        yield from _words(connector, target)
        yield from _above(connector, target)
        yield from _kinds(connector, target)
        yield from _buffer(connector, target)


def _required(connector: Connector, node: NodeLaunch, target: Target) -> Iterator[Hit]:
    extra = connector.extra
    if node.partial or (extra is not None and (not extra.known or not isinstance(extra.value, dict))):
        return
    for row in REQUIRED:
        if row.connector != connector.name or not row.fact.holds(target) or connector.option(row.key) is not None:
            continue
        if row.when is not None and not _is(connector.option(row.when[0]), row.when[1]):
            continue
        place = connector.tree.get("kv_connector")
        yield _missing(row, place if place is not None else connector.tree)


def _is(option: Node | None, word: str) -> bool:
    return option is not None and same(option, word) is True


def _missing(row: Required, place: Node) -> Hit:
    where, where_zh = "in kv_connector_extra_config", "在 kv_connector_extra_config 里写"
    return Hit(
        place.origin,
        Msg(f"{row.connector} needs {row.key} {where}", f"{row.connector} 需要{where_zh} {row.key}"),
        Msg(f'add "{row.key}": {row.meant[0]}', f'加上 "{row.key}": {row.meant[1]}'),
    )


def _words(connector: Connector, target: Target) -> Iterator[Hit]:
    for row in WORDS:
        value = connector.option(row.key)
        if connector.name not in row.connectors or value is None or not row.fact.holds(target):
            continue
        if any(connector.option(other) is not None for other in row.unless):
            continue
        plain = value.plain()
        word = plain.lower() if row.lower and isinstance(plain, str) else plain
        if value.known and word not in row.words:
            yield _no_word(row.key, value, row.words)


def _above(connector: Connector, target: Target) -> Iterator[Hit]:
    """Check numbers with a lower end. vLLM converts them, so a number in quotes is one, and infinity is not."""
    for row in ABOVE:
        value = connector.option(row.key)
        if connector.name != row.connector or value is None or not value.known or not row.fact.holds(target):
            continue
        plain = value.plain()
        number = float(plain) if _converts(plain, "float") else math.nan
        if not (math.isfinite(number) and number > row.number):
            yield Hit(
                value.origin,
                Msg(
                    f"{row.key} needs a number above {row.number}, not {plain!r}",
                    f"{row.key} 需要大于 {row.number} 的数，不能是 {plain!r}",
                ),
                Msg(f"write a number above {row.number}", f"请写大于 {row.number} 的数"),
            )


def _no_word(key: str, value: Node, words: tuple[str, ...]) -> Hit:
    near = nearest(value.value, words) if isinstance(value.value, str) else None
    listed = series(words)
    return Hit(
        value.origin,
        Msg(f"{value.plain()!r} is not a valid value for {key}", f"{value.plain()!r} 不是 {key} 的有效取值"),
        Msg(f"write one of {listed.en}", f"请写 {listed.zh} 之一"),
        fix=renamed(set_value(value, near), near) if near else None,
    )


def _kinds(connector: Connector, target: Target) -> Iterator[Hit]:
    """Check what is converted to a number, and texts of which only the truth counts: ``"false"`` is true."""
    known = options_of(connector.name or "", target)
    if known is None or connector.extra is None:
        return
    for key, value in connector.extra.items():
        kind, plain = known.kinds.get(key, ""), value.value
        wanted = _WANTED.get(kind)
        if not value.known:
            continue
        if wanted is not None and not _converts(plain, kind):
            yield Hit(
                value.origin,
                Msg(
                    f"{key} needs {wanted.en}, not {value.plain()!r}",
                    f"{key} 需要{wanted.zh}，不能是 {value.plain()!r}",
                ),
                Msg(f"write {wanted.en}", f"请写{wanted.zh}"),
            )
        elif kind == "truth" and isinstance(plain, str) and plain.strip().lower() in _OFF:
            yield Hit(
                value.origin,
                Msg(
                    f"{key} is the string {plain!r}, which counts as true: it switches nothing off",
                    f"{key} 是字符串 {plain!r}，会被当成 true：并不会关闭任何功能",
                ),
                Msg("write false without quotes", "请写不带引号的 false"),
                severity="warning",
                fix=renamed(set_value(value, False), "false"),
            )


def _converts(value: object, kind: str) -> bool:
    """Whether Python's ``int`` or ``float`` takes a value of JSON."""
    if not isinstance(value, (str, int, float)):
        return False
    try:
        int(value) if kind == "int" else float(value)
    except (ValueError, OverflowError):
        return False
    return True


def _buffer(connector: Connector, target: Target) -> Iterator[Hit]:
    value = connector.tree.get("kv_buffer_device")
    if connector.name not in NIXL or target.is_ascend or value is None or not isinstance(value.value, str):
        return
    if value.value not in BUFFER_DEVICES and BUFFER_REFUSED.holds(target):
        yield _no_word("kv_buffer_device", value, BUFFER_DEVICES)
