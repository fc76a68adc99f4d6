"""The engines' output, line by line, each with its rank in front."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path
from typing import IO

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.words import agreeing

MAX_LINE = 64 * 1024
WAITING = 4 * 1024 * 1024
"""Bytes that may wait for a reader; what comes beyond is dropped and counted."""
_CHUNK = 64 * 1024
_ENDS = lazy_pattern(rb"\r\n|\n|\r")
_SLOW = "nothing reads them fast enough"


class Sink(threading.Thread):
    """One output of ours, written by a thread of its own: who hands a line over never waits.

    A disk that is full, a reader that is gone or does not read loses lines, never an engine; what was lost is counted
    and said where it is missing. ``write`` takes bytes, and raises OSError where it cannot.
    """

    def __init__(self, write: Callable[[bytes], None], name: str = "output") -> None:
        super().__init__(daemon=True, name=name)
        self._write_bytes = write
        self._change = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._lost = 0
        self._why = ""
        self._closed = False

    def line(self, line: bytes, *, ours: bool = False) -> None:
        """Hand a line over; threads may do so at the same time. Our own messages are never dropped for want of room."""
        with self._change:
            if self._size + len(line) > WAITING and not ours:
                self._lost += 1
                self._why = _SLOW
                return
            self._waiting.append(line)
            self._size += len(line)
            self._change.notify()

    def close(self) -> None:
        """End the thread when all is written."""
        with self._change:
            self._closed = True
            self._change.notify()

    def run(self) -> None:
        """Write until closed."""
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    self._change.wait()
                if not self._waiting:
                    break
                line = self._waiting.popleft()
            self._put(line)
            with self._change:
                self._size -= len(line)
        self._say_lost()

    def _put(self, line: bytes) -> None:
        if not self._say_lost() or not self._write(line + b"\n"):
            with self._change:
                self._lost += 1

    def _say_lost(self) -> bool:
        """Say how many lines are missing, if any; False where that cannot be written either."""
        with self._change:
            lost, why = self._lost, self._why
        if not lost:
            return True
        if not self._write(
            f"pd-launch: {counted(lost, 'line')} of output {agreeing(lost, 'was', 'were')} lost here: {why}\n".encode()
        ):
            return False
        with self._change:
            self._lost -= lost
        return True

    def _write(self, data: bytes) -> bool:
        try:
            self._write_bytes(data)
        except OSError as error:
            self._why = error.strerror or "unknown error"
            return False
        return True


def to_descriptor(descriptor: int) -> Callable[[bytes], None]:
    """Return a function that writes all of what it is given."""

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(descriptor, data) :]

    return write


class RotatedFile:
    """A log file: ``PATH``, and once it is full ``PATH.1``, ``PATH.2`` …, of which the last is the oldest."""

    def __init__(self, path: Path, most: int, files: int) -> None:
        self._path, self._most, self._files = path, most, files
        self._file: FileIO | None = None
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write a line.

        Raises:
            OSError: it cannot be written, or the files not be renamed.
        """
        if self._file is not None and self._size + len(data) > self._most:
            self._rotate()
        if self._file is None:
            self._file = FileIO(self._path, "ab")
            self._size = self._path.stat().st_size
        self._file.write(data)
        self._size += len(data)

    def _rotate(self) -> None:
        assert self._file is not None
        self._file.close()
        self._file = None
        names = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._files))]
        for newer, older in reversed(list(itertools.pairwise(names))):
            if newer.exists():
                newer.replace(older)
        if self._files == 1:
            self._path.unlink()


class Last:
    """The last line that a rank wrote, for a message about it."""

    def __init__(self) -> None:
        self.line = b""

    def text(self) -> str:
        """Return it as text, cut; an empty text where there is none."""
        shown = self.line.decode(errors="replace").strip()
        return shown if len(shown) <= 200 else f"{shown[:199]}…"


class Pump(threading.Thread):
    """Reads one output of one engine to its end, into the sinks; ``file`` gets the lines without the rank."""

    def __init__(self, name: str, source: IO[bytes], sinks: Sequence[Sink], file: Sink | None, last: Last) -> None:
        super().__init__(daemon=True, name=f"output of {name}")
        self._prefix = f"[{name}] ".encode()
        self._source = source
        self._sinks = sinks
        self._file = file
        self._last = last

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
                self._pass(line)
        if rest:
            self._pass(rest)

    def _pass(self, line: bytes) -> None:
        if line.strip():
            self._last.line = line
        for sink in self._sinks:
            sink.line(self._prefix + line)
        if self._file is not None:
            self._file.line(line)
