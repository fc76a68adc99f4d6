"""How much processor time and memory a check may take: it ends with a clear message instead of taking a machine.

The budget is asked at each step of reading and before each rule, and a timer asks in the middle of what has no steps:
one rule, one expression. What was left out is said as PD014.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass

if sys.platform != "emscripten":
    import resource

SECONDS = 60.0
"""Seconds of processor time, for reading all files of a call and again for the rules."""
MEMORY = 2 << 30
"""Bytes that the process may grow by."""
_EVERY = 32
_BETWEEN = 0.25
"""Seconds of processor time between two looks of the timer."""
_UNIT = 1 if sys.platform == "darwin" else 1024


class Spent(Exception):
    """The budget is used up: which part of it."""

    def __init__(self, limit: Msg) -> None:
        super().__init__(limit.en)
        self.limit = limit


@dataclass
class _Budget:
    seconds: float
    memory: int
    began: float
    held: int
    steps: int = 0

    def look(self) -> None:
        """Raise :class:`Spent` if the budget is used up."""
        if time.process_time() - self.began > self.seconds:
            en = f"the check has used up its {self.seconds:g} s of processor time"
            raise Spent(Msg(en, f"一次检查的 {self.seconds:g} 秒处理器时间已用完"))
        if _held() - self.held > self.memory:
            size = f"{self.memory >> 20} MiB"
            raise Spent(Msg(f"the check has used up its {size} of memory", f"一次检查的 {size} 内存已用完"))


_current: list[_Budget] = []
_interruptible = [0]
"""How many contexts are open that take up :class:`Spent` from anywhere inside."""


@contextmanager
def limited(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Give what is done inside a budget of its own."""
    _current.append(_Budget(seconds, memory, time.process_time(), _held()))
    try:
        with _timer() if len(_current) == 1 and _has_signals() else nullcontext():
            yield
    finally:
        _current.pop()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let what is done inside be ended in the middle of a step, where the budget is used up there.

    Raises:
        Spent: it is used up. What was being changed may be half done.
    """
    _interruptible[0] += 1
    try:
        yield
    finally:
        _interruptible[0] -= 1


@contextmanager
def _timer() -> Iterator[None]:
    """Look at the budget now and then, in processor time."""
    before = signal.signal(signal.SIGPROF, _on_timer)
    signal.setitimer(signal.ITIMER_PROF, _BETWEEN, _BETWEEN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _on_timer(*_: object) -> None:
    if _interruptible[0]:
        look()


def _has_signals() -> bool:
    """Whether a timer can interrupt this thread: not where others use this as a library in one of their own."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def step() -> None:
    """Count a step, and look at the budget from time to time.

    Raises:
        Spent: it is used up.
    """
    if _current:
        budget = _current[-1]
        budget.steps += 1
        if budget.steps % _EVERY == 0:
            budget.look()


def look() -> None:
    """Look at the budget now.

    Raises:
        Spent: it is used up.
    """
    if _current:
        _current[-1].look()


def is_spent() -> bool:
    """Whether the budget is used up."""
    try:
        look()
    except Spent:
        return True
    return False


def _held() -> int:
    """Return the most bytes that the process held so far; 0 where nobody counts them."""
    if sys.platform == "emscripten":
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
