"""What engines leave in /dev/shm: files that are new and that no living process maps, as other engines' are."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import psutil

SHARED_MEMORY = Path("/dev/shm")


def present() -> set[Path]:
    """Return what is there now."""
    return set(SHARED_MEMORY.iterdir())


def left_since(before: set[Path], seconds: float = 20) -> set[Path]:
    """Return what came since and nobody uses, if it does not go within some seconds; the caller's engines are over."""
    deadline = time.monotonic() + seconds
    left = present() - before - _in_use()
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = (left & present()) - _in_use()  # what comes meanwhile is of other engines
    return left


def _in_use() -> set[Path]:
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            found |= {Path(region.path) for region in process.memory_maps() if region.path.startswith("/dev/shm/")}
    return found
