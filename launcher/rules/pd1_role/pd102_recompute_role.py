"""PD102 recompute-role."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node, Origin
from pd_launch.schemas.engine.additional import switch_of
from pd_launch.schemas.releases.schedulers import PRODUCER_IGNORED

ZH = """
在不支持的角色上打开了重计算调度器

## 作用

当 `recompute_scheduler_enable` 在目标版本里生效，而顶层 `kv_role` 不是 `kv_consumer` 时报告：`kv_both`、没有
`--kv-transfer-config`，或 `kv_producer`。

## 为什么重要

重计算调度器只能用在解码节点上：其他角色会在启动时被拒绝；0.22 及更早的版本在预填充节点上会真的运行它，使回答出错。
从 0.23 起，预填充节点只给出警告并忽略这个开关。

## 适用版本

所有版本；`kv_producer` 从 <since recompute-ignored-on-prefill> 起只是警告。

## 来源

vllm_ascend/platform.py（0.18.0 第 461 行，0.22.1rc1 第 677 行，0.23.0 第 689–710 行，0.25.1rc1 第 676–701 行）。
"""


@rule("PD102", "recompute-role", "error", zh=ZH, needs="C R")
def recompute_role(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The recompute scheduler is switched on for a role that does not support it.

    ## What it does

    Fires when `recompute_scheduler_enable` takes effect in the target release and the top-level `kv_role` is not
    `kv_consumer`: `kv_both`, no `--kv-transfer-config` at all, or `kv_producer`.

    ## Why it matters

    The recompute scheduler belongs on decode nodes only: other roles are refused at start, and up to 0.22 it really
    runs on prefill nodes and spoils answers. From 0.23 the switch is ignored on a prefill node, with a warning.

    ## Example

    ```bash
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
    ```

    ## Releases

    All of vllm-ascend; on `kv_producer` only a warning from <since recompute-ignored-on-prefill>.

    ## Sources

    vllm_ascend/platform.py at 0.18.0 (line 461), 0.22.1rc1 (677), 0.23.0 (689-710), 0.25.1rc1 (676-701).
    """
    target = deployment.target
    if not target.is_ascend:
        return
    switch = switch_of(node.additional, target)
    if not switch.on or switch.read is None:
        return
    tree = node.kv_transfer
    role = tree.get("kv_role") if tree else None
    if (tree is not None and not tree.known) or (role is not None and not role.known):
        return
    written = role.string() if role else None
    if written == "kv_consumer" or (tree is not None and written not in (None, "kv_both", "kv_producer")):
        return  # a wrong role is PD101's
    if written == "kv_producer" and PRODUCER_IGNORED.holds(target):
        yield Hit(
            switch.read.origin,
            Msg(
                "the recompute scheduler is ignored on a prefill node (kv_role is kv_producer)",
                "预填充节点（kv_role 为 kv_producer）会忽略重计算调度器",
            ),
            _remove(),
            severity="warning",
            related=_role_place(role),
        )
        return
    have = f"kv_role is {written}" if written else "there is no --kv-transfer-config"
    have_zh = f"这里 kv_role 是 {written}" if written else "这里没有 --kv-transfer-config"
    yield Hit(
        switch.read.origin,
        Msg(
            f"the recompute scheduler needs kv_role kv_consumer, but {have}",
            f"重计算调度器需要 kv_role 为 kv_consumer，但{have_zh}",
        ),
        _remove(),
        related=_role_place(role),
    )


def _remove() -> Msg:
    return Msg(
        "remove recompute_scheduler_enable here; it belongs on decode nodes (kv_consumer)",
        "删掉这里的 recompute_scheduler_enable；它只用在解码节点（kv_consumer）上",
    )


def _role_place(role: Node | None) -> tuple[tuple[Origin, Msg], ...]:
    return ((role.origin, Msg("the role is set here", "角色在这里设置")),) if role else ()
