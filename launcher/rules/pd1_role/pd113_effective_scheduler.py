"""PD113 effective-scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.scheduling import SHORT_FIRST, option, overriders, recompute_runs
from pd_launch.schemas.releases.schedulers import SHORT_FIRST_INSIDE

ZH = r"""
这个配置最终使用哪个调度器

## 作用

实际运行的调度器与选项看上去的不同时，说明是哪个调度器类：某个选项在重计算调度器设置之后又改写了调度器类；
几个选项互相覆盖；以及 0.24 的 short_request_first，它只在重计算调度器内部运行。

## 为什么重要

这些选项之间互不检查，最后改写调度器类的那个选项生效。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend/platform.py，0.18.0 到 0.26.0rc1 的安装包（0.24.0rc1 第 640–690 行，0.25.1rc1 第 676–720 行）。
"""


@rule("PD113", "effective-scheduler", "info", zh=ZH, needs="C R")
def effective_scheduler(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Which scheduler this configuration really ends up with.

    ## What it does

    Reports which scheduler class runs where the options suggest another: an option that writes the class after the
    recompute scheduler was set up, several that overwrite each other, and short_request_first on 0.24, which only runs
    inside the recompute scheduler.

    ## Why it matters

    The options are independent of each other, so the last one to write the scheduler's class wins.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}' \
      --pipeline-parallel-size 2 \
      --additional-config '{"scheduler_config": {"profiling_chunk_config": {"enabled": true},
        "batch_job_sched_config": {"enabled": true}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}' \
      --pipeline-parallel-size 2 \
      --additional-config '{"scheduler_config": {"profiling_chunk_config": {"enabled": true}}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    vllm_ascend/platform.py in the wheels of 0.18.0 to 0.26.0rc1 (0.24.0rc1: lines 640-690, 0.25.1rc1: lines 676-720).
    """
    target = deployment.target
    if not target.is_ascend:
        return
    winners, recompute = overriders(node, target), recompute_runs(node, target)
    if winners and (recompute or len(winners) > 1):
        last = winners[-1]
        yield Hit(
            last.place.origin if last.place else node.origin,
            Msg(f"the scheduler that runs is {last.scheduler}", f"实际运行的调度器是 {last.scheduler}"),
            Msg("keep only the scheduler that you want", "只保留需要的调度器"),
        )
    short = option(node, SHORT_FIRST, target)
    if short.on and short.place is not None and recompute is False and SHORT_FIRST_INSIDE.holds(target):
        yield Hit(
            short.place.origin,
            Msg(
                "short_request_first does not run here: it is part of the recompute scheduler, which is not on",
                "short_request_first 在这里不会运行：在 0.24 上它位于重计算调度器内部，而后者没有打开",
            ),
            Msg(
                "remove it, or use it on a decode node with the recompute scheduler",
                "删掉它，或者在打开重计算调度器的解码节点上使用",
            ),
        )
