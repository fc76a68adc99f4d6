"""The front: the process that the user started. It hands signals to the keeper, and waits for it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from pd_launch.launcher.supervise.family import adopt_orphans, exit_status, kill_all
from pd_launch.launcher.supervise.keeper import Keeper
from pd_launch.launcher.supervise.rank import STOPPING, Rank

_FAILED = 70
"""Exit status of a supervisor that fails itself (EX_SOFTWARE)."""


def supervise(ranks: Sequence[Rank], grace: float) -> int:
    """Run engines side by side until all have ended, and return the status of the first that failed, else 0.

    Must be called before this process has threads.

    Raises:
        OSError: not even a process of our own can be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    life, held = os.pipe()
    adopt_orphans()
    pid = os.fork()
    if pid == 0:
        os.close(held)
        _keep(ranks, grace, life)
    os.close(life)
    return _wait(pid)


def _keep(ranks: Sequence[Rank], grace: float, life: int) -> None:
    status = _FAILED
    try:
        os.setsid()  # a terminal's Ctrl-C reaches the front alone, which passes it on once
        status = Keeper(ranks, grace, life).run()
    except BaseException as error:  # noqa: BLE001  whatever it is, the engines must not stay
        os.write(2, f"pd-launch: the supervisor failed: {type(error).__name__}: {error}\n".encode())
        kill_all(lambda _: None)
    os._exit(status)


def _wait(keeper: int) -> int:
    def forward(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper, number)

    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a background job of a script
            signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    while True:
        pid, raw = os.waitpid(-1, 0)
        if pid == keeper:
            break
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    if os.WIFSIGNALED(raw):  # the engines are ours now
        print("pd-launch: the supervisor was killed; killing the engines", file=sys.stderr, flush=True)
        kill_all(lambda _: None)
    return exit_status(raw)
