"""Series of engines' /metrics that ``pd-launch status`` reads: what each says, and in which releases it is there.

Named as the release's own code names them; a counter has ``_total`` after its name on the page, unless it ends so. The
names of the bundled connector's own series are its contract, and LMCache's are in its documentation.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.releases.facts import Code, Documented, Fact, Project

Sort = Literal["counter", "gauge", "histogram", "info"]
_V1 = "vllm/distributed/kv_transfer/kv_connector/v1"
_LOGGERS = "vllm/v1/metrics/loggers.py"
_NIXL = f"{_V1}/nixl_connector.py {_V1}/nixl/stats.py"
_MOONCAKE = f"{_V1}/mooncake/stats.py"
_STORE = f"{_V1}/mooncake/store/metrics.py"
_HF3FS = f"{_V1}/hf3fs/hf3fs_connector.py"
_UMBP = f"{_V1}/umbp/stats.py"
_OFFLOADING = f"{_V1}/offloading_connector.py {_V1}/offloading/metrics.py vllm/v1/kv_offload/cpu/common.py"
_TIERING = "vllm/v1/kv_offload/tiering/base.py"
_SIMPLE = "vllm/v1/simple_kv_offload/metrics.py"
_HISPARSE = f"{_V1}/hisparse/stats.py"
_ASCEND_MOONCAKE = "vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake/stats.py"
_ASCEND_STORE = "vllm_ascend/distributed/kv_transfer/kv_pool/ascend_store/metrics.py"
_LMCACHE = Documented(
    "https://docs.lmcache.ai/production/observability/vllm_endpoint.html", "LMCache's own list of its series"
)


@dataclass(frozen=True)
class Series:
    """One series. ``key`` is what its value is called here; with ``label`` the value of that label is appended."""

    name: str
    sort: Sort
    key: str
    label: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def sample(self) -> str:
        """Its name on the page; a histogram's has an ending more."""
        return f"{self.name}_total" if self.sort == "counter" and not self.name.endswith("_total") else self.name


