"""PD207 pd-sizes-own-side."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.pd2_connectors.pd208_pd_tp_ratio import why_not
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Arg, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import MULTI, SIZED_CONNECTORS, Connector, connectors
from pd_launch.schemas.models.known import model_of

FLAGS = {"tp_size": "tensor-parallel-size", "dp_size": "data-parallel-size", "pp_size": "pipeline-parallel-size"}
OWN_SIDES = {"kv_producer": ("prefill",), "kv_consumer": ("decode",), "kv_both": ("prefill", "decode")}

ZH = """
本侧声明的并行大小与本节点的参数不同

## 作用

把 P/D 连接器里为本节点角色声明的 `dp_size`、`tp_size`、`pp_size` 与本节点自己的并行参数比较：生产者看 `prefill`，
消费者看 `decode`，`kv_both` 两个都看。MultiConnector 的子项也会检查。

## 为什么重要

连接器用这些数字计算从哪个 rank 取哪些 KV 头，不一致就会取错或连不上。顶层不一致时 vllm-ascend 会拒绝启动，
子项里的则没有检查。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend/utils.py 的 check_kv_extra_config（0.27.1rc1，第 1217–1246 行），从 0.18.0 起就有。
"""


@rule("PD207", "pd-sizes-own-side", "error", zh=ZH, needs="C R")
def pd_sizes_own_side(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The sizes declared for this node's own side differ from its parallel flags.

    ## What it does

    Compares the `dp_size`, `tp_size` and `pp_size` that a P/D connector is given for this node's role with the node's
    own parallel flags: `prefill` on a producer, `decode` on a consumer, both for `kv_both`. Children of a
    MultiConnector are checked too.

    ## Why it matters

    The connector computes from these numbers which KV heads to take from which rank, so a difference takes the wrong
    ones or finds none. At the top level vllm-ascend refuses to start; inside a child nothing is checked.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --tensor-parallel-size 4 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --tensor-parallel-size 4 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
      "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 4}}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    check_kv_extra_config in vllm_ascend/utils.py (lines 1217-1246 at 0.27.1rc1), there since 0.18.0.
    """
    if not deployment.target.is_ascend:
        return
    for connector in connectors(node.kv_transfer):
        if connector.name in SIZED_CONNECTORS or (connector.parent is None and connector.name == MULTI):
            for side in OWN_SIDES.get(node.role or "", ()):
                yield from _side(node, connector, side, deployment.target)


def _side(node: NodeLaunch, connector: Connector, side: str, target: Target) -> Iterator[Hit]:
    for key, flag in FLAGS.items():
        value, arg = connector.option(side, key), node.arg(flag)
        if value is None or not value.known or (key == "dp_size" and "VLLM_DP_SIZE" in node.env):
            continue
        declared, own = value.integer(), node.number(flag, 1)
        if declared is None or own is None:
            continue
        if declared != own:
            right = key != "tp_size" or fits(node, connector, side, own, target)
            yield _differs(value, f"{side}.{key}", declared, arg, flag, own, right)
        elif isinstance(value.value, str) and connector.parent is None and key != "pp_size":
            yield _text(value, f"{side}.{key}", declared)


def fits(node: NodeLaunch, connector: Connector, side: str, own: int, target: Target) -> bool:
    """Whether a connector takes the TP size ``own`` of one side together with what it says of the other."""
    sizes = {name: connector.option(name, "tp_size") for name in ("prefill", "decode")}
    prefill, decode = (own if name == side else size.integer() if size else None for name, size in sizes.items())
    return not prefill or not decode or why_not(connector, prefill, decode, model_of(node), target) is None


def _differs(value: Node, key: str, declared: int, arg: Arg | None, flag: str, own: int, right: bool) -> Hit:
    has, has_zh = (f"--{flag} {own}", f"--{flag} {own}") if arg else (f"no --{flag} (1)", f"没有 --{flag}（即 1）")
    place = arg.value.origin if arg is not None and arg.value is not None else None
    return Hit(
        value.origin,
        Msg(f"{key} is {declared}, but this node has {has}", f"{key} 是 {declared}，但本节点{has_zh}"),
        Msg(
            f"make both the same: {key} {own}, or --{flag} {declared}",
            f"让两处一致：{key} 写 {own}，或 --{flag} 写 {declared}",
        ),
        related=((place, Msg("the node's own size", "本节点自己的大小")),) if place else (),
        fix=fix(Msg(f"write {own}", f"写成 {own}"), set_value(value, own)) if right else None,
    )


def _text(value: Node, key: str, declared: int) -> Hit:
    return Hit(
        value.origin,
        Msg(
            f'{key} is the string "{declared}": the platform compares it with a number and finds them different',
            f'{key} 是字符串 "{declared}"：vllm-ascend 拿它和数字比较，会认为两者不同',
        ),
        Msg(f"write {declared} without quotes", f"写成不带引号的 {declared}"),
        fix=fix(Msg(f"write {declared}", f"写成 {declared}"), set_value(value, declared), safe=True),
    )
