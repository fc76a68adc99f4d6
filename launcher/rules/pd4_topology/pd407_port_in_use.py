"""PD407 port-in-use."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd4_topology.uses import USES
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.port_range import PortRange
from pd_launch.schemas.engine.ports import bound_ports, on_host_network

ZH = """
本节点必须绑定的端口已被占用

## 作用

把本节点真正绑定的端口（HTTP、DP rpc、side channel、监听一侧的 kv_port 范围）与主机上已在监听的端口比较。需要主机信息。

## 为什么重要

端口被占用时，引擎会绑定失败并退出，而这时加载大模型往往已经花了几分钟。

## 适用版本

所有版本。

## 来源

各连接器的端口公式：vllm_ascend/distributed/kv_transfer/kv_p2p，0.18.0 到 0.27.1rc1；vllm/entrypoints/launcher.py。
"""


@rule("PD407", "port-in-use", "error", zh=ZH, needs="H")
def port_in_use(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A port that this node must bind is taken.

    ## What it does

    Compares the ports that this node really binds (HTTP, DP rpc, side channel, the kv_port range of the side that
    listens) with those on which something listens already. It needs host facts.

    ## Why it matters

    The engine cannot bind and stops, often after it has spent minutes loading the model.

    ## Example

    ```json
    // host facts
    {"ports_in_use": [8101]}
    ```

    ```bash
    vllm serve /models/m --port 8101
    ```

    ## Use instead

    ```json
    // host facts
    {"ports_in_use": [8101]}
    ```

    ```bash
    vllm serve /models/m --port 8102
    ```

    ## Releases

    All.

    ## Sources

    The connectors' port formulas in vllm_ascend/distributed/kv_transfer/kv_p2p at 0.18.0 to 0.27.1rc1;
    vllm/entrypoints/launcher.py.
    """
    taken = deployment.fact("ports_in_use")
    if not taken or not on_host_network(node):
        return
    for bound in bound_ports(node):
        used = sorted(port for port in taken if port in bound.ports)
        if used:
            yield _hit(bound, used, set(taken), node.form == "profile")


def _hit(bound: PortRange, used: list[int], taken: set[int], profile: bool) -> Hit:
    use, use_zh = USES[bound.use].what.en, USES[bound.use].what.zh
    listed = series(map(str, used[:4]), more=len(used) > 4)
    of = f", one of {bound.first}-{bound.ports.stop - 1}" if bound.count > 1 else ""
    free = _free(bound, taken)
    option, option_zh = _option(bound.use, profile)
    advice, advice_zh = (f"{option} {free}", f"{option_zh} {free}") if free else (option, option_zh)
    return Hit(
        bound.origin,
        Msg(
            f"port {listed.en} ({use}{of}) is already in use on this host",
            f"端口 {listed.zh}（{use_zh}{f'，属于 {bound.first}-{bound.ports.stop - 1}' if of else ''}）在本机已被占用",
        ),
        Msg(
            f"stop whatever listens there (`ss -ltnp` shows it), or use another: {advice}",
            f"停掉占用它的进程（`ss -ltnp` 可查），或换一个：{advice_zh}",
        ),
    )


def _option(name: str, profile: bool) -> tuple[str, str]:
    use = USES[name]
    return (use.key, use.key) if profile and use.key else (use.option.en, use.option.zh)


def _free(bound: PortRange, taken: set[int]) -> int | None:
    """Return the next start from which the whole range is free."""
    first = bound.first + 1
    while first + bound.count <= 65536:
        hit = [port for port in range(first, first + bound.count) if port in taken]
        if not hit:
            return first
        first = hit[-1] + 1
    return None
