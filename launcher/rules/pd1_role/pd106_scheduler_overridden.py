"""PD106 scheduler-overridden."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.additional import switch_of
from pd_launch.schemas.engine.scheduling import overriders, recompute_runs

ZH = r"""
另一个选项取代了重计算调度器

## 作用

解码节点打开了重计算调度器，而之后又有另一个选项（`SLO_limits_for_dynamic_batch`、`profiling_chunk_config`、
`batch_job_sched_config`）改写了调度器类时报告；您写的 `--scheduler-cls` 被重计算调度器取代时也报告。

## 为什么重要

没有任何提示：您指定的两个调度器中有一个不会运行；没有重计算调度器，被抢占的请求就不会保存到主机内存。

## 适用版本

`SLO_limits_for_dynamic_batch`：<all reads-SLO_limits_for_dynamic_batch>；`profiling_chunk_config`：
从 <since reads-profiling_chunk_config> 起；`batch_job_sched_config`：
从 <since reads-batch_job_sched_config> 起；`--scheduler-cls`：所有版本。

## 来源

vllm_ascend/platform.py，0.18.0 到 0.26.0rc1 的安装包（0.25.1rc1 第 676–720 行）。
"""


@rule("PD106", "scheduler-overridden", "error", zh=ZH, needs="C R")
def scheduler_overridden(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Another option replaces the recompute scheduler.

    ## What it does

    Fires when the recompute scheduler is on for a decode node and another option sets the scheduler's class after it
    (`SLO_limits_for_dynamic_batch`, `profiling_chunk_config`, `batch_job_sched_config`), or when such an option
    replaces your own `--scheduler-cls`.

    ## Why it matters

    Nothing warns about it: one of the two schedulers you asked for does not run, and without the recompute
    scheduler no preempted request is kept in CPU memory.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}' \
      --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true,
        "batch_job_sched_config": {"enabled": true}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}' \
      --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}'
    ```

    ## Releases

    `SLO_limits_for_dynamic_batch`: <all reads-SLO_limits_for_dynamic_batch>; `profiling_chunk_config`: from
    <since reads-profiling_chunk_config>; `batch_job_sched_config`: from <since reads-batch_job_sched_config>;
    `--scheduler-cls`: all.

    ## Sources

    vllm_ascend/platform.py in the wheels of 0.18.0 to 0.26.0rc1 (0.25.1rc1: lines 676-720).
    """
    target = deployment.target
    switch = switch_of(node.additional, target).read
    if not recompute_runs(node, target) or switch is None:
        return
    here = ((switch.origin, Msg("the recompute scheduler is switched on here", "重计算调度器在这里打开")),)
    for winner in overriders(node, target):
        yield Hit(
            winner.place.origin if winner.place else node.origin,
            Msg(
                f"this silently replaces the recompute scheduler with {winner.scheduler}",
                f"它会悄悄把重计算调度器换成 {winner.scheduler}",
            ),
            Msg("switch one of the two off", "关闭两者之一"),
            related=here,
        )
    own = node.arg("scheduler-cls")
    if own is not None and own.value is not None and own.value.known:
        yield Hit(
            own.origin,
            Msg(
                "--scheduler-cls is silently replaced by the recompute scheduler",
                "--scheduler-cls 会被重计算调度器悄悄取代",
            ),
            Msg(
                "remove --scheduler-cls, or switch the recompute scheduler off",
                "删掉 --scheduler-cls，或者关闭重计算调度器",
            ),
            related=here,
        )
