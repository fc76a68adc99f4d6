"""PD203 multi-connector-child."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, remove_entry
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import MULTI, Connector, connectors
from pd_launch.schemas.releases.connector_options import ONCE

ZH = """
MultiConnector 的子连接器写错了

## 作用

检查 MultiConnector 的 `kv_connector_extra_config.connectors`：没有这个列表、列表为空、子项缺少 `kv_connector` 或
`kv_role`、子项里写了 `engine_id`，或者写了两个 HiSparseConnector。

## 为什么重要

这些错误会让引擎在启动时因断言或难懂的异常退出，空列表则会让混合 KV 缓存管理器失效。
子项里写的 `engine_id` 会与从顶层继承的冲突。vLLM 只接受一个 HiSparseConnector。

## 适用版本

所有版本。

## 来源

vLLM 的 kv_connector/v1/multi_connector.py；在 0.23.0、0.27.1 和 0.32.0 上运行验证过；
0.30.0 到 0.33.0 的 vllm/config/kv_transfer.py。
"""


@rule("PD203", "multi-connector-child", "error", zh=ZH, needs="C R")
def multi_connector_child(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A MultiConnector's children are not what it needs.

    ## What it does

    Looks at a MultiConnector's `kv_connector_extra_config.connectors`: the list is missing or empty, a child lacks
    `kv_connector` or `kv_role`, a child sets `engine_id`, or two children are HiSparseConnectors.

    ## Why it matters

    Each of these stops the engine at start with an assertion or an exception that does not name the cause, and an empty
    list disables the hybrid KV cache manager. A child's `engine_id` clashes with the one that it inherits. vLLM takes
    one HiSparseConnector only.

    ## Example

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [{"kv_connector": "AscendStoreConnector"}]}}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [
        {"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer"}]}}'
    ```

    ## Releases

    All.

    ## Sources

    vLLM's kv_connector/v1/multi_connector.py; run on 0.23.0, 0.27.1 and 0.32.0. vllm/config/kv_transfer.py at 0.30.0 to
    0.33.0.
    """
    for connector in connectors(node.kv_transfer):
        name, extra = connector.tree.get("kv_connector"), connector.extra
        if connector.name != MULTI or name is None or (extra is not None and not extra.known):
            continue
        if connector.module is not None:
            continue  # a class of somebody else, with options of its own
        listed = connector.option("connectors")
        if listed is None or (listed.known and not isinstance(listed.value, list)):
            yield Hit((listed or name).origin, *_no_list())
        elif listed.known and not listed.value:
            yield Hit(listed.origin, *_empty())
        else:
            for child in listed.elements():
                yield from _child(child, connector.text("kv_role"), deployment)
            yield from _repeated(connector, deployment)


def _repeated(multi: Connector, deployment: Deployment) -> Iterator[Hit]:
    """Find the second of a kind that vLLM takes once; it looks at the top level's own children only."""
    if multi.parent is not None:
        return
    for name, fact in ONCE.items():
        places = [child.tree.get("kv_connector") for child in multi.children if child.name == name]
        found = [place for place in places if place is not None]
        for place in found[1:] if fact.holds(deployment.target) else []:
            yield Hit(
                place.origin,
                Msg(f"a second {name}: vLLM takes only one", f"这是第二个 {name}：vLLM 只接受一个"),
                Msg("remove it, and give the first one all of the pool", "删掉它，把全部内存池给第一个"),
                related=((found[0].origin, Msg("the first one", "第一个在这里")),),
            )


def _child(child: Node, role: str | None, deployment: Deployment) -> Iterator[Hit]:
    if not child.known:
        return
    if not isinstance(child.value, dict):
        yield Hit(
            child.origin,
            Msg("a child of a MultiConnector must be an object", "MultiConnector 的子项必须是对象"),
            Msg('write {"kv_connector": …, "kv_role": …}', '写成 {"kv_connector": …, "kv_role": …}'),
        )
        return
    for key, example in (("kv_connector", "AscendStoreConnector"), ("kv_role", role or "kv_consumer")):
        found = child.get(key)
        if found is None or (found.known and found.value is None):
            yield Hit(
                (found or child).origin,
                Msg(f"this child has no {key}: every child needs its own", f"这个子项没有 {key}：每个子项都要写自己的"),
                Msg(f'add "{key}": "{example}"', f'加上 "{key}": "{example}"'),
            )
    engine = child.get("engine_id")
    if engine is not None:
        remove = Msg("remove engine_id from the child", "从子项里删掉 engine_id")
        yield Hit(
            engine.key or engine.origin,
            Msg(
                (
                    "engine_id inside a child: it is inherited from the top level, and the connector fails when it "
                    "is given twice"
                ),
                "子项里写了 engine_id：它会从顶层继承，写两次会让连接器报错",
            ),
            Msg("remove it here; the top level may have one", "删掉这里的；顶层可以写"),
            fix=fix(remove, remove_entry(engine), safe=True),
        )


def _no_list() -> tuple[Msg, Msg]:
    return (
        Msg(
            "this MultiConnector has no list of connectors in its kv_connector_extra_config",
            "这个 MultiConnector 的 kv_connector_extra_config 里没有 connectors 列表",
        ),
        Msg('write "connectors": [{"kv_connector": …}]', '写成 "connectors": [{"kv_connector": …}]'),
    )


def _empty() -> tuple[Msg, Msg]:
    return (
        Msg("the list of connectors is empty", "connectors 列表是空的"),
        Msg("list at least one connector", "至少写一个连接器"),
    )
