"""Values that a release refuses or misreads: what rule PD007 looks at, one function for each place.

Each yields hits; an unknown value yields none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from pd_launch.launcher.rules.edits import fix, put_in_quotes, renamed, set_value
from pd_launch.launcher.rules.registry import FixEdits, Hit
from pd_launch.launcher.rules.values.flag_domains import integer_word
from pd_launch.schemas.core.flag_shapes import SWITCHES
from pd_launch.schemas.core.launch import Arg, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.units import parse_size
from pd_launch.schemas.core.values import Node, as_integer
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.budget import (
    PER_RANK,
    PREFIX_CACHING,
    RATIO,
    TOTAL,
    BudgetError,
    parse_bytes,
    parse_ratio,
)
from pd_launch.schemas.engine.connector_keys import BUNDLED_SWITCHES
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.offload import served
from pd_launch.schemas.releases.additional_keys import BOOLEANS, STRICT_BOOLEANS, is_strict
from pd_launch.schemas.releases.domains import (
    BOOLEAN_WORDS,
    CHOICES,
    CUDAGRAPH_MODES,
    FAILURE_POLICIES,
    NUMBERS,
    POOL_BACKENDS,
    POOL_CONNECTORS,
)
from pd_launch.schemas.releases.offloads import RATIO as RATIO_READ
from pd_launch.schemas.releases.schedulers import NESTED

PORTS = range(1, 65536)
MEANS_TRUE = frozenset({"true", "1", "yes", "on", "y", "t"})


def flag_values(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check flags that take a number in a range, or one of a few words."""
    for arg in node.args:
        if arg.name in NUMBERS:
            yield from _number(arg, *NUMBERS[arg.name])
        elif arg.name in CHOICES and arg.value is not None:
            yield from _choice(f"--{arg.name}", arg.value, CHOICES[arg.name], deployment)
    yield from _switch_values(node)


def _switch_values(node: NodeLaunch) -> Iterator[Hit]:
    """A word such as ``true`` after a flag that takes no value: it is left over."""
    for arg, word in pairwise(node.args):
        if arg.name not in SWITCHES or arg.value is not None or word.name or word.written.lower() not in BOOLEAN_WORDS:
            continue
        off = word.written.lower() in ("false", "0", "no", "off")
        right = f"--no-{arg.name}" if off else f"--{arg.name}"
        yield Hit(
            word.origin,
            Msg(
                f"--{arg.name} takes no value: {word.written} is left over",
                f"--{arg.name} 不带值：{word.written} 是多余的",
            ),
            Msg(f"write only {right}", f"只写 {right}"),
        )


def _number(arg: Arg, least: float, most: float | None, whole: bool) -> Iterator[Hit]:
    value = arg.value
    if value is None:
        message = Msg(f"--{arg.name} has no value", f"--{arg.name} 没有值")
        yield Hit(arg.origin, message, Msg(f"write a number after --{arg.name}", f"在 --{arg.name} 后面写一个数字"))
        return
    number = _word_integer(value.value) if whole else _float(value.value)
    if not value.known or (number is not None and least <= number and (most is None or number <= most)):
        return
    kind, kind_zh = ("a whole number", "整数") if whole else ("a number", "数字")
    span = f"from {least:g}" if most is None else f"from {least:g} to {most:g}"
    span_zh = f"不小于 {least:g} " if most is None else f" {least:g} 到 {most:g} "
    yield Hit(
        value.origin,
        Msg(
            f"--{arg.name} needs {kind} {span}, not {value.value!r}",
            f"--{arg.name} 需要{span_zh}的{kind_zh}，不能是 {value.value!r}",
        ),
        Msg(f"write {kind} {span}", f"请写{span_zh}的{kind_zh}"),
    )


def _word_integer(value: object) -> int | None:
    """Convert a word as Python's ``int`` does: ``8_000``, ``+8`` and blanks around are fine."""
    return integer_word(value) if isinstance(value, str) else as_integer(value)


def _json_integer(value: object) -> int | None:
    """Convert a JSON value as vLLM's config classes do: ``8.0``, ``"8"`` and true are numbers too."""
    if isinstance(value, (bool, int)):
        return int(value)
    number = _float(value)
    return int(number) if number is not None and number.is_integer() else None


