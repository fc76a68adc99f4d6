"""Nodes of one data-parallel group, also where they do not agree on what the group is: by the master that they dial."""

from __future__ import annotations

from itertools import combinations

from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.sides import (
    DEFAULT_RPC_PORT,
    exclusive,
    in_turn,
    is_unreachable,
    local_ranks,
    master,
    side_of,
)

LEADER = "LWS_LEADER_ADDRESS"
"""The variable in which a LeaderWorkerSet gives every pod of a group the address of its leader."""
_LEADS = lazy_pattern(r"(?:^|_)(?:MASTER|LEADER|HEAD|NODE_?0)(?:_|$)")
_VARIABLE = lazy_pattern(r"\$[({]?(\w{1,64})[)}]?")
RPC = "data-parallel-rpc-port"


def meetings(deployment: Deployment) -> list[list[NodeLaunch]]:
    """Return the launches that surely meet at one master, two or more each.

    Groups of which two launches hold one rank are left out: these are other groups in the same place, or one group in
    several versions, and nobody says which belong together.
    """
    found: dict[tuple[object, ...], list[NodeLaunch]] = {}
    for node in deployment.nodes:
        place = _place(node)
        if place is not None:
            found.setdefault(place, []).append(node)
    return [nodes for nodes in found.values() if len(nodes) > 1 and all(map(_beside, *_pairs(nodes)))]


def _pairs(nodes: list[NodeLaunch]) -> tuple[list[NodeLaunch], list[NodeLaunch]]:
    pairs = list(combinations(nodes, 2))
    return [one for one, _ in pairs], [other for _, other in pairs]


def _beside(one: NodeLaunch, other: NodeLaunch) -> bool:
    """Whether two launches hold different ranks of a group and run at the same time."""
    if exclusive(one, other) or in_turn(one, other) or in_turn(other, one):
        return False
    ranks, others = local_ranks(one), local_ranks(other)
    if ranks is not None and others is not None:
        return ranks.stop <= others.start or others.stop <= ranks.start
    return bool(one.switch("headless")) != bool(other.switch("headless"))


def _place(node: NodeLaunch) -> tuple[object, ...] | None:
    """Return what is the same for all nodes that dial one master; None where that is not known."""
    written = master(node)
    if written is None or (node.data is not None and node.data < 2):
        return None
    port = node.number(RPC, DEFAULT_RPC_PORT)
    address = written.string()
    if address is not None:
        return None if is_unreachable(address) or port is None else (address, port)
    name = _variable(written)
    if name == LEADER and node.form == "manifest":
        return (LEADER, node.origin.file, node.label)  # one set has one leader, whatever the port
    side = side_of(node)
    return (name, port, side) if name and _LEADS.search(name.upper()) and side and port is not None else None


def _variable(node: Node) -> str | None:
    """Return the name of the variable that a value consists of; None for any other text."""
    if node.text is None or len(node.text.value) != 1:
        return None
    written = node.text.source.text[node.text.spots[0] : node.text.spots[-1]]
    match = _VARIABLE.fullmatch(written.strip().strip("\"'"))
    return match[1] if match else None
