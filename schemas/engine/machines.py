"""Which launches of a deployment share a machine, and which share a container."""

from __future__ import annotations

from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.units import SizeError, parse_size
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.offload import budget_of, served
from pd_launch.schemas.engine.sides import exclusions

ASSUMED = "host of "
"""How the host of a script's engines is named where nothing in the input names the machine itself."""
DEVICES = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def by_machine(deployment: Deployment) -> list[list[NodeLaunch]]:
    """Return the launches in groups that surely run on one machine at the same time.

    Launches of a named host do. Those of one script do where they are ranks of one side or have devices of their own;
    otherwise they may be branches of which only one runs, and each is on its own.
    """
    groups: dict[object, list[NodeLaunch]] = {}
    for number, node in enumerate(deployment.nodes):
        machine = (_machine(node, number), deployment.part_of(node))  # parts of a text for people are alternatives
        groups.setdefault(machine, []).append(node)
    return list(groups.values())


def _machine(node: NodeLaunch, number: int) -> object:
    if node.host is None:
        return number
    if not node.host.startswith(ASSUMED):
        return node.host
    if node.external_dp:
        return (node.host, node.role)
    return node.host if devices_of(node) else number


def devices_of(node: NodeLaunch) -> frozenset[str]:
    """Return the devices that the launch is given by a variable; none where that is unknown."""
    named = next((value for name in DEVICES if (value := node.variable(name))), "")
    return frozenset(part.strip() for part in named.split(",") if part.strip())


def same_machine(first: NodeLaunch, second: NodeLaunch) -> bool:
    """Whether two launches surely run on one machine at the same time."""
    if first.host is None or first.host != second.host:
        return False
    mine, theirs = devices_of(first), devices_of(second)
    return not first.host.startswith(ASSUMED) or bool(mine and theirs and not mine & theirs)


def by_container(deployment: Deployment) -> list[tuple[Container, list[NodeLaunch]]]:
    """Return each container with the launches that run in it together.

    One whose script chooses between launches, as by its number in a group, comes once for each choice.
    """
    groups: dict[int, tuple[Container, list[NodeLaunch]]] = {}
    for node in deployment.nodes:
        if node.container is not None:
            groups.setdefault(id(node.container), (node.container, []))[1].append(node)
    return [(container, chosen) for container, nodes in groups.values() for chosen in _choices(nodes)]


def _choices(nodes: list[NodeLaunch]) -> list[list[NodeLaunch]]:
    """Return the sets of launches of which no two exclude each other."""
    apart = exclusions(nodes)
    if not any(apart):
        return [nodes]
    found: dict[tuple[int, ...], None] = {}
    for others in dict.fromkeys(apart):
        beside = ~others
        chosen = (i for i, mine in enumerate(apart) if beside >> i & 1 and not mine & beside)
        found.setdefault(tuple(chosen))
    return [[nodes[i] for i in chosen] for chosen in found]


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
        size = None if budget is None or engines is None else budget.per_node_bytes(engines, node.local_world)
        if size is None:
            return None
        total += size
    return total
