"""PD606 pair-roles."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import renamed, set_value
from pd_launch.launcher.rules.pd6_pair.pairs import SIDE_ZH
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.sides import ROLE_SIDES, named_side

ZH = """
给出的两侧都是生产者，或者都是消费者

## 作用

输入把引擎分成预填充与解码两侧（按配置段、分组、标签或文件名），而所有引擎的 kv_role 都是 kv_producer，
或者都是 kv_consumer 时报告。
一侧有几个引擎，或者只给出一侧，都没有问题；但只给出一侧时，名称是 decode 却是生产者，或名称是 prefill 却是消费者，
会给出警告。有 Dynamo 的预填充 worker 时，没有 `--disaggregation-mode` 的 worker 也会给出警告。

## 为什么重要

两侧都是生产者，就没有引擎去取 KV；都是消费者，就没有引擎产生 KV：请求会一直等到超时。

## 适用版本

所有版本。

## 来源

vllm/config/kv_transfer.py（is_kv_producer、is_kv_consumer），0.23.0、0.27.1、0.32.0。
"""

_MODES = ("disaggregation-mode", "is-decode-worker", "is-prefill-worker", "multimodal-worker", "route-to-encoder")
"""Options of Dynamo's worker that say what it is for."""
RIGHT = {"prefill": "kv_producer", "decode": "kv_consumer"}


@rule("PD606", "pair-roles", "error", zh=ZH, needs="P")
def pair_roles(deployment: Deployment) -> Iterator[Hit]:
    """Files given as the two sides are both producers or both consumers.

    ## What it does

    Fires where the input divides its engines into prefill and decode (by section, group, label or file name), and the
    kv_role of all of them is kv_producer, or kv_consumer. Several engines of one side are fine, and so is a single
    side; a warning where that side is named decode and is a producer, or named prefill and is a consumer. Workers of
    Dynamo without `--disaggregation-mode` next to one for prefill are a warning too.

    ## Why it matters

    With two producers no side fetches KV, with two consumers none produces it: requests wait until they time out.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
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

    vllm/config/kv_transfer.py (is_kv_producer, is_kv_consumer) at 0.23.0, 0.27.1 and 0.32.0.
    """
    yield from _aggregated(deployment)
    named = [node for node in deployment.nodes if named_side(node) is not None and node.kv_transfer is not None]
    roles = {node.role for node in deployment.nodes if node.kv_transfer is not None}
    if len(roles) != 1 or {named_side(node) for node in named} != {"prefill", "decode"}:
        yield from _contrary(named, roles)
        return
    role = next(iter(roles))
    if role not in ROLE_SIDES:
        return
    wrong = [node for node in named if named_side(node) != ROLE_SIDES[role]]
    right = next(node for node in named if named_side(node) == ROLE_SIDES[role])
    for node in wrong:
        yield _hit(node, right, role, deployment)


def _aggregated(deployment: Deployment) -> Iterator[Hit]:
    """Yield workers of Dynamo that are given no mode where another is given prefill: they are aggregated ones."""
    workers = [node for node in deployment.nodes if node.program == "dynamo" and not node.unread]
    modes = [mode for node in workers if (mode := node.value("disaggregation-mode")) is not None]
    prefill = next((mode for mode in modes if mode.value == "prefill"), None)
    if prefill is None or any(mode.value not in ("prefill", "encode") for mode in modes):
        return
    for node in workers:
        if any(node.arg(name) is not None for name in _MODES) or node.kv_transfer is None:
            continue
        yield Hit(
            node.origin,
            Msg(
                (
                    "this worker has no --disaggregation-mode: next to a prefill worker it must be decode, not "
                    "aggregated"
                ),
                "这个 worker 没有 --disaggregation-mode：与预填充 worker 配合时应当是 decode，而不是默认的聚合模式",
            ),
            Msg("add --disaggregation-mode decode", "加上 --disaggregation-mode decode"),
            severity="warning",
            related=((prefill.origin, Msg("the prefill worker", "预填充 worker")),),
        )


def _contrary(named: list[NodeLaunch], roles: set[str | None]) -> Iterator[Hit]:
    """Yield the one side that is given, where its role is the other side's: copied from there, most likely."""
    sides = {named_side(node) for node in named}
    role = next(iter(roles)) if len(roles) == 1 else None
    if len(sides) != 1 or role not in ROLE_SIDES or ROLE_SIDES[role] in sides:
        return
    side = next(iter(sides)) or "decode"
    right = RIGHT[side]
    for node in named:
        value = node.kv_transfer.get("kv_role") if node.kv_transfer else None
        yield Hit(
            value.origin if value else node.origin,
            Msg(
                f"this is named {side}, but its kv_role is {role}",
                f"从名称看这是{SIDE_ZH[side]}侧，但 kv_role 是 {role}",
            ),
            Msg(f"write {right}, or rename it", f"写 {right}，或者改名"),
            severity="warning",  # and no fix: the name may be what is wrong
        )


def _hit(node: NodeLaunch, other: NodeLaunch, role: str, deployment: Deployment) -> Hit:
    side = named_side(node) or "decode"
    value = node.kv_transfer.get("kv_role") if node.kv_transfer else None
    beside = other.kv_transfer.get("kv_role") if other.kv_transfer else None
    origin = value.origin if value is not None else node.origin
    return Hit(
        origin,
        Msg(f"this is the {side} side, but both sides are {role}", f"这里是{SIDE_ZH[side]}侧，但两侧都是 {role}"),
        Msg(f"write kv_role {RIGHT[side]} here", f"这里写 kv_role {RIGHT[side]}"),
        related=((beside.origin, Msg("the other side", "另一侧")),) if beside is not None else (),
        fix=renamed(set_value(value, RIGHT[side]), RIGHT[side]) if value is not None else None,
    )