_Row = tuple[str, Sort, str, str, "str | None", "str | None", str]
_VLLM: tuple[_Row, ...] = (
    ("vllm:num_requests_running", "gauge", "running", "", None, None, _LOGGERS),
    ("vllm:num_requests_waiting", "gauge", "waiting", "", None, None, _LOGGERS),
    ("vllm:num_requests_waiting_by_reason", "gauge", "waiting_for", "reason", "0.20.0", None, _LOGGERS),
    ("vllm:num_requests_kv_fetch_by_stage", "gauge", "fetching", "stage", "0.32.0", None, _LOGGERS),
    ("vllm:kv_cache_usage_perc", "gauge", "kv_usage", "", None, None, _LOGGERS),
    ("vllm:engine_sleep_state", "gauge", "sleep", "sleep_state", None, None, _LOGGERS),
    ("vllm:num_preemptions", "counter", "preempted", "", None, None, _LOGGERS),
    ("vllm:prompt_tokens", "counter", "prompt_tokens", "", None, None, _LOGGERS),
    ("vllm:generation_tokens", "counter", "generation_tokens", "", None, None, _LOGGERS),
    ("vllm:prompt_tokens_by_source", "counter", "prompt_tokens_from", "source", None, None, _LOGGERS),
    ("vllm:external_prefix_cache_hits", "counter", "external_hits", "", None, None, _LOGGERS),
    ("vllm:prefix_cache_queries", "counter", "prefix_queries", "", None, None, _LOGGERS),
    ("vllm:prefix_cache_hits", "counter", "prefix_hits", "", None, None, _LOGGERS),
    ("vllm:request_success", "counter", "finished", "finished_reason", None, None, _LOGGERS),
    ("vllm:cache_config_info", "info", "cache", "", None, None, _LOGGERS),
    ("vllm:time_to_first_token_seconds", "histogram", "ttft", "", None, None, _LOGGERS),
    ("vllm:inter_token_latency_seconds", "histogram", "itl", "", None, None, _LOGGERS),
    ("vllm:request_queue_time_seconds", "histogram", "queue", "", None, None, _LOGGERS),
    ("vllm:e2e_request_latency_seconds", "histogram", "e2e", "", None, None, _LOGGERS),
    ("vllm:request_prompt_tokens", "histogram", "request_prompt", "", None, None, _LOGGERS),
    ("vllm:request_generation_tokens", "histogram", "request_output", "", None, None, _LOGGERS),
    ("vllm:request_num_preemptions", "histogram", "request_preempted", "", "0.30.0", None, _LOGGERS),
    ("vllm:nixl_xfer_time_seconds", "histogram", "nixl.time", "", None, None, _NIXL),
    ("vllm:nixl_bytes_transferred", "histogram", "nixl.bytes", "", None, None, _NIXL),
    ("vllm:nixl_num_failed_transfers", "counter", "nixl.failed", "", None, None, _NIXL),
    ("vllm:nixl_num_failed_notifications", "counter", "nixl.notifications_failed", "", None, None, _NIXL),
    ("vllm:nixl_num_kv_expired_reqs", "counter", "nixl.expired", "", None, None, _NIXL),
    ("vllm:nixl_num_notifications_after_expiry", "counter", "nixl.late", "", "0.32.0", None, _NIXL),
    ("vllm:mooncake_xfer_time_seconds", "histogram", "mooncake.time", "", "0.33.0", None, _MOONCAKE),
    ("vllm:mooncake_bytes_transferred", "histogram", "mooncake.bytes", "", "0.33.0", None, _MOONCAKE),
    ("vllm:mooncake_num_failed_transfers", "counter", "mooncake.failed", "", "0.33.0", None, _MOONCAKE),
    ("vllm:mooncake_num_failed_recvs", "counter", "mooncake.receives_failed", "", "0.33.0", None, _MOONCAKE),
    ("vllm:mooncake_num_kv_expired_reqs", "counter", "mooncake.expired", "", "0.33.0", None, _MOONCAKE),
    ("vllm:mooncake_store_operation_total", "counter", "mooncake_store.operations", "operation", "0.22.0", None,
     _STORE),
    ("vllm:mooncake_store_operation_failed_keys_total", "counter", "mooncake_store.failed", "", "0.22.0", None, _STORE),
    ("vllm:hf3fs_num_failed_load", "counter", "hf3fs.failed", "", "0.20.0", None, _HF3FS),
    ("vllm:hf3fs_num_failed_save", "counter", "hf3fs.saves_failed", "", "0.20.0", None, _HF3FS),
    ("vllm:umbp_transfer_completed_total", "counter", "umbp.done", "", "0.33.0", None, _UMBP),
    ("vllm:umbp_transfer_failed_total", "counter", "umbp.failed", "", "0.33.0", None, _UMBP),
    ("vllm:umbp_transfer_bytes_total", "counter", "umbp.bytes", "", "0.33.0", None, _UMBP),
    ("vllm:kv_offload_total_bytes", "counter", "offloading.bytes", "transfer_type", None, None, _OFFLOADING),
    ("vllm:kv_offload_load_bytes", "counter", "offloading.loaded_bytes", "", "0.24.0", None, _OFFLOADING),
    ("vllm:kv_offload_store_bytes", "counter", "offloading.stored_bytes", "", "0.24.0", None, _OFFLOADING),
    ("vllm:kv_offload_stores_skipped", "counter", "offloading.skipped", "", "0.24.0", None, _OFFLOADING),
    ("vllm:kv_offload_allocation_failure", "counter", "offloading.no_room", "", "0.26.0", None, _OFFLOADING),
    ("vllm:kv_offload_cpu_cache_usage_perc", "gauge", "offloading.usage", "", "0.24.0", None, _OFFLOADING),
    ("vllm:kv_offload_tiering_cascade_job_failures", "counter", "tiering.failed", "", "0.28.0", None, _TIERING),
    ("vllm:kv_offload_tiering_read_bytes", "counter", "tiering.loaded_bytes", "", "0.28.0", None, _TIERING),
    ("vllm:kv_offload_tiering_write_bytes", "counter", "tiering.stored_bytes", "", "0.28.0", None, _TIERING),
    ("vllm:simple_kv_offload_load_blocks_total", "counter", "simple.loaded_blocks", "", "0.31.0", None, _SIMPLE),
    ("vllm:simple_kv_offload_save_outcomes_total", "counter", "simple.saves", "outcome", "0.31.0", None, _SIMPLE),
    ("vllm:simple_kv_offload_used_blocks", "gauge", "simple.used_blocks", "", "0.31.0", None, _SIMPLE),
    ("vllm:hisparse_host_cache_usage_perc", "gauge", "hisparse.usage", "", "0.32.0", None, _HISPARSE),
    ("vllm:hisparse_host_to_device_bytes", "counter", "hisparse.loaded_bytes", "", "0.32.0", None, _HISPARSE),
)  # fmt: skip
_ASCEND: tuple[_Row, ...] = (
    ("vllm:mooncake_xfer_time_seconds", "histogram", "mooncake.time", "", "0.28.0rc1", None, _ASCEND_MOONCAKE),
    ("vllm:mooncake_bytes_transferred", "histogram", "mooncake.bytes", "", "0.28.0rc1", None, _ASCEND_MOONCAKE),
    ("vllm:mooncake_num_failed_transfers", "counter", "mooncake.failed", "", "0.28.0rc1", None, _ASCEND_MOONCAKE),
    ("vllm:ascend_store_load_get_keys_total", "counter", "ascend_store.keys", "status", "0.28.0rc1", None,
     _ASCEND_STORE),
    ("vllm:ascend_store_delayed_release_requests", "gauge", "ascend_store.held", "", "0.28.0rc1", None, _ASCEND_STORE),
)  # fmt: skip
_LMCACHES: tuple[tuple[str, Sort, str], ...] = (
    ("lmcache:num_retrieve_requests", "counter", "lmcache.retrievals"),
    ("lmcache:num_store_requests", "counter", "lmcache.stores"),
    ("lmcache:num_requested_tokens", "counter", "lmcache.requested_tokens"),
    ("lmcache:num_hit_tokens", "counter", "lmcache.hit_tokens"),
    ("lmcache:local_cache_usage", "gauge", "lmcache.local_bytes"),
    ("lmcache:remote_cache_usage", "gauge", "lmcache.remote_bytes"),
    ("lmcache:local_cpu_evict_failed_count", "counter", "lmcache.failed"),
)
OURS = "pd_launch:preempt_offload_"
_BUNDLED: tuple[tuple[str, Sort, str, str], ...] = (
    ("parked", "counter", "parked", ""),
    ("restored", "counter", "restored", ""),
    ("fallback", "counter", "fallback", "reason"),
    ("saved_bytes", "counter", "saved_bytes", ""),
    ("restored_bytes", "counter", "restored_bytes", ""),
    ("save_seconds", "counter", "save_seconds", ""),
    ("restore_seconds", "counter", "restore_seconds", ""),
    ("pool_blocks_used", "gauge", "pool_used", ""),
    ("pool_blocks_total", "gauge", "pool_total", ""),
    ("oldest_parked_seconds", "gauge", "oldest_parked", ""),
    ("oldest_parked_since_seconds", "gauge", "oldest_since", ""),
)
_PROCESS = Series("process_start_time_seconds", "gauge", "started")
"""The client library's own; not there where several API servers share one page."""
PREFIXES = ("vllm:", "pd_launch:", "lmcache:", _PROCESS.name)
TRANSFERS = {"nixl": "NIXL", "mooncake": "Mooncake", "mooncake_store": "Mooncake Store", "hf3fs": "HF3FS",
             "umbp": "UMBP", "ascend_store": "Ascend Store"}  # fmt: skip
