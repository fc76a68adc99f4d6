"""The offload connector of a node, with its budget as the release (or the bundled connector) really reads it."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.budget import (
    NEW_NAME,
    OLD_NAME,
    PER_RANK,
    RATIO,
    TOTAL,
    Budget,
    BudgetError,
    resolve_budget,
)
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.releases.offloads import BUILTIN
from pd_launch.schemas.releases.offloads import RATIO as RATIO_READ


def offloads(node: NodeLaunch) -> list[Connector]:
    """Return the node's offload connectors, built in or bundled; usually one or none."""
    return [connector for connector in connectors(node.kv_transfer) if connector.is_offload]


def served(node: NodeLaunch, target: Target) -> list[Connector]:
    """Return the node's offload connectors whose budget ``target`` reads.

    A built-in one counts under its name of other releases too: it must be renamed to start (PD201), and what is written
    beside the name then means the same. Where no release has it, nothing reads the budget.
    """
    return [c for c in offloads(node) if c.bundled_in(target) or BUILTIN.holds(target)]


def reads_ratio(connector: Connector, target: Target) -> bool:
    """Whether ``offload_host_memory_ratio`` is read."""
    return connector.bundled_in(target) or RATIO_READ.holds(target)


def budget_options(connector: Connector) -> dict[str, Node] | None:
    """Return the budget options that are written; None where it is unknown which there are."""
    extra = connector.extra
    if extra is None:
        return {}
    if not isinstance(extra.value, dict):
        return None
    found = {key: extra.value[key] for key in (PER_RANK, TOTAL, RATIO) if key in extra.value}
    return found if all(node.known for node in found.values()) else None


def budget_of(node: NodeLaunch, connector: Connector, target: Target) -> Budget | None:
    """Return what each rank gets, or None where it is unknown or the options cannot be used (another rule says so)."""
    options, world = budget_options(connector), node.world_size
    if options is None or not world:
        return None
    plain = {key: value.plain() for key, value in options.items()}
    if not reads_ratio(connector, target):
        plain.pop(RATIO, None)
    name = connector.name or OLD_NAME
    if not connector.bundled_in(target):
        name = NEW_NAME if reads_ratio(connector, target) else OLD_NAME
    try:
        return resolve_budget(plain, world, name, device_cache_bytes(node))
    except BudgetError:
        return None


def device_cache_bytes(node: NodeLaunch) -> int | None:
    """Return the bytes of one rank's device KV cache, where --kv-cache-memory-bytes says them."""
    return node.number("kv-cache-memory-bytes", 0) or None
