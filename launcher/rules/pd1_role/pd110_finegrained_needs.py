"""PD110 finegrained-needs."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.additional import switch_of
from pd_launch.schemas.engine.budget import NEW_NAME
from pd_launch.schemas.engine.kv_transfer import BUNDLES, Connector, connectors
from pd_launch.schemas.engine.scheduling import role_of, setting
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.features import (
    FINEGRAINED_DECODE,
    FINEGRAINED_MOE,
    FINEGRAINED_OFFLOAD,
    FINEGRAINED_ONE_RANK,
    FINEGRAINED_RECOMPUTE,
    OLORA,
    asks,
)

SUFFIX = "_tensor_parallel_size"
MODULES = frozenset(f"{module}{SUFFIX}" for module in ("oproj", "lmhead", "embedding", "mlp", "olora"))

ZH = r"""
细粒度张量并行缺少它需要的条件

## 作用

检查 `finegrained_tp_config` 的各项大小：`oproj` 需要消费者角色、图模式、张量并行为 1 以及重计算调度器；
`olora` 需要消费者角色和图模式；`embedding` 在 0.29.0rc1 及以前需要重计算调度器；
每一项都需要 MoE 模型，并且要能整除数据并行大小。从 0.30.0rc1 起，`mlp` 与 `oproj` 的要求相同；大于 1 时两者还需要名为
PreemptOffloadConnector 的连接器，
并且不能使用预填充上下文并行。

## 为什么重要

引擎在启动时用断言逐条检查，不满足就退出；没有重计算调度器保证各批次等长，DP rank 之间的数据交换会卡死。
0.30.0rc1 起，被抢占的请求不能再回到预填充节点：在那里重新计算的 KV 会损失精度。

## 适用版本

vllm-ascend 的所有版本：重计算调度器与张量并行为 1 从 <since oproj-needs-recompute> 起，
MoE 从 <since finegrained-needs-moe> 起，`olora` <all olora>；`mlp` 与卸载连接器从 <since oproj-mlp-need-offload> 起。

## 来源

vllm_ascend/ascend_config.py（`FinegrainedTPConfig`），0.18.0 到 0.26.0rc1 的安装包与 0.28.0rc1 到 0.30.0rc2 的源码包；
0.30.0rc1 的 platform.py 第 1143 行。
"""


@rule("PD110", "finegrained-needs", "error", zh=ZH, needs="C R")
def finegrained_needs(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Fine-grained tensor parallelism without what it needs.

    ## What it does

    Checks the sizes of `finegrained_tp_config`: `oproj` needs a consumer, graph mode, tensor-parallel size 1 and the
    recompute scheduler; `olora` a consumer and graph mode; `embedding` the recompute scheduler up to 0.29.0rc1; all of
    them an MoE model, and a data-parallel size that they divide. From 0.30.0rc1 on `mlp` needs what `oproj` needs, and
    above 1 both need a connector named PreemptOffloadConnector and no prefill context parallelism.

    ## Why it matters

    The engine asserts all of it at start and exits; without the recompute scheduler's equal batches the exchange
    between DP ranks would hang. From 0.30.0rc1 on a preempted request must not go back to the prefill node, whose
    recomputed KV loses precision.

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

    All of vllm-ascend: the recompute scheduler and tensor-parallel size 1 from <since oproj-needs-recompute>, MoE
    from <since finegrained-needs-moe>, `olora` <all olora>; `mlp` and the offload connector from
    <since oproj-mlp-need-offload>.

    ## Sources

    vllm_ascend/ascend_config.py (`FinegrainedTPConfig`) in the wheels of 0.18.0 to 0.26.0rc1 and the source packages
    of 0.28.0rc1 to 0.30.0rc2; platform.py line 1143 at 0.30.0rc1.
    """
    target, group = deployment.target, setting(node, "finegrained_tp_config")
    if not target.is_ascend or group is None:
        return
    for name, value in group.items():
        size = value.integer()
        if name not in MODULES or size is None or size <= 0 or (name == f"olora{SUFFIX}" and not OLORA.holds(target)):
            continue
        place = value.key or value.origin
        for en, zh, help_ in _needs(node, name.removesuffix(SUFFIX), size, target):
            yield Hit(place, Msg(f"{name} {en}", f"{name} {zh}"), help_)


