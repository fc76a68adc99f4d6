"""PD105 offload-role."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import connectors

ZH = """
卸载连接器配置在了预填充节点或 PD 混合节点上

## 作用

当顶层 `kv_role` 是 `kv_producer` 或 `kv_both`，而连接器里有卸载连接器时报告。原版 vLLM 上，
附带的连接器可以用于 `kv_both`。

## 为什么重要

抢占卸载只用在解码节点上：在其他节点上，它只会白白占用锁页内存；在原版 vLLM 上，附带的连接器会拒绝 `kv_producer`。

## 示例

```bash
# target: 0.24.0rc1
vllm serve /models/m --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_producer"}'
```

## 应当这样写

```bash
# target: 0.24.0rc1
vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
```

## 适用版本

所有版本。

## 来源

vllm_ascend/core/recompute_scheduler.py（只有 kv_consumer 会调用抢占钩子），0.23.0 到 0.26.0rc1；
附带的连接器的启动检查。
"""


@rule("PD105", "offload-role", "error", zh=ZH, needs="C R")
def offload_role(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The offload connector is configured on a prefill or PD-mixed node.

    ## What it does

    Fires when the top-level `kv_role` is `kv_producer` or `kv_both` and the offload connector is among the
    connectors. On stock vLLM the bundled connector also serves `kv_both`.

    ## Why it matters

    Preemption offload belongs on decode nodes: elsewhere it only pins host memory, and on stock vLLM the bundled
    connector refuses kv_producer.

    ## Example

    ```bash
    # target: 0.24.0rc1
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_producer"}'
    ```

    ## Use instead

    ```bash
    # target: 0.24.0rc1
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm_ascend/core/recompute_scheduler.py (only kv_consumer reaches the preemption hook), 0.23.0 to 0.26.0rc1; the
    bundled connector's check at start.
    """
    role = node.role
    ascend = deployment.target.is_ascend
    if role not in ("kv_producer", "kv_both") or (role == "kv_both" and not ascend):
        return
    side, side_zh = ("a prefill", "预填充") if role == "kv_producer" else ("a PD-mixed", "PD 混合")
    place = node.kv_transfer.get("kv_role") if node.kv_transfer else None
    for connector in connectors(node.kv_transfer):
        if connector.is_offload:
            name = connector.tree.get("kv_connector")
            yield Hit(
                name.origin if name else connector.tree.origin,
                Msg(
                    f"the offload connector is configured on {side} node (kv_role is {role})",
                    f"卸载连接器配置在{side_zh}节点上（kv_role 是 {role}）",
                ),
                Msg(
                    "remove it here; configure it on decode nodes (kv_consumer)",
                    "删掉这里的配置，改为配置在解码节点（kv_consumer）上",
                ),
                related=((place.origin, Msg("the role is set here", "角色在这里设置")),) if place else (),
            )
