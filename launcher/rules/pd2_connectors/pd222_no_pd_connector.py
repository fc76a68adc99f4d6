"""PD222 no-pd-connector."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import connectors

ZH = """
解码节点只有卸载连接器

## 作用

在 vllm-ascend 上，当一个解码节点（`kv_consumer`）的唯一连接器是卸载连接器时报告。离线的 Python 脚本除外。

## 为什么重要

没有 P/D 连接器，节点就收不到预填充节点的 KV，每个请求的预填充都要自己计算。

## 应当这样写

```bash
# target: 0.23.0
vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \\
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {
    "connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000",
      "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}},
    {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
     "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}]}}'
```

## 适用版本

所有带卸载连接器的 vllm-ascend 版本。

## 来源

vllm-ascend 的卸载指南：单独使用只用于验证。
"""


@rule("PD222", "no-pd-connector", "warning", zh=ZH, needs="C R")
def no_pd_connector(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A decode node has only the offload connector.

    ## What it does

    On vllm-ascend, fires when the only connector of a decode node (`kv_consumer`) is the offload connector. Not for
    offline Python programs.

    ## Why it matters

    Without a P/D connector the node cannot receive KV from a prefill node, and computes every prompt itself.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [
        {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000",
         "kv_connector_extra_config": {
           "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}},
        {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
         "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}]}}'
    ```

    ## Releases

    All of vllm-ascend that have the offload connector.

    ## Sources

    The offload guide of vllm-ascend: on its own it is for validation only.
    """
    if not deployment.target.is_ascend or node.role != "kv_consumer" or node.program == "python":
        return
    leaves = [connector for connector in connectors(node.kv_transfer) if not connector.children]
    if not leaves or not all(connector.is_offload for connector in leaves):
        return
    place = leaves[0].tree.get("kv_connector")
    if place is not None:
        yield Hit(
            place.origin,
            Msg(
                "the offload connector is this decode node's only one: it cannot receive KV from a prefill node",
                "这个解码节点只有卸载连接器：它收不到预填充节点的 KV",
            ),
            Msg(
                "put a MultiConnector on top, with the P/D connector first and this one last",
                "顶层用 MultiConnector，先写 P/D 连接器，最后写它",
            ),
        )
