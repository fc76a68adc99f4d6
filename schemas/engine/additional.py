"""``--additional-config``: where a release of vllm-ascend reads the recompute scheduler's switch.

Up to 0.24 only the flat key is read; from 0.25 the nested one, and the flat one as a deprecated fallback.
Source: vllm_ascend/ascend_config.py at the tags 0.18.0 to 0.27.1rc1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, Unknown
from pd_launch.schemas.releases.schedulers import NESTED, TYPED

SWITCH = "recompute_scheduler_enable"
GROUP = "scheduler_config"
_FALSE_WORDS = ("false", "0", "off", "no", "f", "n", "")


class Switch(NamedTuple):
    """The recompute scheduler's switch as one release reads it.

    ``on`` is None where it is unknown. ``flat`` and ``nested`` are the values that are written, read or not.
    """

    on: bool | None
    flat: Node | None
    nested: Node | None
    place: str
    """Where this release reads it: ``flat`` or ``nested``."""

    @property
    def read(self) -> Node | None:
        """The value that counts, if any is read."""
        if self.place == "flat":
            return self.flat
        return self.nested if self.nested is not None else self.flat


def switch_of(additional: Node | None, target: Target) -> Switch:
    """Return the switch as ``target`` reads it from the tree of --additional-config (None: not given)."""
    flat = additional.get(SWITCH) if additional else None
    nested = additional.get(GROUP, SWITCH) if additional else None
    place = "nested" if NESTED.holds(target) else "flat"
    switch = Switch(None, flat, nested, place)
    unknown_tree = additional is not None and not additional.known
    group = additional.get(GROUP) if additional else None
    if unknown_tree or (place == "nested" and group is not None and not group.known):
        return switch
    return Switch(_truth(switch.read, target), flat, nested, place)


def _truth(node: Node | None, target: Target) -> bool | None:
    if node is None:
        return False
    value = node.value
    if isinstance(value, Unknown):
        return None
    if isinstance(value, str) and TYPED.holds(target):  # strings are converted only from here on
        return value.strip().lower() not in _FALSE_WORDS
    return bool(value)


def switched_on(config: dict[str, Any], target: Target) -> dict[str, Any]:
    """Return ``config`` with the recompute scheduler switched on where ``target`` reads it."""
    if not NESTED.holds(target):
        return {**config, SWITCH: True}
    group = config.get(GROUP)
    return {**config, GROUP: {**(group if isinstance(group, dict) else {}), SWITCH: True}}
