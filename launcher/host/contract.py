"""The facts by name and kind, and facts that come from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from pd_launch.schemas.core.names import nearest

FORMAT_VERSION = 1
VERSION_KEY = "format_version"

FACTS: dict[str, type] = {
    "mem_total": int,
    "mem_available": int,
    "cgroup_memory": int,
    "shm_total": int,
    "shm_free": int,
    "stale_shm": int,
    "memlock": int,
    "npus": int,
    "ports_in_use": list,
}
"""The facts of the contract with their types; bytes and counts."""

MORE: dict[str, type] = {
    "vllm": str,
    "vllm_ascend": str,
    "torch": str,
    "torch_npu": str,
    "mooncake": str,
    "pd_launch": str,
    "python": str,
    "cann": str,
    "npu_driver": str,
    "nvidia_driver": str,
    "kernel": str,
    "machine": str,
    "container": str,
    "cpus": int,
    "cpus_allowed": int,
    "numa_nodes": list,
    "cgroup_version": int,
    "cgroup_used": int,
    "hugepages_total": int,
    "hugepages_free": int,
    "hugepage_size": int,
    "stale_segments": list,
    "gpus": int,
    "devices": list,
    "control_devices": list,
    "device_holders": list,
    "interfaces": dict,
    "default_interface": str,
    "environment": dict,
    "vllm_plugins": list,
}
"""Further facts, which doctor and facts show. Bytes, counts, names and versions."""

_TEXTS = ("stale_segments", "control_devices", "vllm_plugins")
"""Lists of names."""
MOST = 2**70
_DEEPEST = 20


MOST_LOOKED_UP = 20
"""Unknown keys for which the fact that was meant is looked for."""
_LONGEST_KEY = 100


class FactsError(ValueError):
    """A facts file that cannot be used; the message says why."""


def read_facts(text: str, name: str) -> dict[str, Any]:
    """Return the facts of a facts file.

    Raises:
        FactsError: it is not a JSON object, or a fact has the wrong type. Unknown keys stay: see :func:`unknown_keys`.
    """
    try:
        facts = json.loads(text)
    except RecursionError:
        raise FactsError(f"{name} is not JSON that can be read: it is nested too deep") from None
    except ValueError as error:
        raise FactsError(f"{name} is not JSON: {error}") from None
    if not isinstance(facts, dict):
        raise FactsError(f"{name}: host facts are one JSON object")
    version = facts.pop(VERSION_KEY, FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise FactsError(
            f"{name}: format_version {_shown(version)} is not known; this pd-launch reads {FORMAT_VERSION}"
        )
    for key, value in facts.items():
        _bounded(value, f"{name}: {key}")
    for key, kind in (FACTS | MORE).items():
        value = facts.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise FactsError(f"{name}: {key} must be {_KINDS[kind]}, not {_shown(value)}")
        if kind is int and isinstance(value, int) and value < 0:
            raise FactsError(f"{name}: {key} must not be negative; leave it out where it is unknown or unlimited")
    for key in _TEXTS:
        if not all(isinstance(word, str) for word in facts.get(key) or ()):
            raise FactsError(f"{name}: {key} must be a list of strings")
    ports = facts.get("ports_in_use")
    if ports is not None and not all(isinstance(p, int) and not isinstance(p, bool) for p in ports):
        raise FactsError(f"{name}: ports_in_use must be a list of integers")
    return {key: value for key, value in facts.items() if value is not None}


def _bounded(value: Any, place: str) -> None:
    """Refuse numbers that no machine has, and what is nested deeper than any fact."""
    level = [value]
    for _ in range(_DEEPEST):
        if any(isinstance(part, (int, float)) and not -MOST <= part <= MOST for part in level):
            raise FactsError(
                f"{place} is not a number that a machine can have; leave it out if it is unknown or unlimited"
            )
        lists = [part for part in level if isinstance(part, list)]
        level = [inner for part in level if isinstance(part, dict) for inner in part.values()]
        level += [inner for part in lists for inner in part]
    if level:
        raise FactsError(f"{place} is nested too deep")


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (str, int, float)) else f"{_KINDS.get(type(value), 'this')}"


def unknown_keys(facts: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Return the keys of a facts file that no fact has, each with the fact that was probably meant, or None."""
    known = [*FACTS, *MORE]
    unknown = [key for key in facts if key not in FACTS and key not in MORE]
    near = (nearest(key[:_LONGEST_KEY].lower(), known, 0.6) for key in unknown[:MOST_LOOKED_UP])
    return list(zip_longest(unknown, near))


_KINDS = {int: "an integer", str: "a string", list: "a list", dict: "an object"}
