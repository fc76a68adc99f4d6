"""A connector that does nothing but count what the scheduler schedules, to be loaded beside others.

Tokens recomputed after preemption show in no metric of the server. They do show in SchedulerOutput, which every
connector is handed in every step: what was scheduled beyond the least that the work needs was computed more than once.
The sum is taken from there and from nowhere else, so that no connector under test can flatter itself.

Seconds are summed up beside them. A step lasts from the moment at which it was planned until its output is back. What
the steps took in which a request was preempted, resumed or computed again, beyond as many median steps of the others,
is ``preemption_seconds``: what preemptions cost the node, be it in saves and restores or in computing again.

Use: last child of a MultiConnector, ``kv_connector: StepCounter``, ``kv_connector_module_path: bench.step_counter``,
``kv_connector_extra_config: {"file": "/path/counts.json"}``, with the checkout on PYTHONPATH. The file is replaced
after each step that schedules tokens or preempts.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import time
from collections import deque
from typing import Any

from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorBase_V1,
    KVConnectorMetadata,
    KVConnectorRole,
    SupportsHMA,
)


class Nothing(KVConnectorMetadata):  # type: ignore[misc]
    """The worker side has nothing to know."""


class StepClock:
    """Tells how long steps with a preemption in them take beyond the others. A step may be planned while one runs."""

    def __init__(self) -> None:
        self._planned: deque[tuple[float, bool]] = deque()
        self._last_end = 0.0
        self._plain: list[float] = []
        self._marked: list[float] = []

    def plan(self, now: float, is_marked: bool) -> None:
        """A step is planned."""
        self._planned.append((now, is_marked))

    def end(self, now: float) -> None:
        """The output of the earliest of the planned steps is back."""
        if self._planned:
            begin, is_marked = self._planned.popleft()
            (self._marked if is_marked else self._plain).append(now - max(begin, self._last_end))
        self._last_end = now

    def beyond(self) -> float:
        """Return the seconds of the marked steps, less as many medians of the others."""
        usual = statistics.median(self._plain) if self._plain else 0.0
        return sum(self._marked) - len(self._marked) * usual


def has_preemption(scheduler_output: Any) -> bool:
    """Return whether a step preempts, resumes, or computes more than one token of a request that it knows already."""
    cached = scheduler_output.scheduled_cached_reqs
    scheduled = scheduler_output.num_scheduled_tokens
    return bool(
        scheduler_output.preempted_req_ids
        or cached.resumed_req_ids
        or any(scheduled.get(name, 0) > 1 for name in cached.req_ids)
    )


class StepCounter(KVConnectorBase_V1, SupportsHMA):  # type: ignore[misc]
    """Sums SchedulerOutput.num_scheduled_tokens over all steps of one engine and writes the totals to a file."""

    requires_kv_delivery = False  # never the reason to drop or to keep anything

    def __init__(self, vllm_config: Any, role: KVConnectorRole, kv_cache_config: Any = None) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        self._file = pathlib.Path(self._kv_transfer_config.kv_connector_extra_config["file"])
        self._totals: dict[str, float] = dict.fromkeys(("steps", "scheduled_tokens", "preempted"), 0)
        self._totals["preemption_seconds"] = 0.0
        self._clock = StepClock()
        if role == KVConnectorRole.SCHEDULER:
            self._write()

    def build_connector_meta(self, scheduler_output: Any) -> KVConnectorMetadata:
        scheduled = sum(scheduler_output.num_scheduled_tokens.values())
        preempted = len(scheduler_output.preempted_req_ids or ())
        if scheduled or preempted:
            self._totals["steps"] += 1
            self._totals["scheduled_tokens"] += scheduled
            self._totals["preempted"] += preempted
            self._write()
        if scheduled:
            self._clock.plan(time.perf_counter(), has_preemption(scheduler_output))
        return Nothing()

    def update_connector_output(self, connector_output: Any) -> None:
        self._clock.end(time.perf_counter())
        self._totals["preemption_seconds"] = self._clock.beyond()
        self._write()

    def _write(self) -> None:
        # Written beside and renamed: a reader sees one step's totals or another's, never half a file.
        scratch = self._file.with_name(self._file.name + ".new")
        scratch.write_text(json.dumps(self._totals), encoding="utf-8")
        scratch.rename(self._file)

    # All else: no KV is known, taken or given.

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int, bool]:
        return 0, False

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        pass

    def request_finished(self, request: Any, block_ids: Any) -> tuple[bool, dict[str, Any] | None]:
        return False, None

    def request_finished_all_groups(self, request: Any, block_ids: Any) -> tuple[bool, dict[str, Any] | None]:
        return False, None

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        pass

    def wait_for_layer_load(self, layer_name: str) -> None:
        pass

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        pass

    def wait_for_save(self) -> None:
        pass
