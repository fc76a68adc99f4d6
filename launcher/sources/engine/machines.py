"""On which machine an engine runs, where the input says it: the file that starts it, or its own HCCL_IF_IP."""

from __future__ import annotations

from collections.abc import Iterable

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.engine.machines import ASSUMED
from pd_launch.schemas.engine.sides import is_unreachable


def same_host(nodes: Iterable[NodeLaunch], path: str) -> None:
    """Let the engines that one script starts run on one host."""
    for node in nodes:
        if node.form == "shell" and node.host is None:
            node.host = f"{ASSUMED}{path}"


def name_machines(nodes: Iterable[NodeLaunch]) -> None:
    """Name the machine of each engine by its HCCL_IF_IP, which is an address of it.

    In a container that is so where it uses its machine's network. A machine that the input names keeps its name.
    """
    for node in nodes:
        address = node.variable("HCCL_IF_IP")
        if address and not is_unreachable(address) and _has_addresses_of_machine(node) and not _is_named(node):
            node.host = address


def _has_addresses_of_machine(node: NodeLaunch) -> bool:
    return node.container is None or bool(node.container.host_network)


def _is_named(node: NodeLaunch) -> bool:
    """Whether the input names the machine: ``ssh node1``, an entry of a description."""
    in_compose = node.container is not None and node.container.form == "compose"
    return node.host is not None and not node.host.startswith(ASSUMED) and not in_compose
