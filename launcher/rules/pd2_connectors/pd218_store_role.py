"""PD218 store-role."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.machines import same_machine
from pd_launch.schemas.engine.pools import idle_consumer, is_pool, lookup_port
from pd_launch.schemas.engine.port_range import first_rank

ZH = """
KV 池连接器的角色或设置有问题

## 作用

检查 vllm-ascend 的 KV 池连接器：消费者既不加载也不写入；同一台机器上的两个实例使用同一个 `lookup_rpc_port`；
UCMConnector 没有 `UCM_CONFIG_FILE`，SfaRemoteD2HConnector 没有 `transfer_backend`。

## 为什么重要

消费者没有打开开关，就只是接入了池，什么也不做；两个实例共用一个查询端口，套接字路径就相同，后启动的会出错；
缺少后端设置则无法启动。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend 的 ascend_store/pool_scheduler.py（0.26.0rc1 第 538、966、1194–1209 行）与 pool_worker.py；
sfa_pd_rd2h/worker.py（0.26.0rc1）。
"""

SETTINGS = {
    "UCMConnector": ("UCM_CONFIG_FILE", "/etc/ucm/ucm.yaml"),
    "SfaRemoteD2HConnector": ("transfer_backend", "memfabric"),
}


@rule("PD218", "store-role", "warning", zh=ZH, confidence="medium", needs="C P R")
def store_role(deployment: Deployment) -> Iterator[Hit]:
    r"""A KV pool connector's role or settings do not work.

    ## What it does

    Looks at vllm-ascend's KV pool connectors: a `kv_consumer` that neither loads nor stores, two instances on one
    machine with the same `lookup_rpc_port`, UCMConnector without `UCM_CONFIG_FILE`, and SfaRemoteD2HConnector without
    `transfer_backend`.

    ## Why it matters

    A consumer without a switch takes part in the pool and does nothing; two instances with one lookup port use the same
    socket path, so the second fails; without its backend's setting a connector does not start.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0"}}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0", "consumer_is_to_load": true}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    vllm_ascend's ascend_store/pool_scheduler.py (lines 538, 966 and 1194-1209 at 0.26.0rc1) and pool_worker.py;
    sfa_pd_rd2h/worker.py at 0.26.0rc1.
    """
    if not deployment.target.is_ascend:
        return
    seen: list[tuple[NodeLaunch, Connector]] = []
    for node in deployment.nodes:
        for connector in connectors(node.kv_transfer):
            name = connector.tree.get("kv_connector")
            if name is None:
                continue
            if idle_consumer(connector):
                yield Hit(name.origin, *_idle(connector))
            yield from _setting(connector)
            if is_pool(connector):
                for other, before in seen:
                    if _clash(other, before, node, connector):
                        yield _shared(before, connector)
                        break
                seen.append((node, connector))


def _setting(connector: Connector) -> Iterator[Hit]:
    needed = SETTINGS.get(connector.name or "") if connector.module is None else None
    name, extra = connector.tree.get("kv_connector"), connector.extra
    if needed is None or name is None or (extra is not None and not isinstance(extra.value, dict)):
        return
    key, example = needed
    if connector.option(key) is None:
        yield Hit(
            name.origin,
            Msg(
                f"{connector.name} needs {key} in its kv_connector_extra_config",
                f"{connector.name} 的 kv_connector_extra_config 里需要 {key}",
            ),
            Msg(f'add "{key}": "{example}"', f'加上 "{key}": "{example}"'),
        )


def _clash(a: NodeLaunch, first: Connector, b: NodeLaunch, second: Connector) -> bool:
    """Whether two engines surely run on one machine and would use the same socket path."""
    port = lookup_port(second)
    if port is None or lookup_port(first) != port or a is b:
        return False
    rank, other = first_rank(a), first_rank(b)
    return rank is not None and rank == other and same_machine(a, b)


def _idle(connector: Connector) -> tuple[Msg, Msg]:
    return (
        Msg(
            f"{connector.name} on a consumer neither loads nor stores unless told to",
            f"消费者上的 {connector.name} 如果不打开开关，就既不加载也不写入",
        ),
        Msg(
            'add "consumer_is_to_load": true or "consumer_is_to_put": true, or leave the pool out on decode nodes',
            '加上 "consumer_is_to_load": true 或 "consumer_is_to_put": true，或者不在解码节点上配置 KV 池',
        ),
    )


def _shared(before: Connector, connector: Connector) -> Hit:
    port, first = connector.option("lookup_rpc_port"), before.option("lookup_rpc_port") or before.tree
    number = lookup_port(connector)
    return Hit(
        (port or connector.tree).origin,
        Msg(
            f"lookup_rpc_port {number} is used by two instances on one machine, so they share a socket path",
            f"同一台机器上的两个实例都用 lookup_rpc_port {number}，套接字路径相同",
        ),
        Msg("give each instance its own number", "给每个实例不同的编号"),
        related=((first.origin, Msg("the other instance", "另一个实例")),),
    )
