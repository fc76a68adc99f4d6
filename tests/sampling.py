"""The two sizes of a suite: a sample that a seed chooses, and the whole.

PD_TEST_SAMPLE=all takes the whole (``make test-all``). PD_TEST_SEED chooses another sample; a run prints its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
WHOLE = os.environ.get("PD_TEST_SAMPLE") == "all"
SEED = int(os.environ.get("PD_TEST_SEED") or 1)


def sample(items: Sequence[T], share: float, salt: str = "") -> list[T]:
    """Return a share of ``items``, at least one, in their order; all of them where the whole is asked for.

    ``salt`` makes several samples of one run differ. The same seed gives the same sample in every process.
    """
    if WHOLE or not items:
        return list(items)
    chosen = Random(f"{SEED} {salt}").sample(range(len(items)), max(1, round(len(items) * share)))
    return [items[number] for number in sorted(chosen)]


def thinned(items: Sequence[T], one_in: int, group: Callable[[T], str]) -> list[T]:
    """Return the first of each group and one in ``one_in`` of all others, in their order."""
    seen: set[str] = set()
    firsts = {number for number, item in enumerate(items) if not (group(item) in seen or seen.add(group(item)))}
    others = [number for number in range(len(items)) if number not in firsts]
    chosen = set(sample(others, 1 / one_in, "thinned")) if one_in > 1 else set(others)
    return [item for number, item in enumerate(items) if number in firsts or number in chosen]


def size(sampled: int, whole: int) -> int:
    """Return how many generated inputs a run takes."""
    return whole if WHOLE else sampled


def said() -> str:
    """Return what a run says of its samples."""
    if WHOLE:
        return f"samples: all of it, seed {SEED} (another one: PD_TEST_SEED=N)"
    return f"samples: seed {SEED} (another one: PD_TEST_SEED=N; all of it: PD_TEST_SAMPLE=all)"
