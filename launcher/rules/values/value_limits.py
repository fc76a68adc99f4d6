"""More values that PD007 looks at: ports past the last one, and options that vLLM's own connectors refuse."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.connector_ports import kv_ports
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.ports import all_ports

LAST_PORT = 65535
SIDE = "VLLM_NIXL_SIDE_CHANNEL_PORT"
RANKED = {"http": "--port", "kv_events": "endpoint", "kv_events_replay": "replay_endpoint", "side_channel": SIDE}
"""Ports of which each rank of a node takes one of its own, and where the first is written; kv_port is said apart."""
OWN_SPECS = (None, "CPUOffloadingSpec", "TieringOffloadingSpec")
BUDGET = "cpu_bytes_to_use"


def port_spans(node: NodeLaunch, _: Deployment) -> Iterator[Hit]:
    """Yield each port after which there are too few ports for the ranks of this node."""
    for found in (one for one in all_ports(node) if one.use in RANKED and one.count > 1):
        last = found.first + found.count - 1
        if found.written and found.binds and 1 <= found.first <= LAST_PORT < last:
            name = RANKED[found.use]
            yield Hit(
                found.origin,
                Msg(
                    f"each rank takes one port, counting up from {name}: this node's run from {found.first} to "
                    f"{last}, but the highest port is {LAST_PORT}",
                    f"每个 rank 从 {name} 起各占一个端口：本节点用到 {found.first} 到 {last}，最大端口是 {LAST_PORT}",
                ),
                Msg(f"use a lower {name}", f"换一个更小的 {name}"),
            )
    for connector in connectors(node.kv_transfer):
        ports = kv_ports(node, connector)
        if ports is None or not ports.written or not ports.binds or not 1 <= ports.first <= LAST_PORT:
            continue
        last = ports.first + ports.count - 1
        if last > LAST_PORT:
            yield Hit(
                ports.origin,
                Msg(
                    f"each rank takes one port, counting up from kv_port: this node's run from {ports.first} to "
                    f"{last}, but the highest port is {LAST_PORT}",
                    f"每个 rank 从 kv_port 起各占一个端口：本节点用到 {ports.first} 到 {last}，最大端口是 {LAST_PORT}",
                ),
                Msg("use a lower kv_port on the whole side", "整个一侧都换一个更小的 kv_port"),
            )


def proxy_address(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield what P2pNcclConnector refuses in the address of its proxy: it joins the texts, and needs the HTTP port."""
    if deployment.target.is_ascend:
        return
    for connector in connectors(node.kv_transfer):
        host, port = connector.option("proxy_ip"), connector.option("proxy_port")
        if connector.name != "P2pNcclConnector" or host is None or port is None or "" in (host.value, port.value):
            continue
        for name, value in (("proxy_ip", host), ("proxy_port", port)):
            if value.known and not isinstance(value.value, str):
                yield Hit(
                    value.origin,
                    Msg(
                        f"{name} must be a string, not {value.plain()!r}",
                        f"{name} 应当是字符串，不能是 {value.plain()!r}",
                    ),
                    Msg(f'write "{value.plain()}"', f'请写 "{value.plain()}"'),
                )
        if connector.option("http_port") is None and host.known and port.known:
            yield Hit(
                port.key or port.origin,
                Msg("P2pNcclConnector with a proxy needs http_port", "P2pNcclConnector 使用代理时需要 http_port"),
                Msg("add http_port: the engine's --port", "加上 http_port：引擎的 --port"),
            )


def upstream_budget(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield what vLLM's OffloadingConnector refuses in its cpu_bytes_to_use, or that it is absent."""
    if deployment.target.is_ascend or node.partial or node.arg("kv-offloading-size") is not None:
        return
    for connector in connectors(node.kv_transfer):
        if connector.name == "OffloadingConnector" and _own_spec(connector):
            yield from _budget(connector)


def _own_spec(connector: Connector) -> bool:
    spec, extra = connector.option("spec_name"), connector.extra
    if connector.tree.get("kv_connector_module_path") is not None or (extra is not None and not extra.known):
        return False
    return spec is None or (spec.known and spec.value in OWN_SPECS)


def _budget(connector: Connector) -> Iterator[Hit]:
    budget = connector.option(BUDGET)
    if budget is None:
        name = connector.tree.get("kv_connector")
        yield Hit(
            name.origin if name is not None else connector.tree.origin,
            Msg(
                f"OffloadingConnector needs {BUDGET} in kv_connector_extra_config",
                f"OffloadingConnector 需要在 kv_connector_extra_config 里写 {BUDGET}",
            ),
            Msg(f'add "{BUDGET}": the bytes of the whole engine', f'加上 "{BUDGET}"：整个引擎的字节数'),
        )
        return
    if not budget.known or (budget.value and _converts(budget.value)):
        return
    yield Hit(
        budget.origin,
        Msg(
            f"{BUDGET} must be a whole number of bytes above 0, not {budget.plain()!r}",
            f"{BUDGET} 应当是大于 0 的整数字节数，不能是 {budget.plain()!r}",
        ),
        Msg("write the bytes as a number, such as 17179869184", "请把字节数写成数字，例如 17179869184"),
    )


def _converts(value: object) -> bool:
    """Whether Python's ``int`` takes it."""
    if not isinstance(value, (str, int, float)):
        return False
    try:
        return int(value) > 0
    except (ValueError, OverflowError):
        return False
