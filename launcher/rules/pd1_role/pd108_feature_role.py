"""PD108 feature-role."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.scheduling import is_on, role_of
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.features import (
    KV_NZ,
    LAYER_SHARDING,
    MAMBA_PREFIX,
    MTP_PIPELINE,
    REDUCE_SAMPLE,
    SPARSE_OFFLOAD,
)

ZH = r"""
功能用在了不支持它的角色上

## 作用

检查只能用在一侧的功能：

- `layer_sharding` 用在预填充节点以外；
- `enable_kv_nz` 用在消费者以外，或者用于非 MLA 模型；
- `enable_reduce_sample` 用在预填充节点上；
- 稀疏 KV 卸载（以及与之配套的连接器）用在消费者以外；
- 流水线并行加 MTP 用在预填充节点以外；
- 0.23 之前，Mamba 或线性注意力模型的解码节点打开了前缀缓存（报告为警告）。

## 为什么重要

多数版本会在启动时拒绝这样的配置；没有拒绝的版本，会在处理第一个请求时出错。

## 适用版本

`layer_sharding`：<all layer-sharding-on-prefill-only>。`enable_kv_nz`：所有版本。`enable_reduce_sample`：
<all reduce-sample-refusals>。
稀疏 KV 卸载：从 <since sparse-kv-offload> 起。流水线并行加 MTP：<all mtp-pipeline-on-prefill-only>。
Mamba 解码节点上的前缀缓存：到 <last mamba-prefix-caching-on-decode> 为止。

## 来源

vllm_ascend/platform.py 与 vllm_ascend/ascend_config.py，0.18.0 到 0.26.0rc1 的安装包；vllm-ascend 的 PR 7796，
issue 7944 与 10908。
"""


@rule("PD108", "feature-role", "error", zh=ZH, needs="C R")
def feature_role(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A feature on a role that does not support it.

    ## What it does

    Checks features that belong to one side: `layer_sharding` outside prefill nodes, `enable_kv_nz` outside consumers or
    with a model without MLA, `enable_reduce_sample` on prefill nodes, sparse KV offload outside consumers (and the
    connector that goes with it), MTP with pipeline parallelism outside prefill nodes, and, as a warning, prefix caching
    on a decode node of a Mamba or linear-attention model before 0.23.

    ## Why it matters

    Most releases refuse such a configuration at start; where they do not, the feature breaks on the first request.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve deepseek-ai/DeepSeek-V3.1 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}' \
      --additional-config '{"enable_kv_nz": true}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve deepseek-ai/DeepSeek-V3.1 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}' \
      --additional-config '{"enable_kv_nz": true}'
    ```

    ## Releases

    `layer_sharding`: <all layer-sharding-on-prefill-only>. `enable_kv_nz`: all. `enable_reduce_sample`:
    <all reduce-sample-refusals>. Sparse KV offload: from <since sparse-kv-offload>. MTP with pipeline parallelism:
    <all mtp-pipeline-on-prefill-only>. Prefix caching on Mamba decode nodes: up to
    <last mamba-prefix-caching-on-decode>.

    ## Sources

    vllm_ascend/platform.py and vllm_ascend/ascend_config.py in the wheels of 0.18.0 to 0.26.0rc1; vllm-ascend pull
    request 7796, issues 7944 and 10908.
    """
    target = deployment.target
    if not target.is_ascend or not role_of(node).known:
        return
    for check in (_layer_sharding, _kv_nz, _reduce_sample, _sparse_offload, _mtp_pipeline, _mamba_prefix):
        yield from check(node, target)


