"""PD601 pair-connector."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.pairs import PREFILL, pairs
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.pairs import POOLS, canonical, transfer_connectors

ZH = """
预填充与解码使用不同的连接器

## 作用

比较两侧负责传输 KV 的连接器，MultiConnector 看它的子连接器；卸载连接器和只在本机起作用的连接器不算。
两侧没有相同的连接器时报告。

## 为什么重要

不同的连接器使用不同的协议：解码节点取不到 KV，每个请求都会失败或超时。

## 适用版本

所有版本。

## 来源

vllm/distributed/kv_transfer 与 vllm_ascend/distributed/kv_transfer 中各连接器的握手，各自不同。
"""


@rule("PD601", "pair-connector", "error", zh=ZH, needs="P")
def pair_connector(deployment: Deployment) -> Iterator[Hit]:
    """Prefill and decode use different connectors.

    ## What it does

    Compares the connectors that carry KV on both sides, the children of a MultiConnector included; offload connectors
    and those that work within one engine are ignored. It fires where the sides have none in common.

    ## Why it matters

    Different connectors speak different protocols: the decode node gets no KV, and every request fails or times out.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeLayerwiseConnector", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    The handshakes of the connectors in vllm/distributed/kv_transfer and vllm_ascend/distributed/kv_transfer.
    """
    for prefill, decode in pairs(deployment):
        left, right = transfer_connectors(prefill), transfer_connectors(decode)
        if not left or not right:
            continue
        left, right = _direct(left, right)
        names, others = {canonical(c) for c in left}, {canonical(c) for c in right}
        if names & others:
            continue
        listed, wanted = series(sorted(others)), series(sorted(names))
        yield Hit(
            _place(right[0]),
            Msg(
                f"decode uses {listed.en}, prefill uses {wanted.en}",
                f"解码侧使用 {listed.zh}，预填充侧使用 {wanted.zh}",
            ),
            Msg(
                f"use one connector on both sides, for example {sorted(names)[0]}",
                f"两侧用同一个连接器，例如 {sorted(names)[0]}",
            ),
            related=((_place(left[0]), PREFILL),),
        )


def _direct(left: list[Connector], right: list[Connector]) -> tuple[list[Connector], list[Connector]]:
    """Leave pools out where both sides have another connector too: a pool alone does not hand a request over."""
    direct = [c for c in left if c.name not in POOLS], [c for c in right if c.name not in POOLS]
    return direct if all(direct) else (left, right)


def _place(connector: Connector) -> Origin:
    name = connector.tree.get("kv_connector")
    return name.origin if name is not None else connector.tree.origin
