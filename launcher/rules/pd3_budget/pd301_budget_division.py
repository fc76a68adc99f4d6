"""PD301 budget-division."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, joined, rename_key, set_value
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.wording.nouns import seat
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted, format_size, human_size
from pd_launch.schemas.engine.budget import PER_RANK, TOTAL, Budget
from pd_launch.schemas.engine.offload import budget_of, served

ZH = """
cpu_bytes_to_use 会除以一个引擎的 rank 数

## 作用

当卸载连接器的预算写成 `cpu_bytes_to_use` 时报告：列出除以 TP × PP × PCP 的算式，每张卡、
每个引擎和每个节点实际得到多少，以及 `cpu_bytes_to_use_per_rank` 应当写多少。

## 为什么重要

每张卡得到的是总量除以 TP × PP × PCP，与数据并行无关，往往比预想的小得多。上游指南说除以 DP，代码并不是这样：
DP 2 × TP 8 时写 16 GiB，每张卡得到 2 GiB，而不是 8 GiB。

## 适用版本

所有带卸载连接器的版本（vllm-ascend <since offload-builtin> 起），以及附带的连接器。

## 来源

vllm-ascend 的 recompute_cpu_offload_connector.py（0.23.0rc1 至 0.27.1rc1）；vLLM 的 ParallelConfig.world_size，
在 0.23.0、0.27.1 和 0.32.0 上运行验证过。
"""


@rule("PD301", "budget-division", "warning", zh=ZH, needs="C R")
def budget_division(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""cpu_bytes_to_use is divided by the ranks of one engine.

    ## What it does

    Fires when the offload connector's budget is written as `cpu_bytes_to_use`. Shows the division by TP × PP × PCP,
    what each card, each engine and each node really get, and the `cpu_bytes_to_use_per_rank` to write instead.

    ## Why it matters

    Each card gets only the total divided by TP × PP × PCP, and data parallelism never divides it, so the share is often
    far from what was meant. The upstream guide says that it is divided by DP; the code does not do that: 16 GiB at
    DP2 × TP8 are 2 GiB for each card, not 8.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use": 17179869184}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 2147483648}}'
    ```

    ## Releases

    All that have the offload connector (vllm-ascend from <since offload-builtin>), and the bundled connector.

    ## Sources

    vllm-ascend's recompute_cpu_offload_connector.py at 0.23.0rc1 to 0.27.1rc1; vLLM's ParallelConfig.world_size, run on
    0.23.0, 0.27.1 and 0.32.0.
    """
    for connector in served(node, deployment.target):
        value = connector.option(TOTAL)
        budget = budget_of(node, connector, deployment.target)
        if value is None or budget is None or budget.source != "total" or budget.per_rank_bytes is None:
            continue
        share, on = budget.per_rank_bytes, seat(node)
        profile = node.form == "profile"
        instead = f"per_rank: {format_size(share)}" if profile else f'"{PER_RANK}": {share}'
        edits = joined(
            rename_key(value, "per_rank" if profile else PER_RANK),
            set_value(value, format_size(share) if profile else share),
        )
        message = Msg(f"write {instead}", f"改写成 {instead}")
        yield Hit(
            value.origin,
            _message(node, budget, value.integer() or 0),
            Msg(
                f"for the same {human_size(share)} on each {on.en} write {instead}; for another amount write that many "
                f"bytes per {on.en}",
                f"要让{on.each_zh} 保持 {human_size(share)}，请写 {instead}；想要别的大小，就写{on.each_zh} 的字节数",
            ),
            fix=fix(message, edits, safe=True),
        )


def _message(node: NodeLaunch, budget: Budget, total: int) -> Msg:
    sizes = f"TP {node.tensor} × PP {node.pipeline} × PCP {node.prefill_context}"
    on, share, engine = seat(node), human_size(budget.per_rank_bytes or 0), human_size(budget.per_engine_bytes or 0)
    data, engines = node.data, node.local_engines
    told = total // data if data and data > 1 else None
    wrong = f", not {human_size(told)}" if told is not None and told != budget.per_rank_bytes else ""
    wrong_zh = f"（不是 {human_size(told)}）" if told is not None and wrong else ""
    en = (
        f"cpu_bytes_to_use is {human_size(total)} for one engine and is divided by its "
        f"{counted(budget.ranks_per_engine, 'rank')} "
        f"({sizes}), never by DP: each {on.en} gets {share}{wrong}, each engine {engine}"
    )
    zh = (
        f"cpu_bytes_to_use 是一个引擎的总量 {human_size(total)}，除以它的 {budget.ranks_per_engine} 个 rank（"
        f"{sizes}），从不除以 DP：{on.each_zh} 得到 {share}{wrong_zh}，每个引擎 {engine}"
    )
    if engines is not None:
        node_bytes = human_size(budget.per_node_bytes(engines, node.local_world) or 0)
        en += f", and each node with its {counted(engines, 'engine')} {node_bytes}"
        zh += f"，每个节点（{engines} 个引擎）共 {node_bytes}"
    return Msg(en, zh)
