"""The front: the process that the user started. It hands signals to the keeper, and waits for it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from pd_launch.launcher.supervise.family import adopt_orphans, exit_status, kill_all
from pd_launch.launcher.supervise.keeper import Keeper
from pd_launch.launcher.supervise.rank import IGNORED, STOPPING, Rank
from pd_launch.launcher.supervise.watch import Watch

_FAILED = 70
"""Exit status of a supervisor that fails itself (EX_SOFTWARE)."""
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 120.0
_STEADY = 600.0
"""Seconds after which a launch counts as one that worked: what follows is a new failure."""


def supervise(ranks: Sequence[Rank], grace: float, watch: Watch | None = None) -> int:
    """Run engines side by side until all have ended, and return the status of the first that failed, else 0.

    Where ``watch`` allows it, all are started anew after a failure. Must be called before this process has threads.

    Raises:
        OSError: not even a process of our own can be started.
    """
    watch = watch or Watch()
    _open_standard()
    adopt_orphans()
    front = _Front(ranks, grace, watch)
    tries, pause = 0, _FIRST_PAUSE
    while True:
        began = time.monotonic()
        status = front.run()
        if time.monotonic() - began > _STEADY:
            tries, pause = 0, _FIRST_PAUSE
        if front.asked or tries >= watch.restarts:
            return status
        tries += 1
        _say(f"starting all engines again in {pause:g} s, {tries} of {watch.restarts}")
        if front.pause(pause):
            return status
        pause = min(2 * pause, _LONGEST_PAUSE)


def _open_standard() -> None:
    """Open what was closed of the standard descriptors: else a pipe of ours would take its number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"pd-launch: {text}\n".encode())


def _keep(ranks: Sequence[Rank], grace: float, life: int, watch: Watch) -> None:
    status = _FAILED
    try:
        os.setsid()  # a terminal's Ctrl-C reaches the front alone, which passes it on once
        status = Keeper(ranks, grace, life, watch).run()
    except BaseException as error:  # noqa: BLE001  whatever it is, the engines must not stay
        os.write(2, f"pd-launch: the supervisor failed: {type(error).__name__}: {error}\n".encode())
        kill_all(lambda _: None)
    os._exit(status)


class _Front:
    """The process that was started. Signals go on to the keeper that runs now; QUIT as TERM."""

    def __init__(self, ranks: Sequence[Rank], grace: float, watch: Watch) -> None:
        self._ranks, self._grace, self._watch = ranks, grace, watch
        self._keeper = 0
        self.asked = False
        """Whether a signal asked for the end."""
        for number in IGNORED:
            signal.signal(number, lambda *_: None)  # a handler, as what is ignored is so in the engines too
        for number in (*STOPPING, signal.SIGQUIT):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a background job of a script
                signal.signal(number, self._forward)

    def _forward(self, number: int, _: FrameType | None) -> None:
        self.asked = True
        if self._keeper:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._keeper, signal.SIGTERM if number == signal.SIGQUIT else number)

    def run(self) -> int:
        """Run a keeper to its end; return its status."""
        sys.stdout.flush()
        sys.stderr.flush()
        blocked = (*STOPPING, signal.SIGQUIT)
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        life, held = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(held)
            _keep(self._ranks, self._grace, life, self._watch)
        os.close(life)
        self._keeper = pid
        if self.asked:
            os.kill(pid, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)
        while True:
            ended, raw = os.waitpid(-1, 0)
            if ended == pid:
                break
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        self._keeper = 0
        os.close(held)
        if os.WIFSIGNALED(raw):  # the engines are ours now
            print("pd-launch: the supervisor was killed; killing the engines", file=sys.stderr, flush=True)
            kill_all(lambda _: None)
        return exit_status(raw)

    def pause(self, seconds: float) -> bool:
        """Wait; return whether a signal asked for the end meanwhile."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*STOPPING, signal.SIGQUIT))
        until = time.monotonic() + seconds
        while not self.asked and time.monotonic() < until:
            time.sleep(0.1)
        return self.asked
