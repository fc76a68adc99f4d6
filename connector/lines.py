"""Log lines about single requests, written by a thread a moment after the step that they are about.

A line takes as long as a small copy, and the step in which a request is preempted is one in which all others wait. The
lines keep their order, the time at which they were told and the place that told them. Pure Python.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections import deque
from weakref import WeakSet

DELAY = 0.02  # seconds, in which a step goes on to the model
THREAD = "pd-launch-lines"


class Lines:
    """Writes to a logger at level INFO, later."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._closed = False
        self.begin()
        _ALL.add(self)

    def begin(self) -> None:
        """Begin with nothing told, as a fork does: it has neither the thread nor a say in what its parent tells."""
        self._waiting: deque[tuple[float, str, int, str, tuple[object, ...]]] = deque()
        self._writing = threading.Lock()
        self._told = threading.Event()
        self._thread: threading.Thread | None = None

    def info(self, text: str, *values: object) -> None:
        """Take in a line; as ``Logger.info``."""
        if not self._logger.isEnabledFor(logging.INFO):
            return
        caller = sys._getframe(1)
        self._waiting.append((time.time(), caller.f_code.co_filename, caller.f_lineno, text, values))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
            self._thread.start()
        if not self._told.is_set():
            self._told.set()

    def flush(self) -> None:
        """Write what is waiting, now."""
        with self._writing:
            while self._waiting:
                told, path, number, text, values = self._waiting.popleft()
                record = self._logger.makeRecord(self._logger.name, logging.INFO, path, number, text, values, None)
                record.created, record.msecs = told, (told - int(told)) * 1000
                self._logger.handle(record)

    def close(self) -> None:
        """Write what is waiting and end the thread."""
        self._closed = True
        self._told.set()
        self.flush()

    def _run(self) -> None:
        while not self._closed:
            self._told.wait()
            self._told.clear()
            time.sleep(DELAY)
            self.flush()


_ALL: WeakSet[Lines] = WeakSet()


@atexit.register
def _flush_all() -> None:
    for lines in list(_ALL):
        lines.flush()


def _begin_all() -> None:
    for lines in list(_ALL):
        lines.begin()


os.register_at_fork(after_in_child=_begin_all)
