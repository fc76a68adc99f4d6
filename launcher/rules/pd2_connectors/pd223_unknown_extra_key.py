"""PD223 unknown-extra-key."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, rename_key
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.budget import PER_RANK, RATIO, TOTAL
from pd_launch.schemas.engine.connector_keys import (
    PLATFORM_KEYS,
    SIZE_KEYS,
    offload_keys,
    options_of,
    read_by,
    releases_reading,
)
from pd_launch.schemas.engine.kv_transfer import TOP_LEVEL_FIELDS, Connector, connectors
from pd_launch.schemas.releases import lmcache

ZH = """
连接器不认识的选项

## 作用

检查连接器的 `kv_connector_extra_config` 里的键：目标版本的连接器不读取的键（包括拼写错误，
以及只有其他版本或其他连接器才读取的键），还有本该写在上一层的字段。
有的连接器由另外的软件包读取选项（LMCache、FlexKV、UCM），对它们只报告明显的拼写错误，其余的键没有检查，
这一点只提示一次。

## 为什么重要

不认识的键会被悄悄忽略，设置也就不生效：例如写成 `cpu_bytes_per_rank`，得到的是整个引擎默认的 8 GiB。
附带的连接器会在启动时拒绝未知的键。

## 适用版本

所有版本；`offload_host_memory_ratio` 从 <since offload-ratio> 起由内置的连接器读取。

## 来源

各版本的连接器对 kv_connector_extra_config 的读取，由 scripts/read_release.py 静态读出。
"""


@rule("PD223", "unknown-extra-key", "warning", zh=ZH, needs="C R")
def unknown_extra_key(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A connector does not know one of its options.

    ## What it does

    Looks at the keys of a connector's `kv_connector_extra_config`: those that it does not read in the target
    (misspellings, and keys that only other releases or other connectors read), and fields that belong one level up. For
    connectors whose options another package reads (LMCache, FlexKV, UCM), only clear misspellings are found; that the
    others were not checked is reported once.

    ## Why it matters

    An unknown key is silently ignored, so the setting does not take effect: `cpu_bytes_per_rank` leaves the
    default of 8 GiB for the whole engine. The bundled connector refuses unknown keys at start.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_per_rank": 17179869184}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    All; the built-in connector reads `offload_host_memory_ratio` from <since offload-ratio>.

    ## Sources

    What the connectors of each release read of kv_connector_extra_config, read statically by scripts/read_release.py.
    """
    for connector in connectors(node.kv_transfer):
        extra = connector.extra
        if extra is None:
            continue
        if connector.is_offload:
            yield from _offload(node, deployment, connector, extra)
        elif connector.tree.get("kv_connector_module_path") is None:
            yield from _others(connector, extra, deployment)


def _offload(node: NodeLaunch, deployment: Deployment, connector: Connector, extra: Node) -> Iterator[Hit]:
    target, known = deployment.target, offload_keys(connector, deployment.target)
    for key, value in extra.items():
        if key in known:
            continue
        if key == RATIO:
            if node.form != "profile":  # a profile's ratio is refused as such
                yield _ratio(value, target)
            continue
        near = _near(key, known) or (PER_RANK if "byte" in key and "rank" in key else TOTAL if "byte" in key else None)
        refuses = connector.bundled_in(target)
        en = "the bundled connector refuses it at start" if refuses else f"{target} does not read it{_left(extra)}"
        zh = "附带的连接器会在启动时拒绝" if refuses else f"{target} 不读取它{_left_zh(extra)}"
        yield _hit(value, key, near, known, (en, zh), "error" if refuses else "warning")


def _left(extra: Node) -> str:
    return "" if any(extra.get(key) for key in (PER_RANK, TOTAL)) else ", so the default budget is used"


def _left_zh(extra: Node) -> str:
    return "" if any(extra.get(key) for key in (PER_RANK, TOTAL)) else "，于是使用默认预算"


def _ratio(value: Node, target: Target) -> Hit:
    return Hit(
        value.key or value.origin,
        Msg(
            f"offload_host_memory_ratio is not read by {target}: the default of 8 GiB for one engine is used",
            f"{target} 不读取 offload_host_memory_ratio：使用每个引擎 8 GiB 的默认值",
        ),
        Msg(
            f'write bytes for each rank: "{PER_RANK}": 17179869184', f'写每个 rank 的字节数："{PER_RANK}": 17179869184'
        ),
    )


