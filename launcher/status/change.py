"""What happened between two readings of one engine, which may have been started anew between them."""

from __future__ import annotations

from pd_launch.launcher.status.page import Histogram, Numbers, Reading
from pd_launch.schemas.core.record import dataclass

_SAME = 1.5
"""Seconds by which two pages of one process may differ about its start."""


@dataclass(frozen=True)
class Change:
    """Counts and histograms of the time between; ``restarted``: since the engine's new start."""

    numbers: Numbers
    restarted: bool


def change(before: Reading, after: Reading) -> Change:
    """Return what was counted between two readings; a count that fell began anew at zero."""
    old, new = before.whole, after.whole
    anew = before.started is not None and after.started is not None and abs(after.started - before.started) > _SAME
    anew = anew or any(new.values.get(key, 0.0) < old.values[key] for key in old.counters & new.counters)
    anew = anew or any(
        new.histograms[key].count < old.histograms[key].count for key in old.histograms.keys() & new.histograms.keys()
    )
    if anew:
        return Change(Numbers(_counted(new), new.counters, new.histograms), True)
    values = {key: value - old.values.get(key, 0.0) for key, value in _counted(new).items()}
    histograms = {key: found.add(old.histograms.get(key, Histogram()), -1) for key, found in new.histograms.items()}
    return Change(Numbers(values, new.counters, histograms), False)


def _counted(numbers: Numbers) -> dict[str, float]:
    return {key: value for key, value in numbers.values.items() if key in numbers.counters}