"""What moves KV between nodes, or to a store, by the first part of its keys."""
STORES = {"offloading": "OffloadingConnector", "tiering": "OffloadingConnector, tiered",
          "simple": "SimpleCPUOffloadConnector", "hisparse": "HiSparse", "lmcache": "LMCache"}  # fmt: skip
"""Other offload of KV to host memory: it keeps prompts, and is no preemption offload."""


def _fact(project: Project, row: _Row) -> Fact:
    name, _sort, _key, _label, since, until, files = row
    slug = re.sub(r"\W+", "-", name)
    return Fact(f"{project}-counts-{slug}", project, since, until, f"/metrics has {name}",
                (Code(files, rf"[\"']{re.escape(name)}[\"']"),))  # fmt: skip


def _table() -> dict[str, Series]:
    found: dict[str, Series] = {}
    for project, rows in (("vllm", _VLLM), ("vllm-ascend", _ASCEND)):
        for row in rows:
            name, sort, key, label, *_ = row
            known = found.get(name)
            facts = (*(known.facts if known else ()), _fact(project, row))  # type: ignore[arg-type]
            found[name] = Series(name, sort, key, label, facts)
    found |= {name: Series(name, sort, key) for name, sort, key in _LMCACHES}
    found |= {OURS + name: Series(OURS + name, sort, key, label) for name, sort, key, label in _BUNDLED}
    return found | {_PROCESS.name: _PROCESS}


SERIES: dict[str, Series] = _table()
"""Every series that is read, by the name that the code gives it."""


@cache
def by_sample() -> dict[str, Series]:
    """Return the series by the name that a sample of it has on the page; of a histogram, all three."""
    found = {}
    for series in SERIES.values():
        ends = ("_bucket", "_sum", "_count") if series.sort == "histogram" else ("",)
        found.update({series.sample + end: series for end in ends})
    return found


def shown_by(name: str) -> Documented | None:
    """Return the page that names a series which no release's own files do."""
    return _LMCACHE if name.startswith("lmcache:") else None
