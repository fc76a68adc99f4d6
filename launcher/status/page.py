"""From the text of /metrics to numbers: only series that the tables know, by data-parallel rank."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import lru_cache

from pd_launch.launcher.secrets.masking import NONE, Held, mask_lines
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.releases.series import PREFIXES, Series, by_sample

MAX_LINE = 16 << 10
MAX_SAMPLES = 100_000
MAX_RANKS = 1_024
MAX_LABELS = 64
"""Values of one label that are told apart."""
_MOST = 1e18
"""Larger than any count: what is beyond is no number of an engine's."""


class NotMetrics(ValueError):
    """The text is no page of metrics; ``said`` is why, in both languages."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.said = Msg(en, zh)


@dataclass
class Histogram:
    """Cumulative counts by upper bound, as the page has them."""

    buckets: dict[float, float] = field(default_factory=dict)
    total: float = 0.0
    count: float = 0.0

    def add(self, other: Histogram, sign: int = 1) -> Histogram:
        """Return the sum with, or difference from, another one."""
        bounds = self.buckets.keys() | other.buckets.keys()
        buckets = {b: self.buckets.get(b, 0.0) + sign * other.buckets.get(b, 0.0) for b in bounds}
        return Histogram(buckets, self.total + sign * other.total, self.count + sign * other.count)

    def quantile(self, share: float) -> float | None:
        """Return the value below which a share of the observations lies, interpolated within its bucket.

        Its bucket ends at the latest where one observation alone can be: the last ones of latencies are minutes wide.
        None without observations; beyond the last bound, what the sum allows.
        """
        bounds = sorted(self.buckets)
        if not bounds or self.count <= 0 or not math.isinf(bounds[-1]):
            return None
        wanted, below, before = share * self.buckets[bounds[-1]], 0.0, 0.0
        for bound in bounds:
            here = self.buckets[bound]
            if here >= wanted and here > before:
                end = min(bound, max(below, self._most(below)))
                return below + (end - below) * max(0.0, wanted - before) / (here - before)
            below, before = (0.0 if math.isinf(bound) else bound), max(before, here)
        return None

    def _most(self, low: float) -> float:
        """Return how large one observation, of those above ``low``, can be: all others are at least at their bounds."""
        rest, below, before = self.total + low, 0.0, 0.0
        for bound in sorted(self.buckets):
            rest -= below * max(0.0, self.buckets[bound] - before)
            below, before = bound, max(before, self.buckets[bound])
        return rest


@dataclass
class Numbers:
    """What one rank, or several together, say: by the keys of the tables, a label's value after a slash."""

    values: dict[str, float] = field(default_factory=dict)
    counters: set[str] = field(default_factory=set)
    """Which of the values only ever grow."""
    histograms: dict[str, Histogram] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    """How many values of a series' label there are."""

    def get(self, key: str) -> float | None:
        """Return a value, None where the page has none."""
        return self.values.get(key)

    def labelled(self, key: str) -> dict[str, float]:
        """Return the values of a series by its label."""
        start = f"{key}/"
        return {name[len(start) :]: value for name, value in self.values.items() if name.startswith(start)}

    def has(self, key: str) -> bool:
        """Whether the page has that series, with whatever value."""
        return key in self.values or key in self.histograms or bool(self.labelled(key))


@dataclass
class Reading:
    """One page. ``ranks`` by the label ``engine``; ``cache`` is what the engine says of its KV cache."""

    ranks: dict[str, Numbers] = field(default_factory=dict)
    cache: dict[str, str] = field(default_factory=dict)
    started: float | None = None
    unread: int = 0
    """Lines that are no sample."""
    odd: dict[str, str] = field(default_factory=dict)
    """Series with a value that no engine's can be, which is left out: the key of each, and its name on the page."""

    @property
    def whole(self) -> Numbers:
        """All ranks together: counts and blocks added up, shares averaged, the oldest age."""
        return together(list(self.ranks.values()))


_ALWAYS = ("running", "waiting", "preempted", "generation_tokens", "parked")
"""One of these every engine has."""
_MEAN = ("kv_usage", "offloading.usage", "hisparse.usage")
_LARGEST = ("oldest_parked", "sleep")


def together(ranks: list[Numbers]) -> Numbers:
    """Return several ranks as one."""
    if len(ranks) == 1:
        return ranks[0]
    whole = Numbers(counters=set().union(*(rank.counters for rank in ranks)))
    for key in dict.fromkeys(key for rank in ranks for key in rank.values):
        found = [rank.values[key] for rank in ranks if key in rank.values]
        if key in _MEAN:
            whole.values[key] = sum(found) / len(found)
        elif key == "oldest_since":
            whole.values[key] = min((value for value in found if value), default=0.0)
        else:
            whole.values[key] = max(found) if key.partition("/")[0] in _LARGEST else sum(found)
    for rank in ranks:
        for key, histogram in rank.histograms.items():
            known = whole.histograms.get(key)
            whole.histograms[key] = known.add(histogram) if known else histogram
    return whole


