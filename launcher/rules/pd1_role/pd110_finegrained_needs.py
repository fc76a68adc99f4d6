"""PD110 finegrained-needs."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, Msg, rule
from pd_launch.schemas.additional import switch_of
from pd_launch.schemas.launch import Deployment, NodeLaunch
from pd_launch.schemas.models import model_of
from pd_launch.schemas.releases.features import FINEGRAINED_MOE, FINEGRAINED_RECOMPUTE, OLORA, applies
from pd_launch.schemas.scheduling import role_of, setting
from pd_launch.schemas.target import Target

SUFFIX = "_tensor_parallel_size"
MODULES = frozenset(f"{module}{SUFFIX}" for module in ("oproj", "lmhead", "embedding", "mlp", "olora"))

ZH = r"""
细粒度张量并行缺少它需要的条件

## 作用

检查 `finegrained_tp_config` 的各个规模:`oproj` 需要消费者角色、图模式、张量并行为 1 以及重计算调度器;
`olora` 需要消费者角色和图模式;`embedding` 需要重计算调度器;它们都需要 MoE 模型,并且能整除数据并行规模。

## 为什么重要

引擎在启动时逐条断言,不满足就退出;没有重计算调度器带来的等长批次,DP rank 之间的交换会卡死。

## 适用版本

vllm-ascend 的所有版本:重计算调度器与张量并行为 1 从 0.23.0rc1 起,MoE 从 0.21.0rc1 起,`olora` 从 0.20.2rc1 到 0.27。

## 来源

vllm_ascend/ascend_config.py(`FinegrainedTPConfig`),0.18.0 到 0.26.0rc1 的安装包。
"""


@rule("PD110", "finegrained-needs", "error", zh=ZH, needs="C R")
def finegrained_needs(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Fine-grained tensor parallelism without what it needs.

    ## What it does

    Checks the sizes of `finegrained_tp_config`: `oproj` needs a consumer, graph mode, tensor-parallel size 1 and the
    recompute scheduler; `olora` a consumer and graph mode; `embedding` the recompute scheduler; each of them an MoE
    model, and a data-parallel size that it divides.

    ## Why it matters

    The engine asserts all of it at start and exits; without the recompute scheduler's equal batches the exchange
    between DP ranks would hang.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve deepseek-ai/DeepSeek-V3.1 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}' \
      --data-parallel-size 16 --data-parallel-rank 0 \
      --additional-config '{"finegrained_tp_config": {"oproj_tensor_parallel_size": 8}}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve deepseek-ai/DeepSeek-V3.1 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}' \
      --data-parallel-size 16 --data-parallel-rank 0 \
      --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true},
        "finegrained_tp_config": {"oproj_tensor_parallel_size": 8}}'
    ```

    ## Releases

    All of vllm-ascend: the recompute scheduler and tensor-parallel size 1 from 0.23.0rc1, MoE from 0.21.0rc1, `olora`
    from 0.20.2rc1 to 0.27.

    ## Sources

    vllm_ascend/ascend_config.py (`FinegrainedTPConfig`) in the wheels of 0.18.0 to 0.26.0rc1.
    """
    target, group = deployment.target, setting(node, "finegrained_tp_config")
    if not target.is_ascend or group is None:
        return
    for name, value in group.items():
        size = value.integer()
        if (
            name not in MODULES
            or size is None
            or size <= 0
            or (name == f"olora{SUFFIX}" and not applies(OLORA, target))
        ):
            continue
        place = value.key or value.origin
        for en, zh, help_ in _needs(node, name.removesuffix(SUFFIX), size, target):
            yield Hit(place, Msg(f"{name} {en}", f"{name} {zh}"), help_)


def _needs(node: NodeLaunch, module: str, size: int, target: Target) -> Iterator[tuple[str, str, Msg]]:
    role, model = role_of(node), model_of(node)
    if module in ("oproj", "olora"):
        if role.known and not role.consumes:
            yield (
                f"is for decode nodes only ({role.text})",
                f"只能用于解码节点({role.text_zh})",
                Msg("remove it on this node", "在这个节点上删掉它"),
            )
        if node.switch("enforce-eager"):
            yield "needs graph mode, not --enforce-eager", "需要图模式,不能用 --enforce-eager", _EAGER
    if module == "oproj" and applies(FINEGRAINED_RECOMPUTE, target) and (node.tensor or 1) > 1:
        yield (
            f"needs --tensor-parallel-size 1, not {node.tensor}",
            f"需要 --tensor-parallel-size 1,而不是 {node.tensor}",
            Msg("use more DP ranks instead of TP", "用更多的 DP rank 代替 TP"),
        )
    if module in ("oproj", "embedding") and applies(FINEGRAINED_RECOMPUTE, target):
        switch = switch_of(node.additional, target)
        if switch.on is False:
            where = "scheduler_config." if switch.place == "nested" else ""
            yield (
                "needs the recompute scheduler, which is not on",
                "需要重计算调度器,而它没有打开",
                Msg(
                    f"set {where}recompute_scheduler_enable to true in --additional-config",
                    f"在 --additional-config 里把 {where}recompute_scheduler_enable 设为 true",
                ),
            )
    if model is not None and model.moe is False and applies(FINEGRAINED_MOE, target):
        yield "needs an MoE model", "需要 MoE 模型", Msg("remove it for this model", "这个模型请删掉它")
    data = node.data
    if data is not None and data % size:
        yield (
            f"is {size}, which does not divide the data-parallel size {data}",
            f"为 {size},不能整除数据并行规模 {data}",
            Msg(f"write a divisor of {data}", f"请写 {data} 的约数"),
        )


_EAGER = Msg("remove --enforce-eager", "删掉 --enforce-eager")
