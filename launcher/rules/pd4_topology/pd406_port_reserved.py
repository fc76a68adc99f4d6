"""PD406 port-reserved."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd4_topology.uses import shown
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.connector_ports import kv_ports
from pd_launch.schemas.engine.devices import A3_DEVICES, DIRECT_PER_DEVICE, direct_ports
from pd_launch.schemas.engine.kv_transfer import connectors

LAST_PORT = 65536

ZH = """
kv_port 落在 AscendDirect 随机取用的端口范围内

## 作用

计算本节点真正绑定的 kv_port 范围，与 AscendDirect 的取用范围比较：从 20000 起，每个设备 1000 个端口（8 个设备到 27999，
16 个到 35999）。设备数未知时只比较 20000–27999。`ASCEND_BASE_PORT` 会移动这个范围。只发起连接、不监听的一侧不报告。

## 为什么重要

AscendDirect 在这个范围内随机占用端口：引擎有时会因为地址已被占用而启动失败，重试又可能成功。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm-ascend 文档 pd_disaggregation_mooncake_multi_node.md，0.18.0 到 0.27.1rc1；许多已发布的配置仍用范围内的端口，
因此是警告。`ASCEND_BASE_PORT`：https://github.com/vllm-project/vllm-ascend/issues/8938。
"""


@rule("PD406", "port-reserved", "warning", zh=ZH, needs="C H R")
def port_reserved(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The kv_port is in the range from which AscendDirect picks its own ports.

    ## What it does

    Computes the kv_port range that this node really binds and compares it with AscendDirect's range: from 20000, 1000
    ports for each device (8 devices up to 27999, 16 up to 35999). With the number of devices unknown, only 20000-27999
    is compared. `ASCEND_BASE_PORT` moves the range. A side that only dials out is not reported.

    ## Why it matters

    AscendDirect takes ports of this range at random, so the engine sometimes finds its address in use and does not
    start, and may start on the next try.

    ## Example

    ```bash
    export HCCL_IF_IP=192.0.2.11
    vllm serve /models/m --tensor-parallel-size 8 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "20002"}'
    ```

    ## Use instead

    ```bash
    export HCCL_IF_IP=192.0.2.11
    vllm serve /models/m --tensor-parallel-size 8 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    vllm-ascend's pd_disaggregation_mooncake_multi_node.md at 0.18.0 to 0.27.1rc1; many published configurations use
    ports of the range, hence only a warning. `ASCEND_BASE_PORT`: https://github.com/vllm-project/vllm-ascend/issues/8938.
    """
    if not deployment.target.is_ascend:
        return
    reserved, count = direct_ports(node, deployment)
    for connector in connectors(node.kv_transfer):
        bound = kv_ports(node, connector)
        if bound is None or not bound.binds:
            continue
        if bound.first >= reserved.stop or bound.ports.stop <= reserved.start:
            continue
        free = reserved.start + DIRECT_PER_DEVICE * (count or A3_DEVICES)
        fits = free + bound.count <= LAST_PORT
        instead = Msg(
            f"write a kv_port of {free} or above"
            if fits
            else f"write a kv_port below {reserved.start - bound.count + 1}",
            f"kv_port 写 {free} 或更大" if fits else f"kv_port 写小于 {reserved.start - bound.count + 1} 的值",
        )
        by = f"on {count} devices" if count else "at least"
        by_zh = f"{count} 个设备时" if count else "至少"
        yield Hit(
            bound.origin,
            Msg(
                f"KV transfer takes {shown(bound.ports).en}, but AscendDirect picks its own ports from "
                f"{reserved.start}-{reserved.stop - 1} ({by})",
                f"KV 传输使用{shown(bound.ports).zh}，但 AscendDirect 会从 {reserved.start}-{reserved.stop - 1} 中"
                f"随机取用端口（{by_zh}）",
            ),
            instead,
        )
