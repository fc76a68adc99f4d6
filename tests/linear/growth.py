"""Growth of work with its input, by the ratio of processor times of one run: no second is compared with another's."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

STEP = 4
"""How much longer the longer input is: linear work takes 4 times as long, quadratic work 16 times."""
MOST = 8.5
_TRIES = 4


def seconds(work: Callable[[int], object], size: int) -> float:
    """Return the processor time of one call."""
    gc.disable()
    begun = time.process_time()
    work(size)
    took = time.process_time() - begun
    gc.enable()
    return took


def ratio(work: Callable[[int], object], start: int, least: float, most: int) -> tuple[float, int]:
    """Return how much longer ``work(4 n)`` takes than ``work(n)``, and n, the first at which that can be measured.

    A ratio that is too large is measured again, and the smallest counts: a busy machine only ever adds to one of both.

    Args:
        work: what is done for an input of a size.
        start: the first size.
        least: seconds that the smaller input must take; inputs of up to ``most`` that take less are quick enough.
        most: the largest size.
    """
    work(start)  # what is only loaded once
    size, before = start, seconds(work, start)
    while before < least and size * STEP <= most:
        size *= 2
        before = seconds(work, size)
    if before < least:
        return 0.0, size
    found = []
    for _ in range(_TRIES):
        after = seconds(work, STEP * size)
        found.append(after / max(before, least))
        if found[-1] <= MOST or after > 40 * before:
            break
        before = max(before, seconds(work, size))
    return min(found), size
