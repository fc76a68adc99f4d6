"""PD212 pd-sizes-hidden."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, insert_entries
from pd_launch.launcher.rules.pd2_connectors.pd207_pd_sizes_own_side import FLAGS, OWN_SIDES
from pd_launch.launcher.rules.pd2_connectors.pd208_pd_tp_ratio import why_not
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import MULTI, SIZED_CONNECTORS, Connector, connectors
from pd_launch.schemas.engine.sides import PairSide, of_side
from pd_launch.schemas.models.known import model_of

SIDES: tuple[PairSide, PairSide] = ("prefill", "decode")

ZH = """
两侧的并行大小只写在 MultiConnector 的子项里

## 作用

当 MultiConnector 的子连接器写了 `prefill`、`decode` 的并行大小，而顶层的 `kv_connector_extra_config` 里没有时报告。

## 为什么重要

vllm-ascend 自己的检查和 KV 头比例的推导只看顶层，看不到子项里的大小：写错了也不会被发现；GQA 模型两侧 TP 不同时，
比例会被当成 1。

## 示例

```bash
# target: 0.26.0rc1
vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
  "kv_connector_extra_config": {"connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",
    "kv_port": "36000", "kv_connector_extra_config": {
      "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}]}}'
```

## 应当这样写

```bash
# target: 0.26.0rc1
vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
  "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1},
    "connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",
    "kv_port": "36000", "kv_connector_extra_config": {
      "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}]}}'
```

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend/utils.py 的 check_kv_extra_config 与 ascend_config.py（0.18.0 至 0.27.1rc1）；对 GQA 的影响由代码推断。
"""


@rule("PD212", "pd-sizes-hidden", "warning", zh=ZH, confidence="medium", needs="C R")
def pd_sizes_hidden(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The sizes of both sides are set only inside a MultiConnector's child.

    ## What it does

    Fires when a child of a MultiConnector has `prefill` or `decode` sizes and the top level's
    `kv_connector_extra_config` has none.

    ## Why it matters

    vllm-ascend's own checks and its KV head ratio look at the top level only, so they ignore sizes inside a child: a
    wrong one goes unnoticed, and for a GQA model with different TP on both sides the ratio is assumed to be 1.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [{"kv_connector": "MooncakeConnectorV1",
        "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
          "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}]}}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1},
        "decode": {"dp_size": 1, "tp_size": 1}, "connectors": [{"kv_connector": "MooncakeConnectorV1",
        "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
          "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}]}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    check_kv_extra_config in vllm_ascend/utils.py and ascend_config.py at 0.18.0 to 0.27.1rc1; the effect on GQA follows
    from the code and was not run.
    """
    found = connectors(node.kv_transfer)
    if not deployment.target.is_ascend or not found or found[0].name != MULTI:
        return
    top = found[0]
    if top.extra is None or any(top.option(side) is not None for side in SIDES):
        return
    for child in top.children:
        sizes = [child.option(side) for side in SIDES]
        if child.name not in SIZED_CONNECTORS or None in sizes:
            continue
        place = sizes[0].key or sizes[0].origin if sizes[0] else child.tree.origin
        yield Hit(
            place,
            Msg(
                ("these sizes are inside a child: the platform's checks and KV head ratio look only at the top level"),
                "这些大小写在子项里：vllm-ascend 的检查和 KV 头比例只看顶层",
            ),
            Msg(
                "repeat prefill and decode in the top level's kv_connector_extra_config, next to connectors",
                "在顶层的 kv_connector_extra_config 里、connectors 旁边再写一遍 prefill 和 decode",
            ),
            fix=_copy_up(top, child) if _hold(node, top, child, deployment) else None,
        )
        return


def _hold(node: NodeLaunch, top: Connector, child: Connector, deployment: Deployment) -> bool:
    """Whether the child's sizes are those of the engines, and go together: the platform refuses others on top."""
    for side in SIDES:
        own = side in OWN_SIDES.get(node.role or "", ())
        engines = [node] if own else of_side(deployment, side)
        for key, flag in FLAGS.items():
            size = child.option(side, key)
            if size is not None and engines and size.integer() not in [engine.number(flag, 1) for engine in engines]:
                return False
    prefill, decode = (size.integer() if (size := child.option(side, "tp_size")) else None for side in SIDES)
    return not prefill or not decode or why_not(top, prefill, decode, model_of(node), deployment.target) is None


def _copy_up(top: Connector, child: Connector) -> FixEdits | None:
    """Return the insertion of the child's sizes into the top level's options, as they are written."""
    sizes: dict[str, object] = {side: size for side in SIDES if (size := child.option(side)) is not None}
    edits = insert_entries(top.extra, sizes) if top.extra is not None and len(sizes) == len(SIDES) else None
    return fix(Msg("copy them to the top level", "复制到顶层"), edits)
