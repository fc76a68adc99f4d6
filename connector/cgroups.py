"""Memory limits of this process's own cgroup and of all above it, and how much of each is in use. Pure Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

UNLIMITED = 1 << 60
# In /proc/self/cgroup: folder of the hierarchy, then below it the files of the limit and the use, and the field of
# memory.stat that counts what the kernel takes back before it kills.
VERSION_2 = ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")
VERSION_1 = (
    "sys/fs/cgroup/memory",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file",
)


@dataclass(frozen=True)
class Limit:
    """One limit: the cgroup's path (``/`` is the one that is mounted: a container's own), its bytes, those in use."""

    path: str
    size: int
    used: int | None

    @property
    def name(self) -> str:
        """What people call it."""
        return "limit of this container" if self.path == "/" else f"limit of cgroup {self.path}"

    @property
    def left(self) -> int | None:
        """Bytes that are left, None where the use is not known."""
        return None if self.used is None else max(0, self.size - self.used)


def limits(root: Path) -> list[Limit]:
    """Return the limits that hold for this process, those of its own cgroup first."""
    found: dict[Path, Limit] = {}
    for (base, *names), path in [*_own(root), (VERSION_2, "/"), (VERSION_1, "/")]:
        for folder, shown in _upwards(root / base, path):
            limit = _limit(folder, shown, *names)
            if limit is not None:
                found.setdefault(folder, limit)
    return list(found.values())


def _own(root: Path) -> Iterator[tuple[tuple[str, str, str, str], str]]:
    for line in _text(root / "proc/self/cgroup").splitlines():
        hierarchy, controllers, path = [*line.split(":", 2), "", ""][:3]
        if hierarchy == "0" and not controllers:
            yield VERSION_2, path
        elif "memory" in controllers.split(","):
            yield VERSION_1, path


def _upwards(base: Path, path: str) -> Iterator[tuple[Path, str]]:
    """Yield the cgroup and all above it. In a container its path may lie outside of what is mounted: ``/../x``."""
    parts = [part for part in path.split("/") if part]
    if ".." in parts:
        parts = []
    for count in range(len(parts), -1, -1):
        yield base.joinpath(*parts[:count]), "/" + "/".join(parts[:count])


def _limit(folder: Path, shown: str, limit: str, use: str, reclaimed: str) -> Limit | None:
    size = _number(folder / limit)
    if size is None or size >= UNLIMITED:
        return None
    used = _number(folder / use)
    for line in _text(folder / "memory.stat").splitlines() if used is not None else ():
        name, _, value = line.partition(" ")
        if name == reclaimed and value.strip().isdigit():
            used = max(0, (used or 0) - int(value))
    return Limit(shown, size, used)


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() and len(text) < 30 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
