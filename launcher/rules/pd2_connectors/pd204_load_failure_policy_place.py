"""PD204 load-failure-policy-place."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, insert_entries, joined, remove_entry
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import connectors

KEY = "kv_load_failure_policy"

ZH = """
kv_load_failure_policy 写在了子连接器里

## 作用

当 MultiConnector 的某个子项里写了 `kv_load_failure_policy` 时报告。

## 为什么重要

调度器只读顶层的 `kv_load_failure_policy`，子项里写的不会被读取：加载失败时，请求仍按默认的 `fail` 结束。

## 适用版本

所有版本。

## 来源

vLLM 的 v1/core/sched/scheduler.py（0.27.1，第 147 行）；在 0.23.0、0.27.1 和 0.32.0 上运行验证过。
"""


@rule("PD204", "load-failure-policy-place", "warning", zh=ZH)
def load_failure_policy_place(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""kv_load_failure_policy is set inside a child connector.

    ## What it does

    Fires when a child of a MultiConnector sets `kv_load_failure_policy`.

    ## Why it matters

    Only the top level's `kv_load_failure_policy` is read by the scheduler; a child's is ignored, and a failed
    load still ends the request, as the default `fail` says.

    ## Example

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [
        {"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer", "kv_load_failure_policy": "recompute"}]}}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_load_failure_policy": "recompute", "kv_connector_extra_config": {"connectors": [
        {"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer"}]}}'
    ```

    ## Releases

    All.

    ## Sources

    vLLM's v1/core/sched/scheduler.py (line 147 at 0.27.1); run on 0.23.0, 0.27.1 and 0.32.0.
    """
    top = node.kv_transfer.get(KEY) if node.kv_transfer else None
    for connector in connectors(node.kv_transfer):
        value = connector.tree.get(KEY)
        if connector.parent is None or value is None:
            continue
        yield Hit(
            value.key or value.origin,
            Msg(
                "kv_load_failure_policy inside a child is ignored; only the top level's takes effect",
                "子项里的 kv_load_failure_policy 会被忽略，只有顶层的生效",
            ),
            Msg(
                f"move it to the top level of --kv-transfer-config, next to kv_role{_model_note(top)}",
                "把它移到 --kv-transfer-config 的顶层，与 kv_role 并列",
            ),
            related=((top.origin, Msg("this one takes effect", "生效的是这里")),) if top else (),
            fix=_move(node, value, top),
        )


def _model_note(top: Node | None) -> str:
    return "" if top is None else ", or remove it: the top level has one already"


def _move(node: NodeLaunch, value: Node, top: Node | None) -> FixEdits | None:
    """Return the fix that moves the entry up, where the top level has none."""
    tree = node.kv_transfer
    if top is not None or tree is None:
        return None
    edits = joined(insert_entries(tree, {KEY: value}), remove_entry(value))
    return fix(Msg("move it to the top level", "移到顶层"), edits)
