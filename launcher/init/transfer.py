"""--kv-transfer-config taken apart into a profile's ``transfer`` and ``offload``."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pd_launch.launcher.init.canonical import UNKNOWN
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import format_size
from pd_launch.schemas.core.values import Node, as_integer
from pd_launch.schemas.engine.budget import PER_RANK, PREFIX_CACHING, RATIO, TOTAL
from pd_launch.schemas.engine.kv_transfer import MULTI, ROLES, SIZED_CONNECTORS, Connector

_WAYS = {PER_RANK: "per_rank", TOTAL: "cpu_bytes_to_use", RATIO: "ratio"}


@dataclass
class Parts:
    """What one side's configuration says in a profile's words."""

    transfer: dict[str, Any] = field(default_factory=dict)
    offload: dict[str, Any] = field(default_factory=dict)


def take_apart(tree: Node, target: Target) -> Parts | None:
    """Return the parts, as ``target`` understands names, or None where a profile's own words do not reach.

    Then it is written out whole.
    """
    top = Connector(tree)
    if not tree.complete() or top.text("kv_role") not in ROLES[:2]:
        return None
    children = top.children if top.name == MULTI else [top]
    offloads = [child for child in children if child.is_offload]
    others = [child for child in children if not child.is_offload]
    if len(offloads) > 1 or len(others) > 1 or (top.name == MULTI and (not others or not offloads)):
        return None
    parts = Parts()
    if others:
        parts.transfer = _transfer(others[0])
    if top.name == MULTI:
        for key, node in tree.items():
            if key not in ("kv_connector", "kv_role", "kv_connector_extra_config"):
                parts.transfer[_profile_key(key)] = node.plain()
    if offloads:
        offload = _offload(offloads[0], target)
        if offload is None:
            return None
        parts.offload = offload
    return parts


def _profile_key(key: str) -> str:
    return "load_failure_policy" if key == "kv_load_failure_policy" else key


def _transfer(connector: Connector) -> dict[str, Any]:
    out: dict[str, Any] = {"connector": connector.name}
    for key, node in connector.tree.items():
        if key in ("kv_connector", "kv_role", "kv_connector_extra_config"):
            continue
        number = as_integer(node.value) if key == "kv_port" else None
        out[_profile_key(key)] = node.plain() if number is None else number
    extra = connector.extra
    for key, node in extra.items() if extra else ():
        out[key] = node.plain()
    return out


def _offload(connector: Connector, target: Target) -> dict[str, Any] | None:
    extra = connector.extra
    given = dict(extra.items()) if extra else {}
    ways = [key for key in _WAYS if key in given]
    if len(ways) != 1 or set(given) - {*_WAYS, PREFIX_CACHING}:
        return None
    value = given[ways[0]].value
    amount = as_integer(value)
    if ways[0] == PER_RANK and amount is not None:
        value = format_size(amount)
    elif ways[0] == TOTAL and amount is not None:
        value = amount
    out: dict[str, Any] = {_WAYS[ways[0]]: value}
    if PREFIX_CACHING in given and given[PREFIX_CACHING].value is True:
        out["prefix_caching"] = True
    if not connector.bundled_in(target):
        out["connector"] = "builtin"
    return out


def without_derived(transfer: dict[str, Any], sizes: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Leave out the sizes of a side that follow from the profile's own ``parallel``."""
    if transfer.get("connector") not in SIZED_CONNECTORS:
        return transfer
    return {k: v for k, v in transfer.items() if not (k in sizes and _same_sizes(v, sizes[k]))}


def _same_sizes(written: Any, derived: dict[str, int]) -> bool:
    return isinstance(written, dict) and {k: as_integer(v) for k, v in written.items()} == derived


def shared(sides: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Split the sides' transfer sections into what is the same for all of them and what differs.

    Without one connector for all, nothing can be shared, and ({}, {}) is returned.
    """
    found = [section for section in sides.values() if section]
    names = {section.get("connector") for section in found}
    if len(names) != 1 or UNKNOWN in names or None in names:
        return {}, {}
    common = {k: v for k, v in found[0].items() if all(k in s and s[k] == v for s in found)}
    own = {side: {k: v for k, v in s.items() if k not in common} for side, s in sides.items()}
    return common, own
