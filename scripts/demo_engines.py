"""Starting and stopping the engines of the demo, so that none outlives it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

import psutil

PR_SET_PDEATHSIG = 1
START_SECONDS = 420.0
GRACE_SECONDS = 20.0
CHILDREN_SECONDS = 5.0
_PORTS = range(10_240, 20_000)
STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DemoError(Exception):
    """Why the demo cannot go on, in words for the user."""


class _Interrupts:
    """The first of SIGINT, SIGTERM and SIGHUP raises KeyboardInterrupt, at once or when it may; later ones do nothing.

    An engine must not be lost because a signal came while it was being started or stopped.
    """

    def __init__(self) -> None:
        self._held = 0
        self._came = False

    def install(self) -> None:
        """Take the signals over, until the process ends; not those that whoever started it wants ignored."""
        for number in STOPPING_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        for each in STOPPING_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        self._came = True
        if not self._held:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let a signal wait for the end of this block."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._came and not self._held:
            raise KeyboardInterrupt  # once more where it was raised before: a finalizer may have swallowed that one


interrupts = _Interrupts()


def free_ports(count: int) -> list[int]:
    """Return ``count`` different TCP ports of 127.0.0.1 that nothing listens on now.

    They are below those that the kernel gives to whoever asks for any port: an engine binds them only seconds later.
    """
    sockets: list[socket.socket] = []
    try:
        for port in random.sample(_PORTS, len(_PORTS)):
            if len(sockets) == count:
                break
            one = socket.socket()
            sockets.append(one)
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                sockets.pop().close()
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _end_with_parent() -> None:
    # Also when this program is killed outright, its engines get a SIGTERM from the kernel.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


class Engine:
    """One ``vllm serve`` and its children: started by ``with``, and nothing of it is left after that block."""

    def __init__(self, name: str, command: Sequence[str], env: dict[str, str], port: int, log: pathlib.Path) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        self._command = command
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> None:
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                self._command,
                env=os.environ | self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=sys.platform == "linux",  # Ctrl-C reaches us alone, and we stop them in order
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )

    def check(self) -> None:
        """Raise DemoError, with the end of the log, when the engine has ended."""
        status = self._process.poll() if self._process else None
        if status is not None:
            lines = self.log.read_text(errors="replace").strip().splitlines()[-25:]
            text = "\n".join(f"  | {line[:300]}" for line in lines)
            raise DemoError(
                f"the {self.name} engine ended by itself (exit status {status}); end of {self.log}:\n{text}"
            )

    def is_healthy(self) -> bool:
        """Return whether the engine answers on /health."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def __enter__(self) -> Engine:
        try:
            with interrupts.held():
                self._start()
        except KeyboardInterrupt:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        with interrupts.held():
            self.stop()

    def stop(self) -> None:
        """End the engine and return when nothing of it is left.

        Its own process gets the signal and ends its children, which a signal to all of them would disturb. What does
        not end by itself is killed.
        """
        process = self._process
        if process is None:
            return
        tree = _session(process.pid)
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            tree = _session(process.pid)
            process.kill()
            process.wait()
        _, left = psutil.wait_procs(tree, timeout=CHILDREN_SECONDS)
        for child in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(left, timeout=CHILDREN_SECONDS)


def _session(leader: int) -> list[psutil.Process]:
    """Every process of a session but its leader: also those whose own parent is gone."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != leader and os.getsid(process.pid) == leader:
                found.append(process)
        except (OSError, psutil.Error):
            continue
    return found


def wait_until_healthy(engines: Sequence[Engine], tell: Callable[[str], None]) -> None:
    """Wait until every engine answers.

    Raises:
        DemoError: one ended, or they took longer than seven minutes.
    """
    waiting = list(engines)
    start = told = time.monotonic()
    while waiting:
        for engine in list(waiting):
            engine.check()
            if engine.is_healthy():
                waiting.remove(engine)
                tell(f"the {engine.name} engine is up")
        now = time.monotonic()
        names = ", ".join(engine.name for engine in waiting)
        if waiting and now - start > START_SECONDS:
            logs = ", ".join(str(engine.log) for engine in waiting)
            raise DemoError(f"not up after {START_SECONDS:.0f} s: {names}; see {logs}")
        if waiting and now - told >= 15:
            told = now
            tell(f"… starting: {names}")
        time.sleep(0.5)
