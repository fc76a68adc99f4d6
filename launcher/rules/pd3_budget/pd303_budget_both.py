"""PD303 budget-both."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, remove_entry
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.wording.nouns import seat
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.engine.budget import PER_RANK, TOTAL, BudgetError, parse_bytes, split_total
from pd_launch.schemas.engine.offload import budget_of, budget_options, served

ZH = """
两种预算都写了，而且不一致

## 作用

当 `cpu_bytes_to_use_per_rank` 与 `cpu_bytes_to_use` 除以 rank 数的结果不相等时报告，并说明哪一个生效。

## 为什么重要

生效的总是每个 rank 的预算，另一个会被悄悄忽略，主机内存的用量就与所写的总量不符。

## 适用版本

所有带卸载连接器的版本。

## 来源

vllm-ascend 的 recompute_cpu_offload_connector.py，第 39–101 行（0.27.1rc1）。
"""


@rule("PD303", "budget-both", "warning", zh=ZH, needs="C R")
def budget_both(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Both budgets are set, and they mean different amounts.

    ## What it does

    Fires when `cpu_bytes_to_use_per_rank` is not what `cpu_bytes_to_use` leaves for a rank, and says which
    one takes effect.

    ## Why it matters

    The per-rank budget always wins and the other is silently ignored, so the host's memory use is not what the total
    says.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --tensor-parallel-size 8 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use": 17179869184, "cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --tensor-parallel-size 8 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    All that have the offload connector.

    ## Sources

    vllm-ascend's recompute_cpu_offload_connector.py, lines 39-101 at 0.27.1rc1.
    """
    for connector in served(node, deployment.target):
        options = budget_options(connector) or {}
        budget = budget_of(node, connector, deployment.target)
        total, per_rank = options.get(TOTAL), options.get(PER_RANK)
        if total is None or per_rank is None or budget is None or budget.per_rank_bytes is None:
            continue
        try:
            share = split_total(parse_bytes(TOTAL, total.plain()), budget.ranks_per_engine)
        except BudgetError:
            continue
        if share == budget.per_rank_bytes:
            continue
        wins, loses = human_size(budget.per_rank_bytes), human_size(share)
        engine, on = human_size(budget.per_engine_bytes or 0), seat(node)
        remove = Msg("remove cpu_bytes_to_use", "删掉 cpu_bytes_to_use")
        yield Hit(
            total.origin,
            Msg(
                f"cpu_bytes_to_use would give each {on.en} {loses}, but cpu_bytes_to_use_per_rank wins: each {on.en} "
                f"gets {wins}, each engine {engine}",
                f"按 cpu_bytes_to_use 算，{on.each_zh} 是 {loses}，但 cpu_bytes_to_use_per_rank 优先：{on.each_zh} 得"
                f"到 {wins}，每个引擎 {engine}",
            ),
            Msg(
                f"keep only cpu_bytes_to_use_per_rank ({wins} per {on.en}), or set it to {share} for {loses} per "
                f"{on.en}",
                f"只保留 cpu_bytes_to_use_per_rank（{on.each_zh} {wins}）；想要{on.each_zh} {loses}，"
                f"就把它写成 {share}",
            ),
            related=((per_rank.origin, Msg("this one takes effect", "生效的是这里")),),
            fix=fix(remove, remove_entry(total), safe=True),
        )
