"""A saved /metrics page as a workload: lengths are drawn from its histograms."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from random import Random

from pd_launch.launcher.simulate.workload import Workload, WorkloadError
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.sim.work import Job

PROMPT = "vllm:request_prompt_tokens"
OUTPUT = "vllm:request_generation_tokens"
MOST = 1000
_BUCKET = lazy_pattern(
    r"(?P<name>vllm:request_(?:prompt|generation)_tokens)_bucket\{(?P<labels>[^}]{0,2000})\} (?P<count>\S{1,30})"
)
_BOUND = lazy_pattern(r'\ble="(?P<le>[^"]{1,30})"')


def is_page(text: str) -> bool:
    """Whether a text is such a page."""
    return f"{PROMPT}_bucket" in text


def from_page(text: str, name: str, seed: int, requests: int | None) -> Workload:
    """Return requests whose lengths are distributed as the page says, all there at the beginning.

    Raises:
        WorkloadError: a histogram is missing or empty.
    """
    counts: dict[str, dict[float, float]] = {PROMPT: {}, OUTPUT: {}}
    for line in text.splitlines():
        match = _BUCKET.match(line)
        bound = _BOUND.search(match["labels"]) if match else None
        if match and bound:
            buckets = counts[match["name"]]
            try:
                key, count = float(bound["le"]), float(match["count"])
            except ValueError:
                raise WorkloadError(f"{name}: a bucket of {match['name']} is not a number") from None
            buckets[key] = buckets.get(key, 0.0) + count  # several engines on one page
    random = Random(seed)
    drawn = {series: _Drawn(series, buckets, name) for series, buckets in counts.items()}
    count = requests or min(MOST, round(drawn[OUTPUT].total))
    jobs = tuple(Job(0, drawn[PROMPT].one(random), drawn[OUTPUT].one(random)) for _ in range(count))
    notes = ("which prompt goes with which output, and lengths inside a bucket: both are drawn, evenly in a bucket",)
    return Workload(jobs, None, f"the histograms of a /metrics page, {counted(count, 'request')} drawn", notes)


class _Drawn:
    """A histogram to draw from."""

    def __init__(self, series: str, buckets: dict[float, float], name: str) -> None:
        bounds = sorted(buckets)
        shares = [buckets[b] - (buckets[bounds[i - 1]] if i else 0) for i, b in enumerate(bounds)]
        self.total = buckets[bounds[-1]] if bounds else 0.0
        if self.total <= 0:
            raise WorkloadError(f"{name}: the histogram {series} is missing or empty")
        if any(share < 0 for share in shares):
            raise WorkloadError(f"{name}: the histogram {series} decreases")
        self._bounds = bounds
        self._sums = list(accumulate(shares))

    def one(self, random: Random) -> int:
        """Draw a length."""
        at = bisect_left(self._sums, random.random() * self.total)
        at = min(at, len(self._bounds) - 1)
        low = self._bounds[at - 1] if at else 0.0
        high = self._bounds[at]
        if high == float("inf"):
            return max(1, round(low))
        return max(1, random.randint(int(low) + 1, max(int(low) + 1, int(high))))