def _layer_sharding(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    value, role = is_on(node, "layer_sharding"), role_of(node)
    if value is not None and LAYER_SHARDING.holds(target) and role.name != "kv_producer":
        yield _hit(
            value,
            f"layer_sharding is for prefill nodes only ({role.said.en})",
            f"layer_sharding 只能用于预填充节点（{role.said.zh}）",
        )


def _kv_nz(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    value, role, model = is_on(node, "enable_kv_nz"), role_of(node), model_of(node)
    if value is None or not KV_NZ.holds(target):
        return
    if not role.consumes:
        yield _hit(
            value,
            f"enable_kv_nz is for decode nodes only ({role.said.en})",
            f"enable_kv_nz 只能用于解码节点（{role.said.zh}）",
        )
    elif model is not None and (model.attention in ("gqa", "mha") or model.sparse):
        yield _hit(
            value,
            f"enable_kv_nz needs an MLA model without sparse attention, which {model.family} is not",
            f"enable_kv_nz 只能用于没有稀疏注意力的 MLA 模型，{model.family} 不是",
        )


def _reduce_sample(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    value = is_on(node, "enable_reduce_sample")
    if value is not None and REDUCE_SAMPLE.holds(target) and role_of(node).name == "kv_producer":
        yield _hit(
            value, "enable_reduce_sample is refused on a prefill node", "预填充节点不能使用 enable_reduce_sample"
        )


def _sparse_offload(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    if not SPARSE_OFFLOAD.holds(target):
        return
    role = role_of(node)
    value = is_on(node, "sparse_kv_offload_config", "enabled")
    keeps = is_on(node, "sparse_kv_offload_config", "keep_device_kv_cache")
    if value is not None and keeps is None and not role.consumes:
        yield _hit(
            value,
            f"sparse KV offload is for decode nodes only ({role.said.en})",
            f"稀疏 KV 卸载只能用于解码节点（{role.said.zh}）",
        )
    known = node.additional is None or node.additional.complete()
    for connector in connectors(node.kv_transfer) if known else []:
        name = connector.tree.get("kv_connector")
        if (
            connector.name == "SfaRemoteD2HConnector"
            and name is not None
            and value is None
            and role.name == "kv_consumer"
        ):
            yield Hit(
                name.origin,
                Msg(
                    "SfaRemoteD2HConnector needs sparse KV offload on the decode node",
                    "SfaRemoteD2HConnector 需要解码节点打开稀疏 KV 卸载",
                ),
                Msg(
                    'add {"sparse_kv_offload_config": {"enabled": true}} to --additional-config',
                    '在 --additional-config 里加上 {"sparse_kv_offload_config": {"enabled": true}}',
                ),
            )


def _mtp_pipeline(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    method = node.value("speculative-config")
    method = method.get("method") if method else None
    size, role = node.arg("pipeline-parallel-size"), role_of(node)
    if not MTP_PIPELINE.holds(target) or method is None or size is None or role.name == "kv_producer":
        return
    if "mtp" in (method.string() or "").lower() and (node.pipeline or 1) > 1:
        yield Hit(
            size.origin,
            Msg(
                f"MTP with pipeline parallelism is for prefill nodes only ({role.said.en})",
                f"流水线并行加 MTP 只能用于预填充节点（{role.said.zh}）",
            ),
            Msg("use --pipeline-parallel-size 1 here", "这里请用 --pipeline-parallel-size 1"),
            related=((method.origin, Msg("MTP is configured here", "MTP 在这里配置")),),
        )


def _mamba_prefix(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    model = model_of(node)
    if not MAMBA_PREFIX.holds(target) or model is None or not model.hybrid or role_of(node).name != "kv_consumer":
        return
    if node.switch("enable-prefix-caching"):
        yield Hit(
            node.named("enable-prefix-caching")[-1].origin,
            Msg(
                f"prefix caching on a decode node of a Mamba or linear-attention model does not work on {target}",
                f"{target} 上，Mamba 或线性注意力模型的解码节点不能使用前缀缓存",
            ),
            Msg("write --no-enable-prefix-caching on the decode node", "解码节点请写 --no-enable-prefix-caching"),
            severity="warning",
        )


def _hit(value: Node, en: str, zh: str) -> Hit:
    return Hit(value.key or value.origin, Msg(en, zh), Msg("remove it on this node", "在这个节点上删掉它"))