def _float(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    except ValueError:
        return None


def _choice(name: str, value: Node, known: Iterable[str], deployment: Deployment) -> Iterator[Hit]:
    choices = sorted(known)
    if not value.known or value.plain() in choices:
        return
    near = nearest(value.value, choices) if isinstance(value.value, str) else None
    yield Hit(
        value.origin,
        Msg(f"{value.plain()!r} is not a valid value for {name}", f"{value.plain()!r} 不是 {name} 的有效取值"),
        Msg(f"write one of {series(choices).en}", f"请写 {series(choices).zh} 之一"),
        fix=renamed(set_value(value, near), near) if near else None,
    )


def kv_values(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check the fields of --kv-transfer-config and its children."""
    yield from _is_object(node, "kv-transfer-config")
    for connector in connectors(node.kv_transfer):
        port, policy = connector.tree.get("kv_port"), connector.tree.get("kv_load_failure_policy")
        if port is not None and port.known and _json_integer(port.value) not in PORTS:
            yield Hit(
                port.origin,
                Msg(f"kv_port {port.plain()!r} is not a valid port", f"kv_port {port.plain()!r} 不是有效的端口"),
                Msg("write a whole number from 1 to 65535", "请写 1 到 65535 的整数"),
            )
        if policy is not None:
            yield from _choice("kv_load_failure_policy", policy, FAILURE_POLICIES, deployment)
        yield from _structure(connector, deployment)
        backend = connector.option("backend")
        if connector.name in POOL_CONNECTORS and backend is not None and deployment.target.is_ascend:
            yield from _pool_backend(backend, deployment)


def _structure(connector: Connector, deployment: Deployment) -> Iterator[Hit]:
    extra = connector.extra
    if extra is not None and extra.known and not isinstance(extra.value, dict):
        yield Hit(
            extra.origin,
            Msg("kv_connector_extra_config must be an object", "kv_connector_extra_config 应当是一个对象"),
            Msg("write {…}, or leave it out", "请写 {…}，或者删掉它"),
        )
    engine = connector.tree.get("engine_id")
    if engine is not None and isinstance(engine.value, (int, float)) and connector.parent is None:
        help_ = Msg(f'write "{engine.value}"', f'请写 "{engine.value}"')
        message = Msg(
            f"engine_id must be a string, not {engine.value!r}", f"engine_id 应当是字符串，不能是 {engine.value!r}"
        )
        yield Hit(engine.origin, message, help_, fix=fix(help_, put_in_quotes(engine), safe=True))


def _pool_backend(backend: Node, deployment: Deployment) -> Iterator[Hit]:
    known = [name for name, fact in POOL_BACKENDS.items() if fact.holds(deployment.target)]
    lowered = backend.value.lower() if isinstance(backend.value, str) else backend.value
    if lowered not in known:
        yield from _choice("backend", backend, known, deployment)


def offload_values(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check the options that are given to an offload connector itself."""
    target = deployment.target
    for connector in served(node, target):
        for key in (PER_RANK, TOTAL):
            yield from _bytes(connector, key, deployment)
        for key in BUNDLED_SWITCHES if connector.is_bundled_offload else (PREFIX_CACHING,):
            switch = connector.option(key)
            if switch is not None and switch.known and not isinstance(switch.value, bool):
                yield _boolean(key, switch, node, deployment)
        ratio = connector.option(RATIO)
        if ratio is None or not ratio.known:
            continue
        if connector.bundled_in(target) or RATIO_READ.holds(target):
            yield from _refused(ratio, lambda value: parse_ratio(value))
        elif node.form == "profile":
            yield Hit(
                ratio.origin,
                Msg(f"the built-in connector of {target} does not read ratio", f"{target} 的内置连接器不读取 ratio"),
                Msg("write per_rank: 16GiB, or connector: bundled", "请写 per_rank: 16GiB，或者 connector: bundled"),
            )


def _bytes(connector: Connector, key: str, deployment: Deployment) -> Iterator[Hit]:
    value = connector.option(key)
    if value is None or not value.known:
        return
    bundled = connector.bundled_in(deployment.target)
    if value.value is None and bundled:
        return  # the same as absent
    if isinstance(value.value, float) and not bundled and value.value >= 1:
        message = Msg(f"{key}: fractions of a byte are truncated", f"{key}：小数部分会被截掉")
        yield Hit(value.origin, message, _integer_help(value), "warning", fix=_as_integer(value, deployment))
        return
    for hit in _refused(value, lambda v: parse_bytes(key, v)):
        yield Hit(hit.origin, hit.message, _integer_help(value), fix=_as_integer(value, deployment))


def _refused(value: Node, parse: Callable[[object], object]) -> Iterator[Hit]:
    try:
        parse(value.plain())
    except BudgetError as error:
        yield Hit(value.origin, error.said, _NUMBER)


_NUMBER = Msg("write a plain number above 0", "请写一个大于 0 的数字")


def _size(value: Node) -> int | None:
    if isinstance(value.value, float):
        return int(value.value) if value.value.is_integer() and value.value > 0 else None
    try:
        number = _float(value.value)
        return parse_size(value.value) if number is None else int(number)
    except (ValueError, OverflowError, TypeError):
        return None


def _integer_help(value: Node) -> Msg:
    size = _size(value)
    text = str(size) if size is not None and size > 0 else "17179869184 for 16 GiB"
    text_zh = str(size) if size is not None and size > 0 else "17179869184(16 GiB)"
    return Msg(f"write the bytes as an integer: {text}", f"请把字节数写成整数：{text_zh}")


def _as_integer(value: Node, deployment: Deployment) -> FixEdits | None:
    size = _size(value)
    return renamed(set_value(value, size), str(size), safe=True) if size is not None and size > 0 else None


def _boolean(name: str, value: Node, node: NodeLaunch, deployment: Deployment) -> Hit:
    true, false = ("True", "False") if node.program == "python" else ("true", "false")
    meant = {"true": True, "false": False}.get(value.value.strip().lower()) if isinstance(value.value, str) else None
    edits = None if meant is None else set_value(value, meant)
    return Hit(
        value.origin,
        Msg(
            f"{name} must be {true} or {false}, not {value.plain()!r}",
            f"{name} 应当是 {true} 或 {false}，不能是 {value.plain()!r}",
        ),
        Msg(f"write {true} or {false} without quotes", f"请写不带引号的 {true} 或 {false}"),
        fix=renamed(edits, true if meant else false, safe=True),
    )


def additional_values(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check --additional-config: booleans given as text, which count as true before options have types."""
    target, tree = deployment.target, node.additional
    yield from _is_object(node, "additional-config")
    if tree is None or not target.is_ascend:
        return
    group = tree.get("scheduler_config")
    if group is not None and NESTED.holds(target) and group.known and not isinstance(group.value, dict | None):
        yield Hit(
            group.origin,
            Msg("scheduler_config must be an object", "scheduler_config 应当是一个对象"),
            Msg('write {"recompute_scheduler_enable": true}', '请写 {"recompute_scheduler_enable": true}'),
        )
    if is_strict(target):
        return
    for mapping in tree.walk():
        for name, entry in mapping.items():
            if name in BOOLEANS and isinstance(entry.value, str):
                yield from _as_text(name, entry, node, deployment)


def _as_text(name: str, value: Node, node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield a boolean given as text where that is refused, or means another thing: only its truth is read."""
    refused = STRICT_BOOLEANS.get(name)
    word = value.value.strip().lower()
    if refused is not None and refused.holds(deployment.target):
        yield _boolean(name, value, node, deployment)
    elif word not in MEANS_TRUE and value.value:
        hit = _boolean(name, value, node, deployment)
        message = Msg(
            f"{name} is the string {value.value!r}, which counts as true: it switches nothing off",
            f"{name} 是字符串 {value.value!r}，会被当成 true：并不会关闭任何功能",
        )
        yield replace(hit, message=message, severity="warning")


def other_json_values(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check --compilation-config and --speculative-config."""
    compilation, speculative = node.value("compilation-config"), node.value("speculative-config")
    mode = compilation.get("cudagraph_mode") if compilation else None
    if mode is not None and isinstance(mode.value, str) and mode.value.upper() not in CUDAGRAPH_MODES:
        yield from _choice("cudagraph_mode", mode, CUDAGRAPH_MODES, deployment)
    count = speculative.get("num_speculative_tokens") if speculative else None
    if count is not None and count.known and count.value is not None and (_json_integer(count.value) or 0) <= 0:
        yield Hit(
            count.origin,
            Msg(
                f"num_speculative_tokens must be a whole number above 0, not {count.plain()!r}",
                f"num_speculative_tokens 应当是大于 0 的整数，不能是 {count.plain()!r}",
            ),
            Msg(
                "write the number of draft tokens, or leave --speculative-config out",
                "请写草稿 token 数，或者去掉 --speculative-config",
            ),
        )


def _is_object(node: NodeLaunch, name: str) -> Iterator[Hit]:
    value = node.value(name)
    if value is not None and value.known and not isinstance(value.value, (dict, type(None), str)):
        yield Hit(
            value.origin,
            Msg(f"--{name} must be a JSON object", f"--{name} 应当是 JSON 对象"),
            Msg("write {…}", "请写 {…}"),
        )
