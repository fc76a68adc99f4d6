"""PD221 pool-failure-default."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.pools import loads_from_pool
from pd_launch.schemas.models.known import model_of

ZH = """
KV 池加载失败会让请求失败

## 作用

当节点会从 KV 池（AscendStoreConnector、MooncakeConnectorStoreV1）加载，而顶层的 `kv_load_failure_policy` 没有写或是
`fail` 时提示。混合模型除外，它们不支持 `recompute`。

## 为什么重要

池里的块可能在查到之后、加载之前就被淘汰；按默认策略，这样的请求会直接失败，而不是重新计算。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vLLM 的 config/kv_transfer.py（默认 fail，在 0.23.0、0.27.1 和 0.32.0 上运行验证过）；vllm-ascend 的 KV 池指南。
"""


@rule("PD221", "pool-failure-default", "info", zh=ZH, needs="C R")
def pool_failure_default(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A failed load from the KV pool fails the request.

    ## What it does

    Fires when a node loads from a KV pool (AscendStoreConnector, MooncakeConnectorStoreV1) and the top level's
    `kv_load_failure_policy` is missing or `fail`. Not for hybrid models, which cannot have `recompute`.

    ## Why it matters

    A block of the pool may be evicted between lookup and load, and under the default policy such a request fails
    instead of being computed again.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve Qwen/Qwen3-32B --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both",
      "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0"}}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve Qwen/Qwen3-32B --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both",
      "kv_load_failure_policy": "recompute",
      "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0"}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    vLLM's config/kv_transfer.py (the default is fail; run on 0.23.0, 0.27.1 and 0.32.0); vllm-ascend's KV pool guide.
    """
    tree, facts = node.kv_transfer, model_of(node)
    policy = tree.get("kv_load_failure_policy") if tree else None
    if not deployment.target.is_ascend or facts is None or facts.hybrid is not False:
        return
    if policy is not None and policy.value != "fail":
        return
    for connector in connectors(tree):
        name = connector.tree.get("kv_connector")
        if name is not None and loads_from_pool(connector):
            place = policy.origin if policy is not None else name.origin
            yield Hit(
                place,
                Msg(
                    f"a miss while {connector.name} loads fails the request (kv_load_failure_policy is fail)",
                    f"{connector.name} 加载时未命中会让请求失败（kv_load_failure_policy 是 fail）",
                ),
                Msg(
                    '"kv_load_failure_policy": "recompute" at the top level recomputes instead',
                    '在顶层写 "kv_load_failure_policy": "recompute" 就会改为重新计算',
                ),
            )
            return