def _others(connector: Connector, extra: Node, deployment: Deployment) -> Iterator[Hit]:
    name, target = connector.name or "", deployment.target
    known = options_of(name, target)
    if known is None:
        return
    keys = (*known.kinds, *PLATFORM_KEYS)
    unclear = []
    for key, value in extra.items():
        if name in lmcache.READERS and (key.startswith(lmcache.OPTION) or key in lmcache.kinds()):
            continue  # PD710 knows these
        if key in TOP_LEVEL_FIELDS and key not in known.kinds:
            yield _misplaced(connector, key, value)
        elif key in ("prefill", "decode"):
            yield from _sizes(key, value)
        elif key not in keys:
            near = _near(key, tuple(known.kinds), 0.9 if known.reader else 0.75)
            if known.reader and near is None:
                unclear.append(value)
            else:
                en, zh, elsewhere = _unread(name, key, target)
                severity: Severity = (
                    "warning" if near or elsewhere else "info"
                )  # else somebody's own extension may read it
                yield _hit(value, key, near, tuple(sorted(known.kinds)), (en, zh), severity)
    if unclear and _is_first(connector, deployment):
        yield _not_known(name, known.reader, unclear)


def _sizes(key: str, tree: Node) -> Iterator[Hit]:
    for inner, size in tree.items():
        meant = _near(inner, SIZE_KEYS, 0.7) if inner not in SIZE_KEYS else None
        if meant is not None:
            en, zh = f"it is not read in {key!r}", f"写在 {key!r} 里不会被读取"
            yield _hit(size, inner, meant, SIZE_KEYS, (en, zh), "warning")


def _unread(name: str, key: str, target: Target) -> tuple[str, str, bool]:
    """Return what is wrong with a key, and whether another release or another connector reads it."""
    releases = releases_reading(name, key, target)
    others = [other for other in read_by(key, target) if other != name]
    if releases:
        first, last = releases[0], releases[-1]
        span, span_zh = (first, first) if first == last else (f"{first} to {last}", f"{first} 到 {last} ")
        en, zh = (
            f"{name} of {target} does not read it; {span} does",
            f"{target} 的 {name} 不读取它，只有 {span_zh} 的读取",
        )
    elif others:
        listed = series(others[:3])
        en, zh = f"{name} does not read it; it is an option of {listed.en}", f"{name} 不读取它，它是 {listed.zh} 的选项"
    else:
        en, zh = f"{name} of {target} does not read it", f"{target} 的 {name} 不读取它"
    return en, zh, bool(releases or others)


def _is_first(connector: Connector, deployment: Deployment) -> bool:
    """Whether this is the first connector of its name: what is not known of it is said once."""
    found = (c for node in deployment.nodes for c in connectors(node.kv_transfer) if c.name == connector.name)
    first = next(found, None)
    return first is None or first.tree is connector.tree


def _not_known(name: str, reader: str, values: list[Node]) -> Hit:
    listed = series(value.key_text.value if value.key_text else "?" for value in values[:4])
    more = " …" if len(values) > 4 else ""
    return Hit(
        values[0].key or values[0].origin,
        Msg(
            f"not checked: {listed.en}{more}; {reader} reads the options of {name}, and pd-launch does not know them",
            f"没有检查 {listed.zh}{more}：{name} 的选项由 {reader} 读取，pd-launch 不认识它们",
        ),
        Msg(f"compare them with the documentation of {reader}", f"请对照 {reader} 的文档"),
        severity="info",
    )


def _misplaced(connector: Connector, key: str, value: Node) -> Hit:
    return Hit(
        value.key or value.origin,
        Msg(
            f"{key} has no effect inside kv_connector_extra_config: it is a field of the connector itself",
            f"{key} 写在 kv_connector_extra_config 里不会被读取：它是与 kv_connector 同级的字段",
        ),
        Msg(f"move it one level up, next to kv_connector of {connector.name}", "把它上移一层，与 kv_connector 并列"),
    )


def _hit(
    value: Node,
    key: str,
    near: str | None,
    known: tuple[str, ...],
    what: tuple[str, str],
    severity: Severity,
) -> Hit:
    listed = series(known) or Msg("none", "无")
    name = Msg(f"write {near}", f"写成 {near}")
    return Hit(
        value.key or value.origin,
        Msg(f"unknown option {key}: {what[0]}", f"未知选项 {key}：{what[1]}"),
        name if near else Msg(f"remove it; known options are {listed.en}", f"删掉它；已知选项有 {listed.zh}"),
        severity=severity,
        fix=fix(name, rename_key(value, near)) if near else None,
    )


def _near(key: str, known: tuple[str, ...], cutoff: float = 0.6) -> str | None:
    return nearest(key.lower(), known, cutoff)
