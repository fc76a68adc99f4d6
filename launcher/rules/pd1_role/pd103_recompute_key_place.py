"""PD103 recompute-key-place."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, joined, rename_key, set_value
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.additional import GROUP, SWITCH, Switch, switch_of

ZH = """
recompute_scheduler_enable 写在了目标版本不读取或已弃用的位置

## 作用

检查 `--additional-config` 里 `recompute_scheduler_enable` 的位置。0.24 及更早版本只读取顶层的键，
嵌套在 `scheduler_config` 里的不会生效（错误）。从 0.25 起应写在 `scheduler_config` 里：
顶层的键仍然有效但已弃用（提示）；两处都写且不一致时，嵌套的生效（警告）。

## 为什么重要

写错位置没有任何提示：调度器没有打开，被抢占的请求也就不会保存到主机内存。

## 适用版本

<before nested-scheduler-options> 及更早：只读顶层的键。<since nested-scheduler-options> 起：优先读嵌套的键，
没有再读顶层的。

## 来源

vllm_ascend/ascend_config.py（0.18.0 第 90 行，0.23.0 第 142 行，0.24.0rc1 第 129 行，0.25.1rc1 第 855–925 行）。
"""


@rule("PD103", "recompute-key-place", "error", zh=ZH, needs="C R")
def recompute_key_place(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""recompute_scheduler_enable is set where the release does not read it, or in its deprecated place.

    ## What it does

    Checks where `recompute_scheduler_enable` is set in `--additional-config`. Up to 0.24 only the flat key is read, and
    one nested in `scheduler_config` does nothing (error). From 0.25 it belongs in `scheduler_config`: a flat key still
    works but is deprecated (info), and where both are set and differ, the nested one wins (warning).

    ## Why it matters

    Nothing warns about a switch in the wrong place: the scheduler simply stays off, and preempted requests are not kept
    in CPU memory.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    Up to <before nested-scheduler-options>: flat only. From <since nested-scheduler-options>: nested, then flat.

    ## Sources

    vllm_ascend/ascend_config.py at 0.18.0 (line 90), 0.23.0 (142), 0.24.0rc1 (129), 0.25.1rc1 (855-925).
    """
    if not deployment.target.is_ascend:
        return
    switch = switch_of(node.additional, deployment.target)
    flat, nested = switch.flat, switch.nested
    if flat is not None and nested is not None and _differ(flat, nested):
        yield _conflict(switch, flat, nested)
    elif switch.place == "flat" and flat is None and nested is not None and nested.known and nested.value:
        yield _not_read(node, nested, deployment)
    elif switch.place == "nested" and flat is not None:
        yield _deprecated(node, flat, nested, deployment)


def _differ(flat: Node, nested: Node) -> bool:
    return flat.known and nested.known and differ(bool(flat.value), bool(nested.value))


def _conflict(switch: Switch, flat: Node, nested: Node) -> Hit:
    wins, loses = (nested, flat) if switch.place == "nested" else (flat, nested)
    name, name_zh = ("nested", "嵌套") if switch.place == "nested" else ("flat", "顶层")
    state, state_zh = ("on", "打开") if switch.on else ("off", "关闭")
    return Hit(
        loses.key or loses.origin,
        Msg(
            (
                f"{SWITCH} is set twice, to different values: the {name} one wins, this one is ignored, and the "
                f"scheduler is {state}"
            ),
            f"{SWITCH} 写了两处且不一致：这一处被忽略，{name_zh}的生效，因此调度器是{state_zh}的",
        ),
        Msg("keep only the one that takes effect", "只保留生效的那一处"),
        severity="warning",
        related=((wins.key or wins.origin, Msg("this one takes effect", "生效的是这里")),),
    )


def _not_read(node: NodeLaunch, nested: Node, deployment: Deployment) -> Hit:
    target = deployment.target
    help_ = Msg(
        f'write it at the top level: {{"{SWITCH}": true}}',
        f'写在顶层：{{"{SWITCH}": true}}',
    )
    return Hit(
        nested.key or nested.origin,
        Msg(
            f"{target} does not read {GROUP}.{SWITCH}: the recompute scheduler stays off",
            f"{target} 不读取 {GROUP}.{SWITCH}：重计算调度器没有打开",
        ),
        help_,
        fix=_flattened(node, nested, help_),
    )


def _deprecated(node: NodeLaunch, flat: Node, nested: Node | None, deployment: Deployment) -> Hit:
    help_ = Msg(
        f'write {{"{GROUP}": {{"{SWITCH}": …}}}}' if nested is None else "remove it; the nested one takes effect",
        f'改写为 {{"{GROUP}": {{"{SWITCH}": …}}}}' if nested is None else "删掉它；生效的是嵌套的那一处",
    )
    group = node.additional.get(GROUP) if node.additional else None
    return Hit(
        flat.key or flat.origin,
        Msg(
            f"from 0.25 the flat {SWITCH} is deprecated; it belongs in {GROUP}",
            f"从 0.25 起顶层的 {SWITCH} 已弃用，应写在 {GROUP} 里",
        ),
        help_,
        severity="info",
        fix=_nested(flat, help_) if group is None else None,
    )


def _flattened(node: NodeLaunch, nested: Node, message: Msg) -> FixEdits | None:
    group = node.additional.get(GROUP) if node.additional else None
    if group is None or len(list(group.items())) != 1 or not isinstance(nested.value, bool):
        return None
    return fix(message, joined(rename_key(group, SWITCH), set_value(group, nested.value)), safe=True)


def _nested(flat: Node, message: Msg) -> FixEdits | None:
    if not isinstance(flat.value, bool):
        return None
    return fix(message, joined(rename_key(flat, GROUP), set_value(flat, {SWITCH: flat.value})), safe=True)
