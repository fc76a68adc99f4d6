"""PD302 budget-default."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.wording.nouns import seat
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.engine.budget import PER_RANK, describe
from pd_launch.schemas.engine.offload import budget_of, served

ZH = """
没有写卸载预算

## 作用

当卸载连接器没有写任何预算时报告：目标版本的默认值是多少，每张卡得到多少。

## 为什么重要

默认预算因版本而异，而且往往不合适：用旧名称时一个引擎总共只有 8 GiB，用新名称时则与设备上的 KV 缓存一样大。

## 适用版本

vllm-ascend <all offload-default-bytes> 以及旧名称：每个引擎 8 GiB。新名称（<since offload-ratio> 起）：
与设备上的 KV 缓存相同。

## 来源

vllm-ascend 的 recompute_cpu_offload_connector.py（0.23.0rc1 至 0.27.1rc1）和
preempt_offload_connector.py（PR 16510 之后）。
"""


@rule("PD302", "budget-default", "info", zh=ZH, needs="C R")
def budget_default(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The offload connector has no budget set.

    ## What it does

    Fires when the offload connector is given no budget. Shows the target release's default and what each card gets.

    ## Why it matters

    The default differs between releases and seldom fits: 8 GiB for a whole engine under the old name, as much as the
    device's KV cache under the new one.

    ## Example

    ```bash
    # target: 0.24.0rc1
    vllm serve /models/m --tensor-parallel-size 16 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # target: 0.24.0rc1
    vllm serve /models/m --tensor-parallel-size 16 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    vllm-ascend <all offload-default-bytes>, and the old name anywhere: 8 GiB for each engine. The new name, from
    <since offload-ratio>: the size of the device's KV cache.

    ## Sources

    vllm-ascend's recompute_cpu_offload_connector.py at 0.23.0rc1 to 0.27.1rc1, preempt_offload_connector.py after pull
    request 16510.
    """
    for connector in served(node, deployment.target):
        budget = budget_of(node, connector, deployment.target)
        named = connector.tree.get("kv_connector")
        if budget is None or named is None or not budget.source.startswith("default"):
            continue
        on = seat(node)
        if budget.source == "default_ratio":
            message = Msg(
                f"no budget is set: each {on.en} gets as many host blocks as it has device blocks, so the host needs "
                "as much memory as all device KV caches together",
                f"没有写预算：{on.each_zh} 的主机块数与设备块数相同，主机需要的内存等于所有设备的 KV 缓存之和",
            )
        else:
            share, ranks = human_size(budget.per_rank_bytes or 0), budget.ranks_per_engine
            message = Msg(
                f"no budget is set: the default of 8 GiB for one engine is divided by its {counted(ranks, 'rank')}, so "
                f"{describe(budget, node.local_engines or 1, on.en)}",
                f"没有写预算：默认每个引擎 8 GiB，除以它的 {ranks} 个 rank，{on.each_zh} 得到 {share}",
            )
        yield Hit(
            named.origin,
            message,
            Msg(
                f'say what each {on.en} may use: "{PER_RANK}": 17179869184 is 16 GiB',
                f'写明{on.each_zh} 可以用多少："{PER_RANK}": 17179869184 就是 16 GiB',
            ),
        )
