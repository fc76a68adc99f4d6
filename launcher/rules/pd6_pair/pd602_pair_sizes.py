"""PD602 pair-sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.pd2_connectors.pd207_pd_sizes_own_side import fits
from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import MULTI, SIZED_CONNECTORS, Connector, connectors
from pd_launch.schemas.engine.sides import OTHER, PairSide, of_side, side_of

ZH = """
一侧所写的对侧并行大小与对侧实际不符

## 作用

预填充侧的连接器里写有 `decode` 的 dp_size、tp_size、pp_size，解码侧的连接器里写有 `prefill` 的这些值：
把它们与对侧引擎自己的并行参数比较。
对侧有几个大小不同的实例时，只要与其中一个相符就不报告。解码节点没有写 `prefill` 的 pp_size 时，按 1 比较。

## 为什么重要

连接器用这些数字推算该从对侧哪个 rank 取哪些 KV：写错就会取错，或者连到没有程序监听的端口。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend/distributed/kv_transfer/kv_p2p 中各连接器的 rank 映射，0.18.0 到 0.27.1rc1。
"""

FLAGS = {
    "dp_size": "data-parallel-size",
    "tp_size": "tensor-parallel-size",
    "pp_size": "pipeline-parallel-size",
}
PIPELINED = ("MooncakeConnectorV1", "MooncakeHybridConnector")
"""Connectors that read prefill.pp_size, 1 where it is not written."""


@rule("PD602", "pair-sizes", "error", zh=ZH, needs="P R")
def pair_sizes(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """The sizes that one side declares for the other do not match the other side.

    ## What it does

    A prefill node's connector names dp_size, tp_size and pp_size of `decode`, a decode node's those of `prefill`: they
    are compared with the parallel flags of the other side's engines. Where the other side has instances of several
    sizes, one that fits is enough. Where a decode node gives no pp_size for `prefill`, it is taken as 1.

    ## Why it matters

    From these numbers the connector derives which KV to take from which rank of the other side: wrong ones take the
    wrong KV, or dial ports on which nothing listens.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve /models/m --tensor-parallel-size 8 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --tensor-parallel-size 4 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_consumer", "kv_port": "36100", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 4}}}'
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve /models/m --tensor-parallel-size 8 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 4}}}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --tensor-parallel-size 4 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_consumer", "kv_port": "36100", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 4}}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    The mapping of ranks in the connectors of vllm_ascend/distributed/kv_transfer/kv_p2p at 0.18.0 to 0.27.1rc1.
    """
    own = side_of(node)
    if own is None or not deployment.target.is_ascend:
        return
    side = OTHER[own]
    others = of_side(deployment, side)
    for connector in connectors(node.kv_transfer) if others else ():
        if connector.name not in SIZED_CONNECTORS and not (connector.parent is None and connector.name == MULTI):
            continue
        for key, flag in FLAGS.items():
            value = connector.option(side, key)
            if value is not None:
                for hit in _compare(value, side, key, flag, others):
                    real = others[0].number(flag, 1)
                    wrong = key == "tp_size" and real and not fits(node, connector, side, real, deployment.target)
                    yield replace(hit, fix=None) if wrong else hit
        if side == "prefill" and connector.name in PIPELINED:
            yield from _undeclared(connector, others)


def _undeclared(connector: Connector, others: list[NodeLaunch]) -> Iterator[Hit]:
    """Compare the one stage that is taken where a section has no pp_size."""
    section = connector.option("prefill")
    if section is None or not section.complete() or not isinstance(section.value, dict) or "pp_size" in section.value:
        return
    real = [other.pipeline for other in others]
    if not section.value or None in real or 1 in real:
        return
    yield Hit(
        section.origin,
        Msg(
            f"prefill has no pp_size here, which means 1, but the prefill side has --pipeline-parallel-size {real[0]}",
            f"这里的 prefill 没有 pp_size，即 1，但预填充侧是 --pipeline-parallel-size {real[0]}",
        ),
        Msg(f'write "pp_size": {real[0]} on both sides', f'两侧都写 "pp_size": {real[0]}'),
        related=((at(others[0], FLAGS["pp_size"]), Msg("the prefill side's own size", "预填充侧自己的大小")),),
    )


def _compare(value: Node, side: PairSide, key: str, flag: str, others: list[NodeLaunch]) -> Iterator[Hit]:
    declared = value.integer()
    real = [other.number(flag, 1) for other in others]
    if key == "dp_size" and any("VLLM_DP_SIZE" in other.env for other in others):
        return
    if declared is None or None in real or declared in real:
        return
    right = fix(Msg(f"write {real[0]}", f"写成 {real[0]}"), set_value(value, real[0]))
    yield Hit(
        value.origin,
        Msg(
            f"{side}.{key} is {declared} here, but the {side} side has --{flag} {real[0]}",
            f"这里的 {side}.{key} 是 {declared}，"
            f"但{'预填充' if side == 'prefill' else '解码'}一侧是 --{flag} {real[0]}",
        ),
        Msg(f"write {side}.{key} {real[0]} on both sides", f"两侧都写 {side}.{key} {real[0]}"),
        related=((at(others[0], flag), Msg(f"the {side} side's own size", "对侧自己的大小")),),
        fix=None if len(set(real)) > 1 else right,
    )
