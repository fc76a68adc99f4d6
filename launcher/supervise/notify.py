"""What systemd is told of a unit of Type=notify: that it serves, that it is well, that it stops."""

from __future__ import annotations

import contextlib
import os
import socket
import time

SOCKET = "NOTIFY_SOCKET"
_WATCHDOG = "WATCHDOG_USEC"


class Notifier:
    """Sends states to the service manager; says nothing where there is none."""

    def __init__(self, wanted: bool) -> None:
        path = os.environ.get(SOCKET, "") if wanted else ""
        self._address = "\0" + path[1:] if path.startswith("@") else path
        every = os.environ.get(_WATCHDOG, "")
        self._every = int(every) / 1e6 / 3 if every.isdecimal() else 0.0
        self._next = 0.0
        self._ready = False

    def ready(self) -> None:
        """Say once that all engines serve."""
        if not self._ready:
            self._ready = True
            self._send("READY=1\nSTATUS=all engines are ready")

    def stopping(self) -> None:
        """Say that the engines are being stopped."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """Say that all is well, as often as the manager wants to hear it."""
        if self._every and time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            self._send("WATCHDOG=1")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.settimeout(1.0)
            channel.sendto(state.encode(), self._address)
