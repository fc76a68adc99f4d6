"""PD101 kv-role."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import renamed, set_value
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.values import Node, knowable
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.kv_transfer import ROLES, Connector, connectors
from pd_launch.schemas.releases.connector_options import ONE_ROLE

_WORDS = {"prefill": "kv_producer", "producer": "kv_producer", "decode": "kv_consumer", "consumer": "kv_consumer"}

ZH = """
缺少 kv_role，或者它不是三个取值之一

## 作用

当 `--kv-transfer-config` 顶层有 `kv_connector` 而没有 `kv_role`，或者任何一层的 `kv_role` 不是 `kv_producer`、
`kv_consumer`、`kv_both` 之一时报告；连接器只能担任一种角色时
（MoRIIOConnector、MooncakeConnectorV2、MooncakePullConnector）写了 `kv_both` 也报告。

## 为什么重要

vLLM 会拒绝这样的配置，引擎在启动时退出。

## 适用版本

所有版本。

## 来源

vllm/config/kv_transfer.py；在 0.23.0、0.27.1 和 0.32.0 上运行验证过。不能用 kv_both 的连接器是读源码得出的。
"""


@rule("PD101", "kv-role", "error", zh=ZH, needs="C R")
def kv_role(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """kv_role is missing, or is not one of the three roles.

    ## What it does

    Fires when `--kv-transfer-config` names a `kv_connector` at the top level but no `kv_role`, and when a `kv_role` at
    any level is not one of `kv_producer`, `kv_consumer` and `kv_both`. Also fires on `kv_both` with a connector that
    must be one or the other: MoRIIOConnector, MooncakeConnectorV2 and MooncakePullConnector.

    ## Why it matters

    vLLM refuses such a configuration, and the engine exits at start.

    ## Example

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector"}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/config/kv_transfer.py; run on 0.23.0, 0.27.1 and 0.32.0. That kv_both does not work was read in the
    connectors' sources.
    """
    for connector in connectors(node.kv_transfer):
        role = connector.tree.get("kv_role")
        if role is None and not all(knowable(key) for key, _ in connector.tree.items()):
            continue  # the key that nobody knows may be it
        if role is None or (role.known and role.value is None):
            if connector.parent is None and connector.name is not None:  # a child without one is PD203's
                yield _missing(node, connector)
        elif role.known and role.value not in ROLES:
            yield _wrong(role, deployment)
        elif role.value == "kv_both":
            yield from _both(role, connector, deployment)


def _missing(node: NodeLaunch, connector: Connector) -> Hit:
    place = connector.tree.get("kv_connector")
    likely = {"prefill": "kv_producer", "decode": "kv_consumer"}.get(node.side or "")
    write = (
        f'add "kv_role": "{likely}"' if likely else 'add "kv_role": "kv_producer" on prefill, "kv_consumer" on decode'
    )
    write_zh = (
        f'加上 "kv_role": "{likely}"' if likely else '加上 "kv_role"：预填充用 "kv_producer"，解码用 "kv_consumer"'
    )
    return Hit(
        place.origin if place else connector.tree.origin,
        Msg(f"kv_connector {connector.name} has no kv_role", f"kv_connector {connector.name} 没有 kv_role"),
        Msg(write, write_zh),
    )


def _both(role: Node, connector: Connector, deployment: Deployment) -> Iterator[Hit]:
    """Yield ``kv_both`` of a connector that is a producer or a consumer, and not both."""
    fact = ONE_ROLE.get(connector.name or "")
    if fact is not None and fact.holds(deployment.target) and connector.tree.get("kv_connector_module_path") is None:
        yield Hit(
            role.origin,
            Msg(
                f"{connector.name} must be a producer or a consumer: kv_both does not work",
                f"{connector.name} 只能是生产者或消费者：不能写 kv_both",
            ),
            Msg("write kv_producer on prefill and kv_consumer on decode", "预填充写 kv_producer，解码写 kv_consumer"),
        )


def _wrong(role: Node, deployment: Deployment) -> Hit:
    text = role.value if isinstance(role.value, str) else str(role.plain())
    plain = text.strip().lower().replace("-", "_")
    near = _WORDS.get(plain.removeprefix("kv_")) or nearest(plain, ROLES)
    choice = series(ROLES)
    return Hit(
        role.origin,
        Msg(f"{text!r} is not a valid kv_role", f"{text!r} 不是有效的 kv_role"),
        Msg(f"did you mean {near}?", f"是不是想写 {near}？")
        if near
        else Msg(f"write one of {choice.en}", f"请写 {choice.zh} 之一"),
        fix=renamed(set_value(role, near), near) if near else None,
    )
