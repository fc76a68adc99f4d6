"""Addresses and network cards in variables, and what their readers make of them. Rule PD702 reports it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pd_launch.schemas.core.launch import Deployment, EnvVar, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.sides import has_company, is_loopback, is_unreachable, spans_machines

_ASKED = {"VLLM_NIXL_SIDE_CHANNEL_HOST": "NixlConnector", "VLLM_P2P_SIDE_CHANNEL_HOST": "OffloadingConnector"}
"""Addresses that other engines are told to ask, and the connector that tells them."""
_CARDS: dict[str, Severity] = {
    "GLOO_SOCKET_IFNAME": "error",
    "NCCL_SOCKET_IFNAME": "error",
    "HCCL_SOCKET_IFNAME": "warning",
    "TP_SOCKET_IFNAME": "warning",
}
"""Variables that name a network card, and what follows where it is none."""
_V4 = lazy_pattern(r"\d{1,3}(\.\d{1,3}){3}")
_V6 = lazy_pattern(r"\[?[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7}(%\w+)?\]?", re.IGNORECASE)
_HOST_NAME = lazy_pattern(r"[a-z]+\d[\w.-]*", re.IGNORECASE)
"""What looks like a network card: ``eth0``, ``enp67s0f5``, ``bond0.100``."""


class Misread(NamedTuple):
    """A variable whose text its reader takes for something else, what comes of it, and what to write."""

    variable: EnvVar
    effect: Msg
    help: Msg
    severity: Severity


def misread_addresses(node: NodeLaunch, deployment: Deployment) -> Iterator[Misread]:
    """Iterate over the variables of a node that hold no address, or no card, where their reader wants one."""
    for name, severity in _CARDS.items():
        found = node.env.get(name)
        text = found.value.string() if found else None
        if found is not None and text:
            yield from _card(found, text.strip(), severity)
    found = node.env.get("HCCL_IF_IP") if deployment.target.is_ascend else None
    text = found.value.string() if found else None
    if found is not None and text and _HOST_NAME.fullmatch(text.strip()):
        yield Misread(
            found,
            Msg(
                "HCCL expects an address here, but this is the name of a network interface",
                "这里应当写 HCCL 使用的 IP 地址，写的却是网卡名",
            ),
            Msg(
                "write this node's IP address; the interface name goes into HCCL_SOCKET_IFNAME",
                "请写本节点的 IP 地址；网卡名写在 HCCL_SOCKET_IFNAME 里",
            ),
            "error",
        )
    for name, connector in _ASKED.items():
        yield from _side_channel(node, deployment, name, connector)


def _card(found: EnvVar, text: str, severity: Severity) -> Iterator[Misread]:
    if _V4.fullmatch(text) or (":" in text and _V6.fullmatch(text)):
        yield Misread(
            found,
            Msg("it must be the name of a network interface, not an address", "这里应当写网卡名，而不是地址"),
            Msg("write the name of the interface with this address, such as eth0", "请写拥有该地址的网卡名，如 eth0"),
            severity,
        )
    elif found.name == "GLOO_SOCKET_IFNAME" and text.startswith(("^", "=")):
        yield Misread(
            found,
            Msg(
                "Gloo reads this as an interface name: only NCCL and HCCL understand ^ and =",
                "Gloo 会把它当作网卡名：只有 NCCL 和 HCCL 认识 ^ 和 =",
            ),
            Msg("write the name of one interface", "请写一个网卡名"),
            severity,
        )


def _side_channel(node: NodeLaunch, deployment: Deployment, name: str, connector: str) -> Iterator[Misread]:
    """Other engines are told to ask this host for the node's KV: 0.0.0.0 is each engine's own machine to them."""
    found = node.env.get(name)
    text = found.value.string() if found else None
    if found is None or not text or not is_unreachable(text) or node.role == "kv_consumer":
        return
    if not any(used.name == connector for used in connectors(node.kv_transfer)):
        return
    pod = node.form == "manifest" and not (node.container and node.container.host_network)
    alone = not is_loopback(text) and not has_company(node, deployment)
    if pod or alone or spans_machines(node, deployment):
        yield Misread(
            found,
            Msg(
                "other engines are told to fetch this node's KV there, where each finds only itself",
                "其他引擎会按这个地址来取本节点的 KV，结果连到的是它们自己",
            ),
            Msg(
                "write this node's own address; in a pod, take it from status.podIP",
                "请写本节点自己的地址；在 Pod 里取自 status.podIP",
            ),
            "warning",
        )
