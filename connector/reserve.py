"""Backs host memory ahead of need, and gives it back when it was long not needed. Pure Python.

A page that is written for the first time is cleared by the kernel first, which would be part of the step in which a
request is preempted. So pages are had before: as soon as requests are preempted, for some blocks beyond those in use.
Who never preempts never pays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol
from weakref import ReferenceType, ref

IDLE_SECONDS = 60.0  # so long must memory not have been needed, at least, and twice as long at most
MOST_AHEAD = 1 << 30  # bytes
SHARE_AHEAD = 8  # and no more than this part of the budget
BACK_BYTES = 32 << 20  # bytes at once, after which the thread rests as long
RELEASE_BYTES = 32 << 20  # bytes for which a save may have to wait
THREAD = "pd-launch-reserve"
Clock = Callable[[], float]


class Pages(Protocol):
    """The memory of a pool, by its blocks."""

    def back(self, first: int, stop: int) -> bool:
        """Back blocks with pages, as a write would, without changing a byte; False where the kernel cannot."""

    def release(self, first: int) -> None:
        """Give the pages of a block and all after it back; their content is lost."""


class Peak:
    """The highest number of the last while: the current period of the clock and the one before."""

    def __init__(self, period: float, clock: Clock) -> None:
        self._period = period
        self._clock = clock
        self._begin = clock()
        self._last = self._now = self._before = 0

    def add(self, value: int) -> None:
        """Take in the number that holds from here on."""
        self._turn()
        self._last = value
        self._now = max(self._now, value)

    def get(self) -> int:
        """Return the highest."""
        self._turn()
        return max(self._now, self._before)

    def _turn(self) -> None:
        over = int((self._clock() - self._begin) // self._period)
        if over > 0:
            self._before = self._now if over == 1 else self._last
            self._now = self._last
            self._begin += over * self._period


class Reserve:
    """Blocks below ``goal`` are to have pages: those in use of late, and ``ahead`` more.

    Args:
        pages: the memory.
        blocks: how many there are.
        block_bytes: bytes of one.
        ahead: blocks beyond those in use.
        idle: seconds after which memory that was not used is given back.
        clock: the time.
    """

    def __init__(
        self,
        pages: Pages,
        blocks: int,
        block_bytes: int,
        ahead: int,
        idle: float | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.lock = threading.Lock()  # held while blocks are written, and while pages are given back
        self._pages = pages
        self._blocks = blocks
        self._ahead = ahead
        self._idle = IDLE_SECONDS if idle is None else idle
        self._peak = Peak(self._idle, clock)
        self._used = 0
        self._backed = 0  # blocks below have pages, as far as is known
        self._back_blocks = max(1, BACK_BYTES // max(1, block_bytes))
        self._release_blocks = max(1, RELEASE_BYTES // max(1, block_bytes))
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._closed = threading.Event()

    @property
    def backed(self) -> int:
        """Blocks that have pages."""
        return self._backed

    def note(self, used_below: int | None, written: int) -> None:
        """Take in a step, with the lock held, before anything of it is written.

        Args:
            used_below: all blocks that anybody holds or a copy touches are below; None: not known.
            written: all blocks that this step writes are below; 0 for none.
        """
        if self._thread is None and not written:
            return  # nothing was ever saved
        self._used = max(written, self._used if used_below is None else used_below)
        self._peak.add(self._used)
        self._backed = max(self._backed, self._used)
        if self._thread is None:
            given = ref(self), self._wake, self._closed, self._idle / 4
            self._thread = threading.Thread(target=_run, args=given, name=THREAD, daemon=True)
            self._thread.start()
        elif self._backed < self._goal():
            self._wake.set()

    def _goal(self) -> int:
        peak = self._peak.get()
        return min(self._blocks, peak + self._ahead) if peak else 0

    def turn(self) -> float | None:
        """Do one piece of what is to be done; returns the seconds that it took, None where nothing was."""
        begin = time.monotonic()
        if self._backed < self._goal():
            if not self._back():
                self._ahead = 0  # an older kernel: pages come as they are used
        elif self._backed > self._goal():
            self._release()
        else:
            return None
        return time.monotonic() - begin

    def _back(self) -> bool:
        first = self._backed
        stop = min(self._goal(), first + self._back_blocks)
        if not self._pages.back(first, stop):
            return False
        with self.lock:
            self._backed = max(self._backed, stop)
        return True

    def _release(self) -> None:
        with self.lock:
            stop = self._backed
            first = max(self._goal(), self._used, stop - self._release_blocks)
            if first < stop:
                self._pages.release(first)
                self._backed = first

    def settle(self, seconds: float = 60.0) -> None:
        """Wait until nothing is left to back, for measurements."""
        end = time.monotonic() + seconds
        while self._thread is not None and self._backed < self._goal() and time.monotonic() < end:
            time.sleep(0.005)

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()


def _run(reserve: ReferenceType[Reserve], wake: threading.Event, closed: threading.Event, pause: float) -> None:
    """Turn it until it is closed, or its pool was given up without a word: the thread keeps neither alive."""
    while not closed.is_set():
        here = reserve()
        if here is None:
            return
        took = here.turn()
        del here
        if took is None:
            wake.wait(pause)
            wake.clear()
        else:
            closed.wait(took)  # no more than half of the time
