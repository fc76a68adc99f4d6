"""PD410 dp-master-elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ, same
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.sides import DEFAULT_RPC_PORT, exclusive, master, own_address, side_of

PORT = "data-parallel-rpc-port"

ZH = """
DP master 的地址或端口与 rank 0 所在节点的不符

## 作用

有三种情况：rank 不从 0 开始的节点把自己的地址写成 DP master（而 rank 0 不在这台机器上）；
组里写的 master 地址属于另一侧的节点，而不属于本组的任何节点；
地址正确，但 --data-parallel-rpc-port 与 rank 0 所在节点的不同。节点自己的地址取自 HCCL_IF_IP、VLLM_HOST_IP 或配置文件。

## 为什么重要

master 由 rank 0 所在的节点担任：写成别的地址时，各节点会等待一个不存在的 master，或者加入错误的组，直到超时。

## 适用版本

所有版本。

## 来源

vllm/v1/engine/utils.py（rank 0 所在节点监听），0.23.0、0.27.1、0.32.0。
"""


@rule("PD410", "dp-master-elsewhere", "error", zh=ZH, needs="C P")
def dp_master_elsewhere(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The DP master address or port is not that of the node with rank 0.

    ## What it does

    Three cases: a node whose ranks do not start at 0 names its own address as DP master, while rank 0 does not run on
    this machine; the master address of a group belongs to a node on the other side, not to one in the group; or the
    address is right but --data-parallel-rpc-port differs from that of the node with rank 0. A node's own address is
    taken from HCCL_IF_IP, VLLM_HOST_IP or the profile.

    ## Why it matters

    The node with rank 0 is the master: with any other address, nodes wait for a master that does not exist, or join the
    wrong group, until they time out.

    ## Example

    ```bash
    # file: node0.sh
    export HCCL_IF_IP=192.0.2.11
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 2 --data-parallel-size-local 1 \
      --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
    ```

    ```bash
    # file: node1.sh
    export HCCL_IF_IP=192.0.2.12
    vllm serve /models/deepseek-v3.1-w8a8 --headless --data-parallel-size 2 --data-parallel-size-local 1 \
      --data-parallel-start-rank 1 --data-parallel-address 192.0.2.12 --data-parallel-rpc-port 13389
    ```

    ## Use instead

    ```bash
    # file: node0.sh
    export HCCL_IF_IP=192.0.2.11
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 2 --data-parallel-size-local 1 \
      --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
    ```

    ```bash
    # file: node1.sh
    export HCCL_IF_IP=192.0.2.12
    vllm serve /models/deepseek-v3.1-w8a8 --headless --data-parallel-size 2 --data-parallel-size-local 1 \
      --data-parallel-start-rank 1 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
    ```

    ## Releases

    All.

    ## Sources

    vllm/v1/engine/utils.py (the node of rank 0 listens) at 0.23.0, 0.27.1 and 0.32.0.
    """
    written, data = master(node), node.data
    address = written.string() if written else None
    if not address or not data or data < 2:
        return
    own = own_address(node)
    mates = [m for m in deployment.nodes if m.data == data and side_of(m) == side_of(node)]
    first = [m for m in mates if first_rank(m) == 0 and not m.switch("headless")]
    if own == address and (first_rank(node) or 0) > 0 and _away(node, first):
        yield _own(node, address, first)
    elif own != address:
        yield from _foreign(node, address, mates, deployment)
    if (first_rank(node) or 0) > 0:
        yield from _port(node, address, [m for m in mates if first_rank(m) == 0])


def _port(node: NodeLaunch, address: str, first: list[NodeLaunch]) -> Iterator[Hit]:
    """Find out whether the group's only master listens on another port than this node dials."""
    masters = [m for m in first if (written := master(m)) is not None and same(written, address)]
    dialled = node.number(PORT, DEFAULT_RPC_PORT)
    if len(masters) != 1 or len(first) != 1 or masters[0].external_dp != node.external_dp:
        return
    listens = masters[0].number(PORT, DEFAULT_RPC_PORT)
    if not differ(dialled, listens):
        return
    yield Hit(
        at(node, PORT, "data-parallel-address"),
        Msg(
            f"this node looks for the DP master on port {dialled}, but the node with rank 0 uses port {listens}",
            f"本节点连接 DP master 的端口 {dialled}，但 rank 0 所在节点用的是端口 {listens}",
        ),
        Msg(f"write --{PORT} {listens}", f"写 --{PORT} {listens}"),
        related=((at(masters[0], PORT, "data-parallel-address"), Msg("rank 0 runs here", "rank 0 在这里运行")),),
    )


def _away(node: NodeLaunch, first: list[NodeLaunch]) -> bool:
    """Whether rank 0 surely does not run on the machine of ``node``."""
    here = own_address(node)
    if any((own_address(m) == here or (m.host and m.host == node.host)) and not exclusive(m, node) for m in first):
        return False
    return bool(node.switch("headless")) or any(own_address(m) not in (None, own_address(node)) for m in first)


def _own(node: NodeLaunch, address: str, first: list[NodeLaunch]) -> Hit:
    right = next((found for m in first if (found := own_address(m)) not in (None, address)), None)
    place = tuple((m.origin, Msg("rank 0 runs here", "rank 0 在这里运行")) for m in first[:1])
    return Hit(
        at(node, "data-parallel-address"),
        Msg(
            f"the DP master {address} is this node itself, but rank 0 runs elsewhere",
            f"DP master {address} 就是本节点自己，但 rank 0 不在本节点上",
        ),
        Msg(
            f"write the address of the node with rank 0{f': {right}' if right else ''}",
            f"写 rank 0 所在节点的地址{f'：{right}' if right else ''}",
        ),
        related=place,
    )


def _foreign(node: NodeLaunch, address: str, mates: list[NodeLaunch], deployment: Deployment) -> Iterator[Hit]:
    """Find out whether the address belongs to a node of another group, and to none of the node's own."""
    known = [own_address(m) for m in mates]
    if None in known or address in known:
        return
    owner = next((m for m in deployment.nodes if m not in mates and own_address(m) == address), None)
    if owner is None or side_of(owner) == side_of(node):
        return
    right = next((found for m, found in zip(mates, known, strict=True) if first_rank(m) == 0), None)
    yield Hit(
        at(node, "data-parallel-address"),
        Msg(
            f"the DP master {address} belongs to another group ({side_of(owner) or 'another engine'})",
            f"DP master {address} 属于另一组的节点（{side_of(owner) or '另一个引擎'}）",
        ),
        Msg(
            f"write the address of this group's node with rank 0{f': {right}' if right else ''}",
            f"写本组 rank 0 所在节点的地址{f'：{right}' if right else ''}",
        ),
        related=((owner.origin, Msg("the node with that address", "拥有这个地址的节点")),),
    )
