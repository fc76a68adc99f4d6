"""/dev/shm: its size, and what engines left there that no longer run."""

from __future__ import annotations

import os
import re
import stat
import time
from pathlib import Path
from typing import Any

from pd_launch.launcher.host.tree import names, open_files, processes, text
from pd_launch.schemas.core.lazy import lazy_pattern

_OURS = lazy_pattern(r"psm_[0-9a-f]+|vllm_\S+|torch_\d\S*|nccl-\S+")
"""Names of what vLLM, Python's shared memory, torch and NCCL make there."""
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
_FIRST_IPC_NAMESPACE = "ipc:[4026531839]"
_YOUNG = 5.0
"""Seconds in which a segment may be made and not mapped yet."""


def shm_facts(root: Path) -> dict[str, int]:
    """Return size and free bytes of /dev/shm."""
    try:
        found = os.statvfs(root / "dev/shm")
    except OSError:
        return {}
    return {"shm_total": found.f_blocks * found.f_frsize, "shm_free": found.f_bavail * found.f_frsize}


def stale_facts(root: Path) -> dict[str, Any]:
    """Return the bytes and names of engines' segments that no process has open; nothing where that cannot be known.

    It can where every process that may use them is seen: outside of containers, or in one whose /dev/shm is its own.
    """
    segments = _segments(root / "dev/shm")
    if segments is None or not _sees_all_users(root):
        return {}
    used = _used(root) if segments else set()
    if used is None:
        return {}
    stale = {name: size for name, size in segments.items() if name not in used}
    return {"stale_shm": sum(stale.values()), "stale_segments": sorted(stale)}


def _segments(folder: Path) -> dict[str, int] | None:
    found = names(folder)
    if found is None:
        return None
    sizes = {}
    for name in found:
        if not _OURS.fullmatch(name):
            continue
        try:
            status = (folder / name).lstat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _YOUNG:
            sizes[name] = status.st_blocks * 512
    return sizes


def _sees_all_users(root: Path) -> bool:
    try:
        pids = str((root / "proc/self/ns/pid").readlink())
        ipc = str((root / "proc/self/ns/ipc").readlink())
    except OSError:
        return False
    return pids == _FIRST_PID_NAMESPACE or ipc != _FIRST_IPC_NAMESPACE


def _used(root: Path) -> set[str] | None:
    """Return the names that processes have open or mapped, or None where one of them may not be looked at."""
    used: set[str] = set()
    for process in processes(root):
        opened = open_files(process)
        if opened is None:
            return None
        used |= {path[9:] for path in opened if path.startswith("/dev/shm/")}
        used |= {match[1] for match in re.finditer(r" /dev/shm/(\S.*)$", text(process / "maps"), re.MULTILINE)}
    return used
