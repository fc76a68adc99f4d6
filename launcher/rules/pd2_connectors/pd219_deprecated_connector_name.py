"""PD219 deprecated-connector-name."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.connectors import ASCEND_CONNECTORS

ZH = """
连接器名称是将被删除的别名

## 作用

当连接器的名称在目标版本里仍然可用，但只是另一个名称的别名时提示。

## 为什么重要

别名会给出警告，并会在以后的版本里删除，届时引擎无法启动。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend/distributed/kv_transfer/__init__.py（0.18.0 至 0.26.0rc1）。
"""


@rule("PD219", "deprecated-connector-name", "info", zh=ZH, needs="C R")
def deprecated_connector_name(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The connector's name is an alias that will be removed.

    ## What it does

    Fires when a connector's name still works in the target but is only an alias.

    ## Why it matters

    The alias works today, with a warning. A later release will drop it, and will then not start with it.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorStoreV1", "kv_role": "kv_both"}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    vllm_ascend/distributed/kv_transfer/__init__.py at 0.18.0 to 0.26.0rc1.
    """
    if not deployment.target.is_ascend:
        return
    for connector in connectors(node.kv_transfer):
        row, place = ASCEND_CONNECTORS.get(connector.name or ""), connector.tree.get("kv_connector")
        if row is None or not row.alias_of or place is None or connector.module is not None:
            continue
        rename = Msg(f"write {row.alias_of}", f"写成 {row.alias_of}")
        yield Hit(
            place.origin,
            Msg(
                f"{row.name} is an alias of {row.alias_of} that will be removed",
                f"{row.name} 是 {row.alias_of} 的别名，以后会删除",
            ),
            rename,
            fix=fix(rename, set_value(place, row.alias_of), safe=True),
        )
