"""Two engines that both keep a connector's default port, where only a look at them tells that they share a machine: a
part of what rule PD405 looks at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from pd_launch.launcher.rules.pd4_topology.uses import USES, shown
from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.connector_ports import NIXL_HOST, connector_ports
from pd_launch.schemas.engine.machines import ASSUMED, devices_of
from pd_launch.schemas.engine.port_range import PortRange
from pd_launch.schemas.engine.ports import http_port
from pd_launch.schemas.engine.sides import exclusive, is_loopback, own_address, side_of

_MOST = 50
"""Launches that are compared with each other."""


def same_default(deployment: Deployment) -> Iterator[tuple[NodeLaunch, NodeLaunch, Hit]]:
    """Yield what two engines collide at if they share a machine, as their devices and ports say, and the two."""
    nodes = [node for node in deployment.nodes[:_MOST] if node.container is None and node.kv_transfer is not None]
    left = {id(node): _kept(node) for node in nodes}
    for one, other in combinations(nodes, 2):
        if not left[id(one)] or not left[id(other)] or not _look_together(one, other, deployment):
            continue
        for mine in left[id(other)]:
            if any(mine.first == theirs.first and mine.use == theirs.use for theirs in left[id(one)]):
                yield one, other, _hit(mine, one)
                break


def _kept(node: NodeLaunch) -> list[PortRange]:
    """Return the connectors' ports that are defaults; what make is started with is the same for all its engines."""
    if node.env_open is not None and node.env_open != node.origin:
        return []
    return [ports for ports in connector_ports(replace(node, env_open=None)) if ports.binds and not ports.written]


def _look_together(one: NodeLaunch, other: NodeLaunch, deployment: Deployment) -> bool:
    """Whether nothing says that two engines run apart, and what they are given fits one machine only."""
    if any(node.host is not None and not node.host.startswith(ASSUMED) for node in (one, other)):
        return False
    if exclusive(one, other) or deployment.part_of(one) != deployment.part_of(other):
        return False
    of_one_file = one.origin.file == other.origin.file
    sides = {side_of(one), side_of(other)}
    if of_one_file and one.program == other.program == "python":
        return sides == {"prefill", "decode"}
    mine, theirs = devices_of(one), devices_of(other)
    if not mine or not theirs or mine & theirs or not _own_http(one, other):
        return False
    return of_one_file or (sides == {"prefill", "decode"} and _within_reach(one) and _within_reach(other))


def _own_http(one: NodeLaunch, other: NodeLaunch) -> bool:
    mine, theirs = http_port(one), http_port(other)
    return mine is not None and theirs is not None and not set(mine.ports) & set(theirs.ports)


def _within_reach(node: NodeLaunch) -> bool:
    """Whether others reach the engine on its own machine only: NIXL's side channel is at localhost by itself."""
    host = node.env.get(NIXL_HOST)
    address = host.value.string() if host is not None else "localhost"
    return bool(address and is_loopback(address)) and own_address(node) is None


def _hit(ports: PortRange, other: NodeLaunch) -> Hit:
    use = USES[ports.use]
    return Hit(
        ports.origin,
        Msg(
            (
                f"both engines use the default, {shown(ports.ports).en} ({use.what.en}): on one machine, the second "
                "one to start fails"
            ),
            f"两个引擎都用默认的 {shown(ports.ports).zh}（{use.what.zh}）：在同一台机器上，后启动的会启动失败",
        ),
        Msg(
            f"give one of them its own port, for example {use.option.en} {ports.ports.stop}",
            f"让其中一个使用自己的端口，例如 {use.option.zh} {ports.ports.stop}",
        ),
        severity="warning",
        related=((other.origin, Msg("the other engine", "另一个引擎")),),
    )
