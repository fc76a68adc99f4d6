"""PD223 unknown-extra-key."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, rename_key
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.budget import PER_RANK, RATIO, TOTAL
from pd_launch.schemas.engine.connector_keys import KEYS, PLATFORM_KEYS, SIZE_KEYS, offload_keys
from pd_launch.schemas.engine.kv_transfer import TOP_LEVEL_FIELDS, Connector, connectors

ZH = """
连接器不认识的选项

## 作用

检查连接器 `kv_connector_extra_config` 里的键:卸载连接器在目标版本里不读取的键;其他连接器的明显拼写错误,
以及本该写在上一层的字段。

## 为什么重要

没有人读的键会被悄悄忽略,设置就不生效:例如 `cpu_bytes_per_rank` 的结果是整个引擎默认的 8 GiB。自带的连接器会在启动时
拒绝未知的键。

## 适用版本

所有版本;`offload_host_memory_ratio` 从 <since offload-ratio> 起由内置连接器读取。

## 来源

vllm-ascend 0.18.0、0.23.0、0.26.0rc1 与 vLLM 0.27.1、0.32.0 中对 kv_connector_extra_config 的读取。
"""


@rule("PD223", "unknown-extra-key", "warning", zh=ZH, needs="C R")
def unknown_extra_key(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A connector does not know an option that it is given.

    ## What it does

    Looks at the keys of a connector's `kv_connector_extra_config`: those that the offload connector does not read in
    the target, clear misspellings for other connectors, and fields that belong one level up.

    ## Why it matters

    A key that nobody reads is silently ignored, so the setting does not take effect: `cpu_bytes_per_rank` leaves the
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

    The reads of kv_connector_extra_config in vllm-ascend 0.18.0, 0.23.0 and 0.26.0rc1, and in vLLM 0.27.1 and 0.32.0.
    """
    for connector in connectors(node.kv_transfer):
        extra = connector.extra
        if extra is None:
            continue
        if connector.is_offload:
            yield from _offload(node, deployment, connector, extra)
        elif connector.module is None and connector.name in KEYS:
            yield from _others(connector, extra)


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
        refuses = connector.is_bundled_offload
        en = "the bundled connector refuses it at start" if refuses else f"{target} does not read it{_left(extra)}"
        zh = "自带的连接器会在启动时拒绝" if refuses else f"{target} 不读取它{_left_zh(extra)}"
        yield _hit(value, key, near, known, (en, zh), "error" if refuses else "warning")


def _left(extra: Node) -> str:
    return "" if any(extra.get(key) for key in (PER_RANK, TOTAL)) else ", so the default budget is used"


def _left_zh(extra: Node) -> str:
    return "" if any(extra.get(key) for key in (PER_RANK, TOTAL)) else ",于是使用默认预算"


def _ratio(value: Node, target: Target) -> Hit:
    return Hit(
        value.key or value.origin,
        Msg(
            f"offload_host_memory_ratio is not read by {target}: the default of 8 GiB for one engine is used",
            f"{target} 不读取 offload_host_memory_ratio:使用每个引擎 8 GiB 的默认值",
        ),
        Msg(f'write bytes for each rank: "{PER_RANK}": 17179869184', f'写每个 rank 的字节数:"{PER_RANK}": 17179869184'),
    )


def _others(connector: Connector, extra: Node) -> Iterator[Hit]:
    known = KEYS[connector.name or ""]
    for key, value in extra.items():
        if key in TOP_LEVEL_FIELDS and key not in known:
            yield _misplaced(connector, key, value)
            continue
        near = _near(key, known, 0.85) if key not in (*known, *PLATFORM_KEYS) else None
        if near is not None:
            en, zh = f"{connector.name} does not read it", f"{connector.name} 不读取它"
            yield _hit(value, key, near, known, (en, zh), "warning")
        if key in ("prefill", "decode"):
            for inner, size in value.items():
                meant = _near(inner, SIZE_KEYS, 0.7) if inner not in SIZE_KEYS else None
                if meant is not None:
                    en, zh = f"nobody reads it in {key!r}", f"{key!r} 里没有人读它"
                    yield _hit(size, inner, meant, SIZE_KEYS, (en, zh), "warning")


def _misplaced(connector: Connector, key: str, value: Node) -> Hit:
    return Hit(
        value.key or value.origin,
        Msg(
            f"{key} inside kv_connector_extra_config is read by nobody: it is a field of the connector itself",
            f"写在 kv_connector_extra_config 里的 {key} 没有人读:它是连接器自己的字段",
        ),
        Msg(f"move it one level up, beside kv_connector of {connector.name}", "把它上移一层,与 kv_connector 并列"),
    )


def _hit(
    value: Node,
    key: str,
    near: str | None,
    known: tuple[str, ...],
    what: tuple[str, str],
    severity: str,
) -> Hit:
    listed = ", ".join(known)
    name = Msg(f"write {near}", f"写成 {near}")
    return Hit(
        value.key or value.origin,
        Msg(f"unknown option {key}: {what[0]}", f"未知选项 {key}:{what[1]}"),
        name if near else Msg(f"remove it; known options are {listed}", f"删掉它;已知选项有 {listed}"),
        severity="error" if severity == "error" else "warning",
        fix=fix(name, rename_key(value, near)) if near else None,
    )


def _near(key: str, known: tuple[str, ...], cutoff: float = 0.6) -> str | None:
    return nearest(key.lower(), known, cutoff)
