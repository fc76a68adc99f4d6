"""PD411 group-port-differs."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.connector_ports import CONSUMER_BINDS, PRODUCER_BINDS
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.sides import dp_groups, exclusive

ZH = """
同一数据并行组的各节点 kv_port 不同

## 作用

比较同一个 DP 组（同侧、同 master 地址与 rpc 端口）内各节点的 kv_port，不同时提示。

## 为什么重要

连接器已经按全局 DP rank 错开每个 rank 的端口，另一侧由一个 kv_port 推算全组的端口：各节点应当写同一个值。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend/distributed/kv_transfer/kv_p2p 中各连接器的端口公式，0.18.0 到 0.27.1rc1。
"""


@rule("PD411", "group-port-differs", "info", zh=ZH, needs="P")
def group_port_differs(deployment: Deployment) -> Iterator[Hit]:
    r"""The nodes of one data-parallel group have different kv_ports.

    ## What it does

    Compares kv_port over the launches of one DP group (same side, master address and rpc port).

    ## Why it matters

    The connector already gives each global DP rank its own ports, and the other side derives the ports of the whole
    group from one kv_port: all nodes should write the same value.

    ## Example

    ```bash
    # file: prefill-0.sh
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 2 --data-parallel-rank 0 \
      --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 12321 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ```bash
    # file: prefill-1.sh
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 2 --data-parallel-rank 1 \
      --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 12321 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36100"}'
    ```

    ## Use instead

    ```bash
    # file: prefill-0.sh
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 2 --data-parallel-rank 0 \
      --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 12321 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ```bash
    # file: prefill-1.sh
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 2 --data-parallel-rank 1 \
      --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 12321 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    The connectors' port formulas in vllm_ascend/distributed/kv_transfer/kv_p2p at 0.18.0 to 0.27.1rc1.
    """
    for group in dp_groups(deployment):
        for name in sorted(PRODUCER_BINDS | CONSUMER_BINDS):
            found = [(node, port) for node in group if (port := _kv_port(node, name)) is not None]
            for node, port in found[1:]:
                first_node, first = found[0]
                if differ(port.integer(), first.integer()) and not exclusive(node, first_node):
                    yield Hit(
                        port.origin,
                        Msg(
                            (f"kv_port {port.integer()} differs from {first.integer()} on another node of this group"),
                            f"kv_port {port.integer()} 与同组另一个节点的 {first.integer()} 不同",
                        ),
                        Msg(
                            "write one kv_port for all nodes of the group: each rank derives its port from it",
                            "组内各节点写同一个 kv_port：各 rank 的端口由它推算",
                        ),
                        related=((first.origin, Msg("the other node's kv_port", "另一个节点的 kv_port")),),
                    )


def _kv_port(node: NodeLaunch, name: str) -> Node | None:
    for connector in connectors(node.kv_transfer):
        port = connector.tree.get("kv_port") if connector.name == name else None
        if port is not None and port.integer() is not None:
            return port
    return None
