"""The engines' output, line by line, each with its rank in front."""

from __future__ import annotations

import os
import queue
import re
import threading
from typing import IO

MAX_LINE = 64 * 1024
_CHUNK = 64 * 1024
_ENDS = re.compile(rb"\r\n|\n|\r")


class Sink:
    """One of our own outputs. A disk that is full loses lines, never an engine; what was lost is counted and said."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._lost = 0
        self._why = ""

    def line(self, line: bytes) -> None:
        """Write a line; threads may call this at the same time."""
        with self._lock:
            if self._lost:
                note = f"pd-launch: {self._lost} lines of output were lost here: {self._why}\n".encode()
                if self._write(note):
                    self._lost = 0
            if self._lost or not self._write(line + b"\n"):
                self._lost += 1

    def _write(self, data: bytes) -> bool:
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self._why = error.strerror or "unknown error"
            return False
        return True


class Voice(threading.Thread):
    """Writes our own messages, in a thread: who says something never waits for a reader that does not read."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(daemon=True, name="messages")
        self._sink = sink
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def say(self, text: str) -> None:
        """Write a message, soon."""
        self._waiting.put(text)

    def close(self) -> None:
        """End the thread when all is written."""
        self._waiting.put(None)

    def run(self) -> None:
        """Write until closed."""
        while (text := self._waiting.get()) is not None:
            self._sink.line(f"pd-launch: {text}".encode())


class Pump(threading.Thread):
    """Reads one output of one engine to its end."""

    def __init__(self, name: str, source: IO[bytes], sink: Sink) -> None:
        super().__init__(daemon=True, name=f"output of {name}")
        self._prefix = f"[{name}] ".encode()
        self._source = source
        self._sink = sink

    def run(self) -> None:
        """Pass lines on; a progress bar's carriage return ends a line, and a very long line is cut."""
        rest = b""
        while True:
            try:
                chunk = os.read(self._source.fileno(), _CHUNK)
            except OSError:
                chunk = b""
            if not chunk:
                break
            *lines, rest = _ENDS.split(rest + chunk)
            if len(rest) > MAX_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._sink.line(self._prefix + line)
        if rest:
            self._sink.line(self._prefix + rest)
