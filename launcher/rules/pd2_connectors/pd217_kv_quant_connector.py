"""PD217 kv-quant-connector."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.models.known import kv_cache_is_c8, model_of
from pd_launch.schemas.releases.transfers import MOONCAKE_C8

REFUSED = frozenset({"MooncakeConnector", "MooncakeConnectorV1"})

ZH = """
连接器不支持量化的 KV 缓存

## 作用

当 GQA 模型的 KV 缓存是 C8（int8）量化，而连接器（包括 MultiConnector 的子项）是 MooncakeConnectorV1 时报告。

## 为什么重要

预填充侧的 KV 是 bf16，解码侧分配的是 int8，逐字节传过去就会读错，因此 vllm-ascend 在启动时拒绝。

## 示例

```bash
# target: 0.23.0
vllm serve vllm-ascend/GLM-4.7-W8A8C8 --quantization ascend --kv-transfer-config '{
  "kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36100", "kv_connector_extra_config": {
    "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
```

## 适用版本

vllm-ascend <since mooncake-c8-gqa> 起。MLA 模型不受影响。

## 来源

vllm_ascend/ascend_config.py 的 _check_mooncake_c8_kv_cache_quant（0.23.0 第 368 行，0.26.0rc1 第 384 行）。
"""


@rule("PD217", "kv-quant-connector", "error", zh=ZH, confidence="medium", needs="C R")
def kv_quant_connector(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The connector does not support a quantised KV cache.

    ## What it does

    Fires when a GQA model has a C8 (int8) KV cache and the connector, or a child of a MultiConnector, is
    MooncakeConnectorV1.

    ## Why it matters

    Prefill holds its KV in bf16 while decode allocates int8, so moving the bytes as they are would misread them;
    vllm-ascend refuses it at start.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve vllm-ascend/GLM-4.7-W8A8C8 --quantization ascend --kv-transfer-config '{
      "kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36100",
      "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve vllm-ascend/GLM-4.7-W8A8C8 --quantization ascend --kv-transfer-config '{
      "kv_connector": "MooncakeLayerwiseConnector", "kv_role": "kv_consumer", "kv_port": "36100",
      "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Releases

    vllm-ascend from <since mooncake-c8-gqa>. Models with MLA are not affected.

    ## Sources

    _check_mooncake_c8_kv_cache_quant in vllm_ascend/ascend_config.py (line 368 at 0.23.0, 384 at 0.26.0rc1).
    """
    facts = model_of(node)
    if not MOONCAKE_C8.holds(deployment.target) or facts is None or facts.attention != "gqa":
        return
    quantization = node.value("quantization")
    if not kv_cache_is_c8(node) or (quantization is not None and quantization.string() not in ("ascend", None)):
        return
    for connector in connectors(node.kv_transfer):
        name = connector.tree.get("kv_connector")
        if connector.name in REFUSED and name is not None:
            yield Hit(
                name.origin,
                Msg(
                    f"{connector.name} with the int8 (C8) KV cache of a GQA model: {deployment.target} refuses it",
                    f"{connector.name} 与 GQA 模型的 int8（C8）KV 缓存：{deployment.target} 会拒绝",
                ),
                Msg(
                    "use MooncakeLayerwiseConnector on both sides, or weights without C8",
                    "两侧都改用 MooncakeLayerwiseConnector，或者改用没有 C8 量化的权重",
                ),
            )
