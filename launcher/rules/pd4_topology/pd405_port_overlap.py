"""PD405 port-overlap."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from pd_launch.launcher.rules.pd4_topology.same_default import same_default
from pd_launch.launcher.rules.pd4_topology.uses import USES, shown
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.port_range import PortRange
from pd_launch.schemas.engine.ports import bound_ports
from pd_launch.schemas.engine.proxies import behind_one_address
from pd_launch.schemas.engine.sides import same_machine

ZH = """
同一台机器上两个引擎绑定的端口重叠

## 作用

对同一台机器上的每两个引擎，比较它们真正绑定的端口：HTTP、DP rpc、`--master-port`、NIXL 的 side channel、KV 缓存事件
及其重放、vLLM 的 MooncakeConnector 的 bootstrap 服务、MoRIIO 的握手与通知端口、
数据并行的 supervisor、从其他节点取 KV 的缓存层，以及 kv_port 的范围；默认值也算在内。kv_port 只看真正监听的一侧：
MooncakeConnectorV1 与 MooncakeHybridConnector 由生产者监听，MooncakeLayerwiseConnector 由消费者监听。
一个引擎自己的端口互相重叠也会报告。输入里的代理或路由用同一个地址访问的引擎，视为在同一台机器上。

两个引擎看起来在同一台机器上，又都用连接器的默认端口时，报告为警告：预填充与解码引擎的设备不同、`--port` 不同，
而 NIXL 对外公布的地址又是 `localhost`；或者一个 Python 文件里有两侧的引擎。

## 为什么重要

后启动的那个引擎会绑定失败并退出；kv_port 重叠时，会向错误的引擎取 KV，或者时好时坏。

## 适用版本

所有版本。

## 来源

各连接器的端口公式：vllm_ascend/distributed/kv_transfer/kv_p2p，0.18.0 到 0.27.1rc1；NixlConnector 的 side channel：
vLLM 0.32.0；kv_events.py、mooncake_connector.py、moriio_common.py、
kv_offload/tiering/p2p/manager.py：vLLM 0.18.0 到 0.33.0。
"""


@rule("PD405", "port-overlap", "error", zh=ZH, needs="P")
def port_overlap(deployment: Deployment) -> Iterator[Hit]:
    """Two engines on one machine bind the same port.

    ## What it does

    For every two engines on one machine it compares the ports that they really bind: HTTP, DP rpc, `--master-port`,
    NIXL's side channel, KV cache events and their replay, the bootstrap server of vLLM's MooncakeConnector, MoRIIO's
    handshake and notices, the supervisor of data parallelism, tiers that fetch from peers, and the kv_port range of the
    side that listens: producers with MooncakeConnectorV1 and MooncakeHybridConnector, consumers with
    MooncakeLayerwiseConnector. Default ports are compared too. Ports of one engine that overlap among themselves are
    reported as well. Engines that a proxy or router of the input reaches at one address are taken to be on one machine.

    It is only a warning where two engines seem to share a machine and both keep a connector's default port: a prefill
    and a decode engine that are given different devices and different `--port`s, and that NIXL announces as
    `localhost`; or both sides in one Python file.

    ## Why it matters

    The second engine cannot bind and stops; where kv_port ranges overlap, KV goes to the wrong engine or fails
    intermittently.

    ## Example

    ```bash
    export HCCL_IF_IP=192.0.2.10
    ASCEND_RT_VISIBLE_DEVICES=0 vllm serve /models/m --port 9100 &
    ASCEND_RT_VISIBLE_DEVICES=1 vllm serve /models/m --port 9100 &
    ```

    ## Use instead

    ```bash
    export HCCL_IF_IP=192.0.2.10
    ASCEND_RT_VISIBLE_DEVICES=0 vllm serve /models/m --port 9100 &
    ASCEND_RT_VISIBLE_DEVICES=1 vllm serve /models/m --port 9101 &
    ```

    ## Releases

    All.

    ## Sources

    The connectors' port formulas in vllm_ascend/distributed/kv_transfer/kv_p2p at 0.18.0 to 0.27.1rc1; NixlConnector's
    side channel in vLLM 0.32.0; P2pNcclConnector's p2p_nccl_engine.py up to vLLM 0.23; kv_events.py,
    mooncake_connector.py, moriio_common.py and kv_offload/tiering/p2p/manager.py of vLLM 0.18.0 to 0.33.0.
    """
    bound = {id(node): bound_ports(node) for node in deployment.nodes}
    for ports in bound.values():
        for index, one in enumerate(ports):
            yield from _overlap(one, ports[index + 1 :])
    said: set[tuple[Origin, str]] = set()  # of many engines that bind one port, each is reported once
    compared: set[frozenset[int]] = set()
    for first, second in chain(same_machine(deployment), behind_one_address(deployment)):
        compared.add(frozenset((id(first), id(second))))
        for one in bound[id(second)]:
            hit = next(_overlap(one, bound[id(first)]), None) if (one.origin, one.use) not in said else None
            if hit is not None:
                said.add((one.origin, one.use))
                yield hit
    for first, second, hit in same_default(deployment):
        if frozenset((id(first), id(second))) not in compared:
            yield hit


def _overlap(one: PortRange, others: list[PortRange]) -> Iterator[Hit]:
    for other in others:
        both = range(max(one.first, other.first), min(one.ports.stop, other.ports.stop))
        if not both or (one.origin == other.origin and one.use != other.use):
            continue
        free = max(one.ports.stop, other.ports.stop)
        yield Hit(
            one.origin,
            Msg(
                f"{shown(one.ports).en} ({USES[one.use].what.en}) overlaps {shown(other.ports).en} "
                f"({USES[other.use].what.en}) on the same machine",
                f"{shown(one.ports).zh}（{USES[one.use].what.zh}）与同一台机器上的 {shown(other.ports).zh}"
                f"（{USES[other.use].what.zh}）重叠",
            ),
            Msg(
                f"give one of them its own ports, for example {USES[one.use].option.en} {free}",
                f"让其中一个使用自己的端口，例如 {USES[one.use].option.zh} {free}",
            ),
            related=((other.origin, Msg("the other range", "另一个范围")),),
        )
