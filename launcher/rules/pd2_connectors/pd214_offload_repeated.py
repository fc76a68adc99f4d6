"""PD214 offload-repeated."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.offload import offloads

ZH = """
卸载连接器写了不止一次

## 作用

当一个节点的配置里有多于一个卸载连接器（内置或附带）时报告。

## 为什么重要

每一个都会为同一个被抢占的请求分配主机块，却只有第一个用来恢复，其余的内存都浪费了。
附带的连接器如果写了两个，会拒绝启动。

## 适用版本

所有带卸载连接器的版本。

## 来源

vllm_ascend/distributed/kv_transfer/ascend_multi_connector.py（0.23.0）：对每个子项都调用保存，只让第一个恢复。
"""


@rule("PD214", "offload-repeated", "error", zh=ZH)
def offload_repeated(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The offload connector is configured more than once.

    ## What it does

    Fires when a node has more than one offload connector, built in or bundled.

    ## Why it matters

    Each of them allocates host blocks for the same preempted request and only the first restores it, so the memory of
    the others is wasted. The bundled connector refuses to start together with another one of the same kind.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [
        {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
         "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592}},
        {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
         "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592}}]}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [
        {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
         "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}]}}'
    ```

    ## Releases

    All that have the offload connector.

    ## Sources

    vllm_ascend/distributed/kv_transfer/ascend_multi_connector.py at 0.23.0: every child saves, the first one restores.
    """
    found = offloads(node)
    for connector in found[1:]:
        place, before = connector.tree.get("kv_connector"), found[0].tree.get("kv_connector")
        if place is None or before is None:
            continue
        yield Hit(
            place.origin,
            Msg(
                "a second offload connector: only the first one restores requests",
                "这是第二个卸载连接器：只有第一个会恢复请求",
            ),
            Msg("remove it and give the first one the whole budget", "删掉它，把全部预算给第一个"),
            related=((before.origin, Msg("the first one", "第一个在这里")),),
        )
