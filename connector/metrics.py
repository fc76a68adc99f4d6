"""What the connector counts, as vLLM's KVConnectorStats and as Prometheus series ``pd_launch:preempt_offload_*``.

All of them leave on the scheduler side; workers send running totals there, so that a step whose output nobody reads
loses nothing. Counters are differences since the last collection and add up; bytes and seconds are sums over the ranks
of an engine. Of gauges the newest value holds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import REGISTRY, Counter, Gauge
from vllm.distributed.kv_transfer.kv_connector.v1.metrics import KVConnectorPromMetrics, KVConnectorStats

from pd_launch.schemas.offload.reasons import REASONS

PREFIX = "pd_launch:preempt_offload_"
FALLBACK = "fallback."
COUNTERS = {
    "parked": ("parked_total", "Preempted requests whose KV was saved to host memory."),
    "restored": ("restored_total", "Requests whose KV was restored from host memory."),
    "saved_bytes": ("saved_bytes_total", "Bytes copied from device to host, all ranks."),
    "restored_bytes": ("restored_bytes_total", "Bytes copied from host to device, all ranks."),
    "save_seconds": ("save_seconds_total", "Seconds spent copying from device to host, all ranks."),
    "restore_seconds": ("restore_seconds_total", "Seconds spent copying from host to device, all ranks."),
}
GAUGES = {
    "pool_blocks_used": ("pool_blocks_used", "Host blocks in use."),
    "pool_blocks_total": ("pool_blocks_total", "Host blocks there are."),
    "oldest_parked_seconds": ("oldest_parked_seconds", "Age of the copy that is parked longest; 0 when none is."),
    "oldest_parked_since": ("oldest_parked_since_seconds", "When that copy was parked, Unix time; 0 when none is."),
}
FALLBACKS = tuple(REASONS)
AGE, SINCE = "oldest_parked_seconds", "oldest_parked_since"


class Counts:
    """Named counters."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def add(self, name: str, value: float = 1) -> None:
        """Add to one counter; ``fallback.REASON`` for a fallback."""
        self._values[name] = self._values.get(name, 0) + value

    def totals(self) -> dict[str, float]:
        """Return a copy of what was counted so far."""
        return dict(self._values)

    def take(self) -> dict[str, float]:
        """Return what was counted and start from zero."""
        values, self._values = self._values, {}
        return values


@dataclass
class OffloadStats(KVConnectorStats):  # type: ignore[misc]
    """``data`` is {"counts": {name: difference}, "gauges": {name: value}}."""

    data: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.data.setdefault("counts", {})
        self.data.setdefault("gauges", {})

    def __getitem__(self, key: str) -> Any:
        """vLLM 0.27.1's MultiConnector subscripts what came from its own process as if it had been serialised."""
        return getattr(self, key)

    def reset(self) -> None:
        """Forget everything."""
        self.data = {"counts": {}, "gauges": {}}

    def aggregate(self, other: KVConnectorStats) -> OffloadStats:
        """Add another collection, a newer one or one of another rank."""
        counts = self.data["counts"]
        for name, value in other.data.get("counts", {}).items():
            counts[name] = counts.get(name, 0) + value
        self.data["gauges"].update(other.data.get("gauges", {}))
        return self

    def reduce(self) -> dict[str, int | float]:
        """Return one flat dict for the log."""
        return {name: round(value, 4) for part in ("counts", "gauges") for name, value in self.data[part].items()}

    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.data["counts"] and not self.data["gauges"]


class OffloadPromMetrics(KVConnectorPromMetrics):  # type: ignore[misc]
    """The Prometheus side: one series per engine, created at start so that zeros are visible."""

    def __init__(self, vllm_config: Any, metric_types: Any, labelnames: list[str], per_engine_labelvalues: Any) -> None:
        super().__init__(vllm_config, metric_types, labelnames, per_engine_labelvalues)
        _unregister()
        counter, gauge = metric_types[Counter], metric_types[Gauge]
        self._engines: dict[int, list[object]] = per_engine_labelvalues
        self._series = {
            name: counter(name=PREFIX + series, documentation=text, labelnames=labelnames)
            for name, (series, text) in COUNTERS.items()
        }
        self._gauges = {
            name: gauge(  # of several API servers the one that heard last
                name=PREFIX + series, documentation=text, labelnames=labelnames, multiprocess_mode="mostrecent"
            )
            for name, (series, text) in GAUGES.items()
        }
        self._fallback = counter(
            name=PREFIX + "fallback_total",
            documentation="Preempted requests that were not saved and restored in full, by reason.",
            labelnames=[*labelnames, "reason"],
        )
        for values in per_engine_labelvalues.values():
            for metric in (*self._series.values(), *self._gauges.values()):
                metric.labels(*values)
            for reason in FALLBACKS:
                self._fallback.labels(*values, reason)

    def observe(self, transfer_stats_data: dict[str, Any], engine_idx: int = 0) -> None:
        """Add one collection. vLLM 0.27.1 hands the data inside ``data`` below MultiConnector, others bare."""
        data = transfer_stats_data.get("data", transfer_stats_data)
        values = self._engines[engine_idx]
        for name, value in data.get("counts", {}).items():
            if name.startswith(FALLBACK):
                self._fallback.labels(*values, name[len(FALLBACK) :]).inc(value)
            else:
                self._series[name].labels(*values).inc(value)
        for name, value in data.get("gauges", {}).items():
            self._gauges[name].labels(*values).set(value)
        if AGE in data.get("gauges", {}):
            self._age(values, data["gauges"][AGE])

    def _age(self, values: list[object], age: float) -> None:
        """Let the age of the oldest copy grow from here while the engine is paused and tells nothing.

        Several API servers share their values in files, and Ray has gauges of its own; neither takes a function, so
        there only :data:`SINCE` moves on, against the clock of who reads it.
        """
        self._gauges[SINCE].labels(*values).set(round(time.time() - age, 3) if age else 0)
        gauge, heard = self._gauges[AGE].labels(*values), time.monotonic()
        if hasattr(gauge, "set_function"):
            gauge.set_function(lambda: age + time.monotonic() - heard if age else 0.0)


def _unregister() -> None:
    """Take the series of an earlier engine of this process out, as vLLM does with those that begin with ``vllm:``."""
    for collector in list(REGISTRY._collector_to_names):
        if getattr(collector, "_name", "").startswith(PREFIX):
            REGISTRY.unregister(collector)
