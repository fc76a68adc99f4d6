"""All processes below this one, and how to end them. Nothing here needs privileges, in a container or outside."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

_SET_DEATH_SIGNAL = 1
_SET_SUBREAPER = 36
_TRACKER_SECONDS = 1.0
_GIVE_UP_SECONDS = 30.0
_LIBC = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends, so that none escapes (Linux)."""
    _LIBC.prctl(_SET_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int, number: int) -> None:
    """Ask the kernel for signal ``number`` when the parent ends; end at once where it already has."""
    _LIBC.prctl(_SET_DEATH_SIGNAL, number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + number)


def sees_processes() -> bool:
    """Whether /proc shows this process by its own number, and so the processes below it.

    It does not in a new process namespace that still has the old one's /proc: numbers read there are other processes'.
    """
    try:
        return str(Path("/proc/self").readlink()) == str(os.getpid())
    except OSError:
        return False


def descendants() -> list[psutil.Process]:
    """Return all living processes below this one, whatever group or session they are in."""
    try:
        found = psutil.Process().children(recursive=True)
    except psutil.Error:
        return []
    return [process for process in found if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def send(processes: Iterable[psutil.Process], number: int) -> None:
    """Send a signal; who has just ended is left out."""
    for process in processes:
        try:
            process.send_signal(number)
        except (psutil.Error, OSError):
            continue


def reap() -> dict[int, int]:
    """Collect all children that have ended: exit status by pid, 128 + N where signal N ended it."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = exit_status(raw)


def exit_status(raw: int) -> int:
    """Return a shell's form of what waitpid says."""
    code = os.waitstatus_to_exitcode(raw)
    return 128 - code if code < 0 else code


def kill_all(reaped: Callable[[dict[int, int]], None]) -> list[int]:
    """End everything below this process; return the pids that even KILL does not end (they hang in a driver).

    Python's resource trackers go last: they unlink the shared memory of those that were killed. ``reaped`` is given
    whoever ends meanwhile.
    """
    began = time.monotonic()
    while True:
        left = descendants()
        reaped(reap())
        if not left or time.monotonic() > began + _GIVE_UP_SECONDS:
            return [process.pid for process in left]
        spare = time.monotonic() < began + _TRACKER_SECONDS
        send([process for process in left if not (spare and _is_tracker(process))], signal.SIGKILL)
        time.sleep(0.02)


def _is_tracker(process: psutil.Process) -> bool:
    try:
        return any("multiprocessing.resource_tracker" in word for word in process.cmdline())
    except psutil.Error:
        return False
