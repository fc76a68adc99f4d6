"""What setup_engine.py does its work with: quiet commands, signs of life, locks, and errors that say what to do."""

from __future__ import annotations

import contextlib
import fcntl
import pathlib
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

COMMAND_SECONDS = 2400.0
TICK_SECONDS = 20.0
# What pip prints → what to do about it.
HINTS = {
    (
        "name resolution",
        "Name or service not known",
        "Network is unreachable",
        "NewConnectionError",
        "Connection refused",
        "ConnectTimeoutError",
        "Read timed out",
        "ProxyError",
    ): "pip cannot reach its package index: check the network, a proxy, and `pip config list`; what is already "
    "installed is kept for the next call",
    ("No space left on device", "Disk quota exceeded"): "the disk is full: free space, or set PD_LAUNCH_CACHE to a "
    "folder on a larger one",
    (
        "ensurepip is not available",
        "No module named venv",
        "No module named ensurepip",
    ): "this Python cannot make virtual environments: install its venv package (python3-venv on Debian and Ubuntu)",
    ("No matching distribution found",): "pip's package index has no fitting file: is it complete, and is this "
    "a Python for which vLLM has CPU builds (3.11 to 3.13, Linux on x86-64 or arm64)?",
}


class SetupError(Exception):
    """What could not be installed, in words for the user."""


def say(text: str) -> None:
    """Print one line of progress on standard error."""
    print(f"setup_engine: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """Print ``what``, then a sign of life every 20 seconds until the block ends."""
    done = threading.Event()
    start = time.monotonic()

    def tick() -> None:
        while not done.wait(TICK_SECONDS):
            say(f"{what} … {time.monotonic() - start:.0f} s")

    say(what)
    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def hint(output: str) -> str:
    """Return what to do about a failed command, from what it printed; empty when that is not known."""
    for signs, advice in HINTS.items():
        if any(sign in output for sign in signs):
            return advice
    return ""


def run(what: str, *command: str | pathlib.Path, timeout: float = COMMAND_SECONDS) -> str:
    """Run ``command`` quietly and return what it printed.

    Raises:
        SetupError: it failed or did not end in ``timeout`` seconds; with the end of what it printed and what to do.
    """
    with progress(what):
        try:
            done = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SetupError(f"{what}: no end after {timeout:.0f} s") from None
        except OSError as error:
            raise SetupError(f"{what}: cannot run {command[0]}: {error.strerror}") from None
    if done.returncode:
        tail = "\n".join(f"  | {line}" for line in done.stdout.strip().splitlines()[-15:])
        advice = hint(done.stdout)
        raise SetupError(f"{what}: failed\n{tail}" + (f"\n{advice}" if advice else ""))
    return done.stdout


@contextlib.contextmanager
def locked(name: pathlib.Path) -> Iterator[None]:
    """Hold the lock file ``name``, so that two calls never build the same thing at once."""
    try:
        name.parent.mkdir(parents=True, exist_ok=True)
        lock = name.open("w")
    except OSError as error:
        raise SetupError(
            f"cannot write {name}: {error.strerror}; set PD_LAUNCH_CACHE to a folder that can be written"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress(f"waiting for another setup ({name.stem})"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def need_space(folder: pathlib.Path, needed: int) -> None:
    """Raise SetupError when the file system of ``folder`` has fewer than ``needed`` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupError(
            f"{needed / 1e9:.1f} GB are needed in {folder}, {free / 1e9:.1f} GB are free: "
            "free space, or set PD_LAUNCH_CACHE to a folder on a larger disk"
        )
