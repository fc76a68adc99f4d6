"""PD104 offload-without-scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.additional import GROUP, SWITCH, switch_of
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.hooks import has_preemption_hook

ZH = """
配置了卸载连接器，却没有打开重计算调度器

## 作用

当解码节点在 vllm-ascend 上配置了卸载连接器，
而目标版本从 `--additional-config` 里读不到已打开的 `recompute_scheduler_enable` 时报告。内置的连接器报告为错误，
附带的连接器报告为警告。

## 为什么重要

没有重计算调度器，内置的连接器就不会被调用，却照样占用锁页内存；附带的连接器仍能处理 vLLM 的普通抢占，
但指南所说的那种模式没有打开。

## 适用版本

vllm-ascend <since preemption-hook> 起；更早的版本见 PD112。原版 vLLM 不需要重计算调度器。

## 来源

vllm_ascend/core/recompute_scheduler.py 与 recompute_cpu_offload/worker.py（`register_kv_caches`），
0.23.0 到 0.26.0rc1。
"""


@rule("PD104", "offload-without-scheduler", "error", zh=ZH, needs="C R")
def offload_without_scheduler(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The offload connector is configured, but the recompute scheduler is not on.

    ## What it does

    Fires when a decode node on vllm-ascend has the offload connector and the target release reads no
    `recompute_scheduler_enable` that is on from `--additional-config`. An error for the built-in connector, a warning
    for the one that comes with pd-launch.

    ## Why it matters

    Without the recompute scheduler the built-in connector is never asked to save anything, yet its pinned memory is
    allocated; the bundled one still serves vLLM's ordinary preemption, but the mode that the guides describe is off.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    vllm-ascend from <since preemption-hook>; for older ones see PD112. Stock vLLM needs no recompute scheduler.

    ## Sources

    vllm_ascend/core/recompute_scheduler.py and recompute_cpu_offload/worker.py (`register_kv_caches`), 0.23.0 to
    0.26.0rc1.
    """
    target = deployment.target
    if not target.is_ascend or not has_preemption_hook(target) or node.role != "kv_consumer":
        return  # on another role the scheduler cannot help: PD105
    switch = switch_of(node.additional, target)
    if switch.on is not False:
        return
    text = f'{{"{SWITCH}": true}}' if switch.place == "flat" else f'{{"{GROUP}": {{"{SWITCH}": true}}}}'
    help_ = Msg(f"add --additional-config '{text}'", f"加上 --additional-config '{text}'")
    off = ((switch.read.origin, Msg("it is switched off here", "在这里关闭")),) if switch.read else ()
    for connector in connectors(node.kv_transfer):
        if connector.is_offload:
            place = connector.tree.get("kv_connector") or connector.tree
            yield Hit(
                place.origin,
                _inert(connector.name) if connector.is_builtin_offload else _partly(),
                help_,
                severity="error" if connector.is_builtin_offload else "warning",
                related=off,
            )


def _inert(name: str | None) -> Msg:
    return Msg(
        f"{name} does nothing without the recompute scheduler, but its host memory is allocated all the same",
        f"没有重计算调度器，{name} 不起作用，但主机内存照样会分配",
    )


def _partly() -> Msg:
    return Msg(
        "the recompute scheduler is not on: the offload connector handles only vLLM's ordinary preemption",
        "重计算调度器没有打开：卸载连接器只处理 vLLM 的普通抢占",
    )
