"""PD412 host-interface."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.words import series

VARIABLES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
_PREFIXES = ("HCCL_SOCKET_IFNAME",)
_NAME = lazy_pattern(r"[\w.:@-]+")

ZH = """
所写的网卡在本机不存在

## 作用

把 GLOO_SOCKET_IFNAME、TP_SOCKET_IFNAME 和 HCCL_SOCKET_IFNAME 中写的网卡名与本机的网卡比较。需要主机信息。

## 为什么重要

网卡不存在时，引擎会在建立通信组时失败，或者一直等到超时，而且报错里往往不提网卡名。

## 适用版本

所有版本。

## 来源

GLOO 与 TP 的变量按完整的名字匹配，HCCL 的按前缀匹配（CANN 环境变量参考）。
"""


@rule("PD412", "host-interface", "warning", zh=ZH, needs="H")
def host_interface(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A configured network interface does not exist on this host.

    ## What it does

    Compares the interfaces in GLOO_SOCKET_IFNAME, TP_SOCKET_IFNAME and HCCL_SOCKET_IFNAME with those of the host. It
    needs host facts.

    ## Why it matters

    With an interface that does not exist, an engine fails while it sets up its groups, or waits until a timeout, and
    the error seldom names the interface.

    ## Example

    ```json
    // host facts
    {"interfaces": {"lo": ["127.0.0.1"], "enp67s0f0": ["192.0.2.11"]}}
    ```

    ```bash
    export GLOO_SOCKET_IFNAME=eth0
    vllm serve /models/m --data-parallel-size 2
    ```

    ## Use instead

    ```json
    // host facts
    {"interfaces": {"lo": ["127.0.0.1"], "enp67s0f0": ["192.0.2.11"]}}
    ```

    ```bash
    export GLOO_SOCKET_IFNAME=enp67s0f0
    vllm serve /models/m --data-parallel-size 2
    ```

    ## Releases

    All.

    ## Sources

    GLOO's and TP's variables hold whole names, HCCL's a prefix (CANN's reference of environment variables).
    """
    present = deployment.fact("interfaces")
    if not isinstance(present, dict) or not present:
        return
    for variable in VARIABLES:
        written = node.env.get(variable)
        text = written.value.string() if written else None
        if written is None or not text:
            continue
        names = [name.strip() for name in text.split(",")]
        absent = [name for name in names if _NAME.fullmatch(name) and not _there(variable, name, present)]
        if absent:
            listed = series(name for name in present if name != "lo")
            yield Hit(
                written.value.origin,
                Msg(
                    f"{variable} names {absent[0]}, but this host has no such interface",
                    f"{variable} 写的是 {absent[0]}，本机没有这个网卡",
                ),
                Msg(f"use one of {listed.en}", f"请使用其中之一：{listed.zh}"),
            )


def _there(variable: str, name: str, present: dict[str, object]) -> bool:
    if variable in _PREFIXES:
        return any(one.startswith(name) for one in present)
    return name in present
