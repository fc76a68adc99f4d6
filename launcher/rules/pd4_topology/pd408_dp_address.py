"""PD408 dp-address."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.sides import DEFAULT_ADDRESS, is_unreachable, master, spans_machines

ZH = """
其他节点连不上的 DP master 或 HCCL 地址

## 作用

在确定跨多台机器的数据并行布局里，检查 --data-parallel-address 与 HCCL_IF_IP 是否为本机回环地址（127.0.0.1、localhost）
或 0.0.0.0；没有写 --data-parallel-address 时，默认就是 127.0.0.1。用 --nnodes 把引擎分布到多台机器时，
检查 --master-addr，默认值相同。

## 为什么重要

其他节点会去连接它们自己的回环地址：通信组始终建立不起来，各节点最后都超时退出。

## 适用版本

所有版本。

## 来源

vllm/config/parallel.py（data_parallel_master_ip 默认 127.0.0.1），0.23.0、0.27.1、0.32.0。
"""


@rule("PD408", "dp-address", "error", zh=ZH)
def dp_address(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The DP master's or the HCCL address cannot be reached by other nodes.

    ## What it does

    In a data-parallel layout that certainly spans several machines it checks whether --data-parallel-address or
    HCCL_IF_IP is a loopback address (127.0.0.1, localhost) or 0.0.0.0. Without --data-parallel-address 127.0.0.1 is the
    default. For an engine that --nnodes spreads over machines, it looks at --master-addr, with the same default.

    ## Why it matters

    The other nodes would connect to their own loopback address: the group never comes together, and all of them time
    out.

    ## Example

    ```bash
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 4 --data-parallel-size-local 2 \
      --data-parallel-address 127.0.0.1 --data-parallel-rpc-port 13389
    ```

    ## Use instead

    ```bash
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 4 --data-parallel-size-local 2 \
      --data-parallel-address 192.0.2.10 --data-parallel-rpc-port 13389
    ```

    ## Releases

    All.

    ## Sources

    vllm/config/parallel.py (data_parallel_master_ip is 127.0.0.1 by default) at 0.23.0, 0.27.1 and 0.32.0.
    """
    if not spans_machines(node, deployment):
        return
    if node.machines != 1:
        yield from _meeting(node)
        yield from _hccl(node)
        return
    backend = node.value("data-parallel-backend")
    written = master(node)
    address = written.string() if written else None
    help = Msg(
        "write the address at which the other nodes reach the node with rank 0, the same on all nodes",
        "写 rank 0 所在节点能被其他节点访问到的地址，各节点写得一样",
    )
    related = seen(node, "data-parallel-size-local", "ranks of this node", "本节点的 rank 数")
    if address is not None and is_unreachable(address):
        yield Hit(
            at(node, "data-parallel-address"),
            Msg(
                f"the DP master address {address} cannot be reached from the group's other nodes",
                f"DP master 地址 {address} 无法从组内其他节点访问",
            ),
            help,
            related=related,
        )
    elif written is None and not node.partial and backend is None and node.arg("master-addr") is None:
        yield Hit(
            at(node, "data-parallel-size"),
            Msg(
                f"no --data-parallel-address in a group of several nodes: the default {DEFAULT_ADDRESS} cannot be "
                "reached from the others",
                f"多个节点的组没有写 --data-parallel-address：默认的 {DEFAULT_ADDRESS} 无法从其他节点访问",
            ),
            help,
            related=related,
        )
    yield from _hccl(node)


def _meeting(node: NodeLaunch) -> Iterator[Hit]:
    """Look at where the ranks of one engine over several machines meet."""
    written = node.value("master-addr")
    address = written.string() if written else None
    known = written is not None and (address is None or not is_unreachable(address))
    if known or (written is None and node.partial):
        return
    if written is None and node.value("distributed-executor-backend") is not None:
        return
    yield Hit(
        at(node, "master-addr", "nnodes"),
        Msg(
            f"the nodes of this engine meet at {address or DEFAULT_ADDRESS}, which the others cannot reach",
            f"这个引擎各节点汇合的地址 {address or DEFAULT_ADDRESS} 无法从其他节点访问",
        ),
        Msg(
            "set --master-addr to the address at which the other nodes reach node 0, the same on all nodes",
            "写 --master-addr，值为其他节点能访问到的节点 0 的地址，各节点写得一样",
        ),
    )


def _hccl(node: NodeLaunch) -> Iterator[Hit]:
    variable = node.env.get("HCCL_IF_IP")
    text = variable.value.string() if variable else None
    if variable is not None and text and is_unreachable(text):
        yield Hit(
            variable.value.origin,
            Msg(
                f"HCCL_IF_IP {text} cannot be reached from the group's other nodes",
                f"HCCL_IF_IP {text} 无法从组内其他节点访问",
            ),
            Msg("write this node's address on the network", "写本节点在网络中的地址"),
        )
