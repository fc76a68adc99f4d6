"""A text that is drawn anew in the same place of a terminal."""

from __future__ import annotations

import contextlib
import queue
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TextIO

from pd_launch.launcher.wording.width import width
from pd_launch.schemas.core.lazy import lazy_pattern

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\033[H", "\033[K", "\033[J"
_ENTER, _LEAVE = "\033[?1049h\033[?25l", "\033[?25h\033[?1049l"
_SEQUENCE = lazy_pattern(r"\033\[[0-9;]{1,20}m")


class Screen:
    """The terminal while it shows one text: its second page, so that what was on the first is there afterwards."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._resized: queue.SimpleQueue[None] = queue.SimpleQueue()
        """An entry per signal. A signal may come while the same thread waits here, and only this queue allows that: an
        Event's lock is held for a moment at the begin of a wait, and the handler would wait for it for ever."""

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Take the terminal, and give it back as it was, whatever happens."""
        before = signal.signal(signal.SIGWINCH, self._note) if hasattr(signal, "SIGWINCH") else None
        self._write(_ENTER)
        try:
            yield
        finally:
            self._write(_LEAVE)
            if before is not None:
                signal.signal(signal.SIGWINCH, before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._resized.put(None)

    def wait(self, seconds: float, redraw: Callable[[], None]) -> None:
        """Let the time pass; whenever the terminal changes its size meanwhile, have the text drawn again."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                self._resized.get(timeout=left)
                while not self._resized.empty():
                    self._resized.get_nowait()
                redraw()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as they are now."""
        found = shutil.get_terminal_size()
        return max(20, found.columns), max(4, found.lines)

    def draw(self, text: str) -> None:
        """Show a text; lines and columns that there is no room for are left out, and the last line says so."""
        columns, lines = self.size
        rows = [cut(row, columns) for row in text.rstrip("\n").split("\n")]
        if len(rows) > lines:
            left = len(rows) - lines + 1
            rows = [*rows[: lines - 1], cut(f"… {left} more", columns)]
        body = "\n".join(f"{row}{_CLEAR_LINE}" for row in rows)
        self._write(f"{_HOME}{body}{_CLEAR_BELOW}")

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()


def cut(row: str, columns: int) -> str:
    """Cut a row to so many columns; colours take none, and are ended where they are cut off."""
    if width(_SEQUENCE.sub("", row)) <= columns:
        return row
    shown, used, place = "", 0, 0
    while place < len(row):
        found = _SEQUENCE.match(row, place)
        if found:
            shown, place = shown + found[0], found.end()
            continue
        wide = width(row[place])
        if used + wide > columns - 1:
            break
        shown, used, place = shown + row[place], used + wide, place + 1
    return f"{shown}…\033[0m" if "\033" in shown else f"{shown}…"
