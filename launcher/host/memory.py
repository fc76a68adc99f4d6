"""Memory: the machine's, what cgroups leave, huge pages, NUMA nodes, and what may be locked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pd_launch.launcher.host.tree import ROOT, key_values, names, number, text
from pd_launch.schemas.core.whole import whole

_UNLIMITED = 2**60


def memory_facts(root: Path) -> dict[str, Any]:
    """Return the machine's memory in bytes."""
    found = key_values(root / "proc/meminfo")
    return {"mem_total": found.get("MemTotal"), "mem_available": found.get("MemAvailable")}


def more_memory_facts(root: Path) -> dict[str, Any]:
    """Return huge pages, NUMA nodes and the cgroup's version and use."""
    found = key_values(root / "proc/meminfo")
    version, folder = _own_cgroup(root)
    used = None
    if folder is not None:
        used = number(folder / ("memory.current" if version == 2 else "memory.usage_in_bytes"))
    return {
        "hugepages_total": found.get("HugePages_Total"),
        "hugepages_free": found.get("HugePages_Free"),
        "hugepage_size": found.get("Hugepagesize"),
        "numa_nodes": _numa(root),
        "cgroup_version": version,
        "cgroup_used": used,
    }


def cgroup_memory(root: Path = ROOT) -> int | None:
    """Return the bytes that this process's cgroup (v2 or v1) and its parents leave at most, or None without a limit."""
    limits = []
    for base, path, name in _controllers(root):
        limits += _limits(base, path, name)
    return min(limits, default=None)


def _controllers(root: Path) -> list[tuple[Path, str, str]]:
    """Return where memory limits may be: base, this process's path below it, and the file's name."""
    found = []
    for line in text(root / "proc/self/cgroup").splitlines():
        hierarchy, controllers, path = [*line.split(":", 2), "", ""][:3]
        if hierarchy == "0" and not controllers:
            found.append((root / "sys/fs/cgroup", path, "memory.max"))
        elif "memory" in controllers.split(","):
            found.append((root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes"))
    return found


def _own_cgroup(root: Path) -> tuple[int | None, Path | None]:
    """Return the version of the cgroup that counts memory, and its folder; in a container the path may lie outside."""
    for base, path, name in _controllers(root):
        version = 2 if name == "memory.max" else 1
        for folder in (base / path.lstrip("/"), base):
            use = "memory.current" if version == 2 else "memory.usage_in_bytes"
            if (folder / use).exists() or (folder / name).exists():
                return version, folder
    return None, None


def _limits(base: Path, path: str, name: str) -> list[int]:
    """Return the limits of a cgroup and of all above it; in a container the path may lie outside of what is mounted."""
    folder = base / path.lstrip("/")
    found = []
    while True:
        limit = number(folder / name)
        if limit is not None and limit < _UNLIMITED:
            found.append(limit)
        if folder == base or base not in folder.parents:
            return found
        folder = folder.parent


def memlock(root: Path) -> int | None:
    """Return the bytes that may be locked, or None where there is no limit or it cannot be read."""
    for line in text(root / "proc/self/limits").splitlines():
        if line.startswith("Max locked memory"):
            soft = line.split()[3]
            return whole(soft)
    return None


def _numa(root: Path) -> list[dict[str, Any]] | None:
    folder = root / "sys/devices/system/node"
    found = []
    for name in names(folder) or ():
        if name.startswith("node") and whole(name[4:]) is not None:
            memory = key_values(folder / name / "meminfo")
            node: dict[str, Any] = {"node": int(name[4:]), "cpus": text(folder / name / "cpulist").strip()}
            node |= {"mem_total": memory.get("MemTotal"), "mem_free": memory.get("MemFree")}
            found.append({key: value for key, value in node.items() if value is not None})
    return sorted(found, key=lambda node: int(node["node"])) or None