def read_page(body: bytes) -> Reading:
    """Read a page.

    Raises:
        NotMetrics: it is none: binary, or without a single series of an engine.
    """
    if b"\0" in body:
        raise NotMetrics("its /metrics is not text", "其 /metrics 不是文本")
    lines = known_lines(body).split("\n")
    reading = Reading()
    for taken, (name, labels, value) in enumerate(_samples(lines, reading)):
        if taken >= MAX_SAMPLES:
            en = f"its /metrics has more than {MAX_SAMPLES} samples, more than any engine has"
            raise NotMetrics(en, f"其 /metrics 超过 {MAX_SAMPLES} 个样本，引擎不会有这么多")
        series = by_sample().get(name)
        if series is not None:
            _take(reading, series, name, labels, value)
    _settle(reading)
    return reading


def _settle(reading: Reading) -> None:
    """Give what names no rank, as LMCache's series do, to the first one."""
    nameless = reading.ranks.pop("", None)
    if reading.ranks and nameless is not None:
        first = min(reading.ranks)
        reading.ranks[first] = together([reading.ranks[first], nameless])
    elif nameless is not None and any(nameless.has(key) for key in _ALWAYS):
        reading.ranks["0"] = nameless
    if not reading.ranks:
        raise NotMetrics("its /metrics has no engine metrics", "其 /metrics 中没有引擎的指标")


def known_lines(body: bytes) -> str:
    """Return the lines of a page that are samples of series which the tables know."""
    return "\n".join(line for line in body.decode("utf-8", "replace").split("\n") if _wanted(line))


def _wanted(line: str) -> bool:
    if not line.startswith(PREFIXES) or len(line) > MAX_LINE:
        return False
    return line.partition("{")[0].partition(" ")[0] in by_sample()


def _samples(lines: list[str], reading: Reading) -> Iterator[tuple[str, dict[str, str], float]]:
    """Give name, labels and value of every sample; a line that is none is counted and passed over."""
    from prometheus_client.parser import text_string_to_metric_families

    def parsed(text: str) -> Iterable[tuple[str, dict[str, str], float]]:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                yield sample.name, sample.labels, float(sample.value)

    for start in range(0, len(lines), 512):
        some = lines[start : start + 512]
        try:
            yield from list(parsed("\n".join(some) + "\n"))
        except (ValueError, IndexError, KeyError, TypeError):
            for line in some:
                try:
                    yield from list(parsed(line + "\n"))
                except (ValueError, IndexError, KeyError, TypeError):
                    reading.unread += 1


@lru_cache(maxsize=1024)
def _shown(label: str) -> str:
    """Return a label's value as it may be shown: a page repeats few of them thousands of times."""
    return mask_lines(label)


def _take(reading: Reading, series: Series, name: str, labels: dict[str, str], value: float) -> None:
    if not math.isfinite(value) or not 0 <= value <= _MOST:
        reading.odd.setdefault(series.key, name)
        return
    if series.key == "started":
        reading.started = value
        return
    rank = _shown(labels.get("engine", "")[:64])
    if series.sort == "info":
        told = {k[:64]: v[:200] for k, v in list(labels.items())[:MAX_LABELS]}
        reading.cache = reading.cache or Held(NONE).masked(told)
        return
    if rank not in reading.ranks and len(reading.ranks) >= MAX_RANKS:
        return
    numbers = reading.ranks.setdefault(rank, Numbers())
    if series.sort == "histogram":
        _bucket(numbers.histograms.setdefault(series.key, Histogram()), name, labels, value)
        return
    key = f"{series.key}/{_shown(labels.get(series.label, '')[:64])}" if series.label else series.key
    if key not in numbers.values:
        if numbers.labels.get(series.key, 0) >= MAX_LABELS:
            return
        numbers.labels[series.key] = numbers.labels.get(series.key, 0) + 1
    if series.sort == "counter":
        numbers.counters.add(key)
    numbers.values[key] = numbers.values.get(key, 0.0) + value  # several models of one engine


def _bucket(histogram: Histogram, name: str, labels: dict[str, str], value: float) -> None:
    if name.endswith("_sum"):
        histogram.total += value
    elif name.endswith("_count"):
        histogram.count += value
    else:
        try:
            bound = float(labels.get("le", ""))
        except ValueError:
            return
        if not math.isnan(bound) and (bound in histogram.buckets or len(histogram.buckets) < 4 * MAX_LABELS):
            histogram.buckets[bound] = histogram.buckets.get(bound, 0.0) + value
