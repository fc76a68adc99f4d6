"""PD208 pd-tp-ratio."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.kv_transfer import MULTI, SIZED_CONNECTORS, Connector, connectors
from pd_launch.schemas.models.facts import ModelFacts
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.transfers import MAMBA_DIVIDES

NOT_SMALLER = frozenset({"MooncakeConnectorV1", "MooncakeHybridConnector", "MooncakeLayerwiseConnector"})

ZH = """
不支持这样的预填充与解码 TP 比例

## 作用

检查 vllm-ascend 的 P/D 连接器里 `prefill.tp_size` 与 `decode.tp_size` 的关系：预填充不能小于解码；非 MLA 模型和
含 Mamba 层的模型必须整除；MooncakeHybridConnector 加 Mamba 层的模型必须相等。

## 为什么重要

比例不符合要求，worker 会在启动时或第一次传输时退出。

## 示例

```bash
# target: 0.26.0rc1
vllm serve /models/deepseek-v3.1-w8a8 --tensor-parallel-size 4 --kv-transfer-config '{
  "kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {
    "prefill": {"dp_size": 1, "tp_size": 4}, "decode": {"dp_size": 1, "tp_size": 8}}}'
```

## 应当这样写

```bash
# target: 0.26.0rc1
vllm serve /models/deepseek-v3.1-w8a8 --tensor-parallel-size 8 --kv-transfer-config '{
  "kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {
    "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
```

## 适用版本

vllm-ascend 的所有版本；MooncakeConnectorV1 对 Mamba 层的要求从 <since mamba-tp-divides> 起。
vLLM 的 NixlConnector 没有这一限制。

## 来源

vllm_ascend 的 mooncake_connector.py、mooncake_hybrid_connector.py、mooncake_layerwise_connector.py（第 1691 行）与
ascend_config.py（0.26.0rc1）。
"""


@rule("PD208", "pd-tp-ratio", "error", zh=ZH, needs="C R")
def pd_tp_ratio(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The TP sizes of prefill and decode do not match.

    ## What it does

    Compares `prefill.tp_size` and `decode.tp_size` of vllm-ascend's P/D connectors: prefill must not be smaller; it
    must be a multiple for models without MLA and for models with Mamba layers; MooncakeHybridConnector needs them to be
    equal for models with Mamba layers.

    ## Why it matters

    With another ratio the workers stop at start or at the first transfer.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/deepseek-v3.1-w8a8 --tensor-parallel-size 4 --kv-transfer-config '{
      "kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000",
      "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 4}, "decode": {"dp_size": 1, "tp_size": 8}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/deepseek-v3.1-w8a8 --tensor-parallel-size 8 --kv-transfer-config '{
      "kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000",
      "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
    ```

    ## Releases

    All of vllm-ascend; MooncakeConnectorV1's condition on Mamba layers from <since mamba-tp-divides>. vLLM's
    NixlConnector has none.

    ## Sources

    vllm_ascend's mooncake_connector.py, mooncake_hybrid_connector.py, mooncake_layerwise_connector.py (line 1691) and
    ascend_config.py at 0.26.0rc1.
    """
    if not deployment.target.is_ascend:
        return
    facts = model_of(node)
    for connector in connectors(node.kv_transfer):
        if connector.name not in SIZED_CONNECTORS and connector.name != MULTI:
            continue
        prefill, decode = connector.option("prefill", "tp_size"), connector.option("decode", "tp_size")
        first, second = (prefill.integer() if prefill else None), (decode.integer() if decode else None)
        if prefill is None or decode is None or not first or not second:
            continue
        why = why_not(connector, first, second, facts, deployment.target)
        if why is not None:
            yield Hit(
                prefill.origin,
                Msg(
                    f"prefill TP {first} and decode TP {second}: {why.en}",
                    f"预填充 TP {first}，解码 TP {second}：{why.zh}",
                ),
                _help(second),
                related=((decode.origin, Msg("decode's size", "解码侧的大小")),),
            )


def why_not(connector: Connector, prefill: int, decode: int, facts: ModelFacts | None, target: Target) -> Msg | None:
    """Return why a connector does not take these TP sizes together; None if it does."""
    name = connector.name or ""
    hybrid = facts is not None and bool(facts.hybrid)
    if name in NOT_SMALLER and prefill < decode:
        return Msg(f"{name} needs prefill to be at least as large", f"{name} 要求预填充不小于解码")
    if name == "MooncakeHybridConnector" and hybrid and prefill != decode:
        return Msg(
            f"{name} needs them to be equal for a model with Mamba layers", f"{name} 对含 Mamba 层的模型要求两者相等"
        )
    if prefill % decode == 0:
        return None
    if name == "MooncakeConnectorV1" and hybrid and MAMBA_DIVIDES.holds(target):
        return Msg(
            "a model with Mamba layers needs prefill to be a multiple", "含 Mamba 层的模型要求预填充是解码的整数倍"
        )
    if connector.parent is None and facts is not None and facts.attention in ("gqa", "mha"):
        return Msg(
            "a model without MLA needs prefill to be a multiple of decode", "非 MLA 模型要求预填充是解码的整数倍"
        )
    return None


def _help(decode: int) -> Msg:
    return Msg(
        f"use prefill TP {decode}, {2 * decode} or {4 * decode}, or a smaller decode TP, and change the flags too",
        f"预填充 TP 用 {decode}、{2 * decode} 或 {4 * decode}，或者减小解码 TP，并同时修改启动参数",
    )
