"""Reading /proc, /sys and /dev below a root: this machine's, or a prepared tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pd_launch.schemas.core.whole import whole

ROOT = Path("/")


def text(path: Path) -> str:
    """Return a file's text; nothing where it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def number(path: Path) -> int | None:
    """Return the number that a file holds, or None."""
    found = text(path).strip()
    return whole(found) if len(found) < 25 else None


def names(path: Path) -> list[str] | None:
    """Return the names in a folder in order, or None where it cannot be read."""
    try:
        return sorted(one.name for one in path.iterdir())
    except OSError:
        return None


def key_values(path: Path) -> dict[str, int]:
    """Return the numbers of a file of lines ``Key:  123 kB``, in bytes where the line says kB."""
    found = {}
    for line in text(path).splitlines():
        match = re.search(r"(?<![\w()])([\w()]+):\s+(\d+)( kB)?$", line.strip())
        if match:
            found[match[1]] = int(match[2]) * (1024 if match[3] else 1)
    return found


def processes(root: Path) -> Iterator[Path]:
    """Iterate over the folders of all processes."""
    for name in names(root / "proc") or ():
        if whole(name) is not None:
            yield root / "proc" / name


def open_files(process: Path) -> list[str] | None:
    """Return the paths that a process has open, or None where that is not allowed (it is another user's)."""
    try:
        numbers = list((process / "fd").iterdir())
    except FileNotFoundError:
        return []  # it has just ended
    except OSError:
        return None
    found = []
    for one in numbers:
        try:
            found.append(str(one.readlink()))
        except OSError:
            continue
    return found
