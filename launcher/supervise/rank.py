"""One engine of a supervised launch."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import field

from pd_launch.launcher.supervise.family import die_with_parent
from pd_launch.schemas.core.record import dataclass

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
IGNORED = (signal.SIGUSR1, signal.SIGUSR2)
"""Signals that would end us without a word; nobody means that."""
_OURS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
"""What systemd tells the keeper only."""


@dataclass(frozen=True)
class Rank:
    """What is started. ``argv[0]`` is the program's path; ``env`` is added to the present environment.

    ``health`` are the addresses at which its servers say that they are ready; none where it serves no HTTP.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    health: Sequence[str] = ()


def start(rank: Rank) -> subprocess.Popen[bytes]:
    """Start an engine in a session, and so a process group, of its own: a terminal's Ctrl-C reaches it through us only.

    Must be called before this process has threads.

    Raises:
        OSError: it cannot be executed.
    """
    parent = os.getpid()

    def before_exec() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # TERM lets an engine end its own processes; it counts only where both of our processes were killed
        die_with_parent(parent, signal.SIGTERM)

    return subprocess.Popen(
        list(rank.argv),
        env={name: value for name, value in {**os.environ, **rank.env}.items() if name not in _OURS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=before_exec,
    )
