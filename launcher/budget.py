"""How much processor time and memory a check may take: it ends with a clear message instead of taking a machine.

The budget is asked at each step of reading and of the rules. What was left out is said as PD014.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SECONDS = 60.0
"""Seconds of processor time, for reading all files of a call and again for the rules."""
MEMORY = 2 << 30
"""Bytes that the process may grow by."""
_EVERY = 32
_UNIT = 1 if sys.platform == "darwin" else 1024


class Spent(Exception):
    """The budget is used up: which part of it, in English and Chinese."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.limit, self.limit_zh = en, zh


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
            en = f"the {self.seconds:g} s of processor time that a check may take are used up"
            raise Spent(en, f"一次检查的 {self.seconds:g} 秒处理器时间已用完")
        if _held() - self.held > self.memory:
            size = f"{self.memory >> 20} MiB"
            raise Spent(f"the {size} of memory that a check may take are used up", f"一次检查的 {size} 内存已用完")


_current: list[_Budget] = []


@contextmanager
def limited(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Give what is done inside a budget of its own."""
    _current.append(_Budget(seconds, memory, time.process_time(), _held()))
    try:
        yield
    finally:
        _current.pop()


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
    """Return the most bytes that the process held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
