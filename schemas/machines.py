"""Which launches of a deployment share a machine, and which share a container."""

from __future__ import annotations

from pd_launch.schemas.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.offload import budget_of, served
from pd_launch.schemas.units import SizeError, parse_size
from pd_launch.schemas.values import Node


def by_machine(deployment: Deployment) -> list[list[NodeLaunch]]:
    """Return the launches in groups of one machine each.

    Launches with the same known host share it, and so do the ranks of one external-DP side that one file starts. Others
    stand alone.
    """
    groups: dict[object, list[NodeLaunch]] = {}
    for number, node in enumerate(deployment.nodes):
        groups.setdefault(_machine(node, number), []).append(node)
    return list(groups.values())


def _machine(node: NodeLaunch, number: int) -> object:
    if node.host is not None:
        return ("host", node.host)
    if node.external_dp and node.form in ("shell", "docker", "compose"):
        return ("file", node.origin.file, node.role)
    return number


def by_container(deployment: Deployment) -> list[tuple[Container, list[NodeLaunch]]]:
    """Return each container with the launches inside it."""
    groups: dict[int, tuple[Container, list[NodeLaunch]]] = {}
    for node in deployment.nodes:
        if node.container is not None:
            groups.setdefault(id(node.container), (node.container, []))[1].append(node)
    return list(groups.values())


def size_of(node: Node | None) -> int | None:
    """Return the bytes that a written size means, or None where it is absent, unknown or no size."""
    if node is None or not isinstance(node.value, (int, str)):
        return None
    try:
        return parse_size(node.value)
    except SizeError:
        return None


def offload_bytes(node: NodeLaunch, deployment: Deployment) -> int | None:
    """Return the host memory that the offload of ``node``'s engines takes; 0 without one, None where it is unknown."""
    total = 0
    for connector in served(node, deployment.target):
        budget, engines = budget_of(node, connector, deployment.target), node.local_engines
        size = None if budget is None or engines is None else budget.per_node_bytes(engines)
        if size is None:
            return None
        total += size
    return total
