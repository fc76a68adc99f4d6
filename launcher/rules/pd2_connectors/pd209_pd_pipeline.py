"""PD209 pd-pipeline."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.nixl import nixl
from pd_launch.schemas.models.facts import ModelFacts
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.handshake import DECODE_ONE_STAGE, HYBRID_ONE_STAGE

ONE_STAGE = frozenset({"MooncakeConnectorV1", "MooncakeHybridConnector"})

ZH = """
这个 P/D 连接器不支持这样的流水线并行

## 作用

对 MooncakeConnectorV1 和 MooncakeHybridConnector 检查：`decode.pp_size` 不是 1，解码节点自己用了流水线并行，
`prefill.pp_layer_partition` 的段数与 `pp_size` 不同；对 MooncakeConnectorV1 还检查流水线并行与预填充上下文并行
同时大于 1。对 NixlConnector 检查：消费者用了流水线并行，以及含 Mamba 层的混合模型用了流水线并行。

## 为什么重要

解码侧只能有一个流水线阶段，否则 worker 会在启动时退出。

## 适用版本

vllm-ascend 的所有版本；vLLM 的 NixlConnector 从 <since nixl-decode-one-stage> 起。

## 来源

vLLM 的 nixl/base_worker.py，0.26.0 到 0.33.0；
vllm_ascend 的 mooncake_connector.py（0.18.0 第 1119、1180 行；0.26.0rc1 第 2081、2172 行）和
mooncake_hybrid_connector.py。
"""


@rule("PD209", "pd-pipeline", "error", zh=ZH, needs="C R")
def pd_pipeline(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The P/D connector does not support this pipeline parallelism.

    ## What it does

    Looks at MooncakeConnectorV1 and MooncakeHybridConnector: a `decode.pp_size` other than 1, a decode node with its
    own pipeline parallelism, a `prefill.pp_layer_partition` whose number of parts differs from `pp_size`, and for
    MooncakeConnectorV1 pipeline parallelism together with prefill context parallelism. For NixlConnector: a consumer
    with pipeline parallelism, and a hybrid model with Mamba layers and pipeline parallelism.

    ## Why it matters

    The decode side must have one pipeline stage, or the workers stop at start.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --pipeline-parallel-size 2 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1, "pp_size": 2}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 1, "pp_size": 2}, "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Releases

    All of vllm-ascend; NixlConnector of vLLM <since nixl-decode-one-stage> and later.

    ## Sources

    vLLM's nixl/base_worker.py at 0.26.0 to 0.33.0;
    vllm_ascend's mooncake_connector.py (lines 1119 and 1180 at 0.18.0, 2081 and 2172 at 0.26.0rc1) and
    mooncake_hybrid_connector.py.
    """
    if not deployment.target.is_ascend:
        yield from _nixl(node, deployment)
        return
    for connector in connectors(node.kv_transfer):
        if connector.name in ONE_STAGE:
            yield from _decode(node, connector)
            yield from _partition(connector)
            yield from _with_context(node, connector)


def _nixl(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield pipeline parallelism that NixlConnector stops at start."""
    own, flag, stages, target = nixl(node), node.arg("pipeline-parallel-size"), node.pipeline, deployment.target
    if own is None or flag is None or stages is None or stages < 2:
        return
    place = flag.value.origin if flag.value is not None else flag.origin
    facts = model_of(node)
    role = own.text("kv_role") or node.role
    if role == "kv_consumer" and DECODE_ONE_STAGE.holds(target):
        yield Hit(
            place,
            Msg(
                f"a consumer with {stages} pipeline stages: {own.name} stops at start",
                f"消费者有 {stages} 个流水线阶段：{own.name} 启动时会退出",
            ),
            Msg("remove --pipeline-parallel-size; use more TP", "删掉 --pipeline-parallel-size，改用更大的 TP"),
        )
    elif facts is not None and HYBRID_ONE_STAGE.holds(target) and _has_mamba(node, facts):
        yield Hit(
            place,
            Msg(
                f"{facts.family} has Mamba layers, with which {own.name} refuses {stages} pipeline stages",
                f"{facts.family} 含有 Mamba 层，{own.name} 不支持它用 {stages} 个流水线阶段",
            ),
            Msg("remove --pipeline-parallel-size; use more TP", "删掉 --pipeline-parallel-size，改用更大的 TP"),
        )


def _has_mamba(node: NodeLaunch, facts: ModelFacts) -> bool:
    """Whether the cache surely has Mamba layers beside others, which no NixlConnector takes in stages.

    Several kinds of attention alone may be served as one kind, and NixlPushConnector takes them.
    """
    return facts.hybrid is True and node.switch("disable-hybrid-kv-cache-manager") is None


def _decode(node: NodeLaunch, connector: Connector) -> Iterator[Hit]:
    declared, flag = connector.option("decode", "pp_size"), node.arg("pipeline-parallel-size")
    stages = declared.integer() if declared else None
    own = node.pipeline if node.role == "kv_consumer" and flag is not None else None
    if declared is not None and stages is not None and stages != 1:
        yield Hit(
            declared.origin,
            Msg(
                f"decode.pp_size is {stages}: {connector.name} needs one stage on the decode side",
                f"decode.pp_size 是 {stages}：{connector.name} 要求解码侧只有一个流水线阶段",
            ),
            Msg(
                "remove pp_size, and --pipeline-parallel-size on the decode nodes",
                "删掉 pp_size，以及解码节点的 --pipeline-parallel-size",
            ),
        )
    elif flag is not None and own is not None and own > 1:
        yield Hit(
            flag.value.origin if flag.value is not None else flag.origin,
            Msg(
                f"a decode node with {own} pipeline stages: {connector.name} needs one",
                f"解码节点有 {own} 个流水线阶段：{connector.name} 要求只有一个",
            ),
            Msg(
                "remove --pipeline-parallel-size; use more TP or DP",
                "删掉 --pipeline-parallel-size，改用更大的 TP 或 DP",
            ),
        )


def _partition(connector: Connector) -> Iterator[Hit]:
    parts, size = connector.option("prefill", "pp_layer_partition"), connector.option("prefill", "pp_size")
    text, stages = (parts.string() if parts else None), (size.integer() if size else 1)
    if parts is None or text is None or stages is None or len(text.split(",")) == stages:
        return
    count = len(text.split(","))
    yield Hit(
        parts.origin,
        Msg(
            f"pp_layer_partition has {count} parts, but prefill.pp_size is {stages}",
            f"pp_layer_partition 有 {count} 段，但 prefill.pp_size 是 {stages}",
        ),
        Msg(f"write {stages} numbers, separated by commas", f"写 {stages} 个数字，用逗号分隔"),
    )


def _with_context(node: NodeLaunch, connector: Connector) -> Iterator[Hit]:
    flag = node.arg("prefill-context-parallel-size")
    pipeline, context = node.pipeline, node.prefill_context
    if connector.name != "MooncakeConnectorV1" or flag is None or not pipeline or not context:
        return
    if pipeline > 1 and context > 1:
        yield Hit(
            flag.origin,
            Msg(
                f"pipeline parallelism ({pipeline}) and prefill context parallelism ({context}) together: "
                "MooncakeConnectorV1 supports only one of them",
                f"流水线并行（{pipeline}）与预填充上下文并行（{context}）同时使用：MooncakeConnectorV1 只支持其中一个",
            ),
            Msg("set one of the two to 1", "把其中一个设为 1"),
        )