def _needs(node: NodeLaunch, module: str, size: int, target: Target) -> Iterator[tuple[str, str, Msg]]:
    role, model = role_of(node), model_of(node)
    if asks(FINEGRAINED_DECODE, module, size, target):
        if role.known and not role.consumes:
            yield (
                f"is for decode nodes only ({role.said.en})",
                f"只能用于解码节点（{role.said.zh}）",
                Msg("remove it on this node", "在这个节点上删掉它"),
            )
        if node.switch("enforce-eager"):
            yield "needs graph mode, not --enforce-eager", "需要图模式，不能用 --enforce-eager", _EAGER
    if asks(FINEGRAINED_ONE_RANK, module, size, target) and (node.tensor or 1) > 1:
        yield (
            f"needs --tensor-parallel-size 1, not {node.tensor}",
            f"需要 --tensor-parallel-size 1，而不是 {node.tensor}",
            Msg("use more DP ranks instead of TP", "用更多的 DP rank 代替 TP"),
        )
    if asks(FINEGRAINED_RECOMPUTE, module, size, target):
        switch = switch_of(node.additional, target)
        if switch.on is False:
            where = "scheduler_config." if switch.place == "nested" else ""
            yield (
                "needs the recompute scheduler, which is not on",
                "需要重计算调度器，但它没有打开",
                Msg(
                    f"set {where}recompute_scheduler_enable to true in --additional-config",
                    f"在 --additional-config 里把 {where}recompute_scheduler_enable 设为 true",
                ),
            )
    if asks(FINEGRAINED_OFFLOAD, module, size, target):
        yield from _offload(node)
    if model is not None and model.moe is False and FINEGRAINED_MOE.holds(target):
        yield "needs an MoE model", "需要 MoE 模型", Msg("remove it for this model", "这个模型请删掉它")
    data = node.data
    if data is not None and data % size:
        yield (
            f"is {size}, which does not divide the data-parallel size {data}",
            f"为 {size}，不能整除数据并行大小 {data}",
            Msg(f"write a divisor of {data}", f"请写 {data} 的约数"),
        )


def _offload(node: NodeLaunch) -> Iterator[tuple[str, str, Msg]]:
    """What a module that is really split needs. vllm-ascend looks for the connector's name alone."""
    found, tree = connectors(node.kv_transfer), node.kv_transfer
    names = [connector.name for connector in found]
    listed = all(c.name not in BUNDLES or _is_known(c) for c in found)
    if (tree is None or tree.known) and listed and None not in names and NEW_NAME not in names:
        yield (
            f"needs the connector {NEW_NAME}, which is not configured",
            f"需要连接器 {NEW_NAME}，但配置里没有",
            Msg(
                f"add {NEW_NAME} as a child of a MultiConnector; the bundled connector of that name will do",
                f"在 MultiConnector 下加上子连接器 {NEW_NAME}；附带的连接器用这个名称也可以",
            ),
        )
    if (node.prefill_context or 1) > 1:
        yield (
            f"does not work with --prefill-context-parallel-size {node.prefill_context}",
            f"不能与 --prefill-context-parallel-size {node.prefill_context} 一起使用",
            Msg("remove --prefill-context-parallel-size", "删掉 --prefill-context-parallel-size"),
        )


def _is_known(connector: Connector) -> bool:
    """Whether it is known which children there are."""
    children = connector.option("connectors")
    return (connector.extra is None or connector.extra.known) and (children is None or children.known)


_EAGER = Msg("remove --enforce-eager", "删掉 --enforce-eager")
