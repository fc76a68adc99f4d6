"""Facts of this machine or container. What cannot be read is left out, never guessed."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

FACTS = {
    "mem_total": int,
    "mem_available": int,
    "cgroup_memory": int,
    "shm_total": int,
    "shm_free": int,
    "stale_shm": int,
    "memlock": int,
    "npus": int,
    "ports_in_use": list,
    "vllm": str,
    "vllm_ascend": str,
}
"""The facts of the contract with their types: bytes, counts, and the installed releases."""
_KINDS = {int: "an integer", list: "a list", str: "a string"}
_UNLIMITED = 2**60


class FactsError(ValueError):
    """A facts file that cannot be used; the message says why."""


def read_facts(text: str, name: str) -> dict[str, Any]:
    """Return the facts of a facts file.

    Raises:
        FactsError: it is no JSON object, or a fact has the wrong type. Unknown keys are kept.
    """
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FactsError(f"{name} is no JSON: {error}") from None
    if not isinstance(facts, dict):
        raise FactsError(f"{name}: host facts are one JSON object")
    for key, kind in FACTS.items():
        value = facts.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise FactsError(f"{name}: {key} must be {_KINDS[kind]}, not {value!r}")
    ports = facts.get("ports_in_use")
    if ports is not None and not all(isinstance(p, int) and not isinstance(p, bool) for p in ports):
        raise FactsError(f"{name}: ports_in_use must be a list of integers")
    return {key: value for key, value in facts.items() if value is not None}


def host_facts(root: Path = Path("/")) -> dict[str, Any]:
    """Return the facts of this machine; ``root`` is where /proc, /sys and /dev are looked for."""
    memory = psutil.virtual_memory()
    facts: dict[str, Any] = {"mem_total": memory.total, "mem_available": memory.available}
    found = {
        "cgroup_memory": cgroup_memory(root),
        "memlock": _memlock(),
        "npus": _npus(root),
        "ports_in_use": _ports_in_use(root),
        "vllm": _installed("vllm"),
        "vllm_ascend": _installed("vllm-ascend"),
        **_shm(root),
    }
    facts.update({key: value for key, value in found.items() if value is not None})
    return facts


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def cgroup_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process's cgroup (v2 or v1) and its parents leave at most, or None without a limit."""
    limits = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            limits += _limits(root / "sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            limits += _limits(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
    return min(limits, default=None)


def _limits(base: Path, path: str, name: str) -> list[int]:
    """Return the limits of a cgroup and of all above it; in a container the path may lie outside of what is mounted."""
    folder = base / path.lstrip("/")
    found = []
    while True:
        text = _text(folder / name).strip()
        if text.isdigit() and int(text) < _UNLIMITED:
            found.append(int(text))
        if folder == base or base not in folder.parents:
            return found
        folder = folder.parent


def _shm(root: Path) -> dict[str, int | None]:
    try:
        stat = os.statvfs(root / "dev/shm")
    except OSError:
        return {}
    return {"shm_total": stat.f_blocks * stat.f_frsize, "shm_free": stat.f_bavail * stat.f_frsize}


def _memlock() -> int | None:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY else soft


def _npus(root: Path) -> int | None:
    try:
        names = [path.name for path in (root / "dev").iterdir()]
    except OSError:
        return None
    count = sum(bool(re.fullmatch(r"davinci\d+", name)) for name in names)
    return count or None


def _ports_in_use(root: Path) -> list[int] | None:
    """Return the TCP ports on which something listens, from /proc/net/tcp and tcp6 (no privileges needed)."""
    ports: set[int] = set()
    readable = False
    for name in ("tcp", "tcp6"):
        text = _text(root / "proc/net" / name)
        readable = readable or bool(text)
        for line in text.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 3 and fields[3] == "0A":
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return sorted(ports) if readable else None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def addresses() -> dict[str, str]:
    """Return this host's IPv4 addresses, each with its interface."""
    found = {}
    for name, entries in psutil.net_if_addrs().items():
        for entry in entries:
            if entry.family == socket.AF_INET:
                found[entry.address] = name
    return found


def default_interface(root: Path = Path("/")) -> str | None:
    """Return the interface of the default route, or None."""
    for line in _text(root / "proc/net/route").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 2 and fields[1] == "00000000":
            return fields[0]
    return None
