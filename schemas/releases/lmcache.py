"""The options of LMCache's engine: which there are, how each is read, and what became of older ones.

Source: ``_CONFIG_DEFINITIONS``, ``_CONFIG_ALIASES`` and ``_DEPRECATED_CONFIGS`` in lmcache/v1/config.py, and the
converters in lmcache/v1/config_base.py (config.py in 0.3.9), of LMCache's wheels of 0.3.6, 0.3.9, 0.4.5, 0.5.0 and
0.5.6. What became of unknown keys and of values of other types was run on 0.3.9, 0.4.5 and 0.5.6. An older name is
read as the new one only if it is in ``_DEPRECATED_CONFIGS`` as well: of the twelve aliases, ten are ignored like any
unknown key.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

FIRST, LAST = "0.3.9", "0.5.6"
"""The oldest and the newest release of LMCache that the table speaks of."""
PREFIX = "LMCACHE_"
"""Put before an option in capitals, it is the variable that sets it."""
OPTION = "lmcache."
"""Put before an option, it is the key of ``kv_connector_extra_config`` that sets it (vllm_v1_adapter.py)."""
READERS = frozenset({"LMCacheConnectorV1", "LMCacheConnectorV1Dynamic", "LMCacheAscendConnector"})
"""Connectors whose engine reads these options; LMCacheMPConnector's server has options of its own."""

KINDS: dict[str, tuple[str, ...]] = {
    "int": (
        "blend_min_tokens", "blocking_timeout_secs", "chunk_size", "chunk_statistics_auto_exit_target_unique_chunks",
        "gds_buffer_size", "internal_api_server_port_start", "lmcache_worker_heartbeat_delay_time",
        "lmcache_worker_heartbeat_time", "lookup_timeout_ms", "min_retrieve_tokens", "mp_port", "nixl_buffer_size",
        "pd_buffer_size", "pd_max_prefill_len", "pd_proxy_port", "pin_check_interval_sec", "pin_timeout_sec",
        "priority_limit",
    ),
    "bool": (
        "chunk_statistics_auto_start_statistics", "enable_async_loading", "enable_blending",
        "enable_chunk_statistics", "enable_controller", "enable_hidden_state_cache", "enable_kv_events",
        "enable_lazy_memory_allocator", "enable_p2p", "enable_pd", "enable_scheduler_bypass_lookup",
        "internal_api_server_enabled", "local_cpu", "local_cpu_use_hugepages", "pd_bidirectional",
        "pd_skip_proxy_notification", "py_enable_gc", "run_script_api_enabled", "save_decode_cache",
        "save_unfull_chunk", "use_gds", "use_gpu_connector_v3", "use_layerwise",
    ),
    "float": (
        "chunk_statistics_auto_exit_timeout_hours", "hit_miss_ratio", "lazy_memory_expand_trigger_ratio",
        "lazy_memory_initial_ratio", "lazy_memory_safe_size", "lazy_memory_step_ratio", "maru_pool_size",
        "max_hidden_state_cpu_size", "max_local_cpu_size", "max_local_disk_size", "pd_allocation_timeout_sec",
        "pd_condition_poll_interval_sec", "pd_shutdown_timeout_sec", "reserve_local_cpu_size",
    ),
    "str": (
        "app_id", "audit_actual_remote_url", "blend_special_str", "cache_policy", "chunk_statistics_strategy",
        "controller_pull_url", "controller_reply_url", "external_lookup_client", "gds_backend", "gds_path",
        "gds_path_sharding", "hidden_states_retrieve_mode", "internal_api_server_host",
        "internal_api_server_socket_path_prefix", "lmcache_instance_id", "local_disk", "local_disk_path_sharding",
        "maru_path", "mp_host", "nixl_buffer_device", "numa_mode", "p2p_host", "pd_backend_mode", "pd_buffer_device",
        "pd_peer_host", "pd_proxy_host", "pd_role", "pre_caching_hash_algorithm", "remote_config_url", "remote_serde",
        "remote_url", "runtime_plugin_locations", "store_location", "transfer_channel",
    ),
    "floats": (
        "blend_recompute_ratios", "blend_thresholds",
    ),
    "ints": (
        "blend_check_layers", "hidden_state_layers", "internal_api_server_include_index_list", "lmcache_worker_ids",
        "lmcache_worker_ports", "lookup_server_worker_ids", "p2p_init_ports", "p2p_lookup_ports",
        "pd_peer_alloc_port", "pd_peer_init_port", "pd_peer_query_port",
    ),
    "strs": (
        "nixl_backends", "remote_storage_plugins", "retrieve_locations", "script_allowed_imports", "storage_plugins",
    ),
    "object": (
        "extra_config",
    ),
}  # fmt: skip
"""How an option is read → the options: ``bool`` is on for true and 1 alone, ``ints`` and ``floats`` are lists or texts
with commas, ``object`` is a mapping or its JSON."""


class Older(NamedTuple):
    """An option that is read no longer: the first release here that ignores it, and what took its place."""

    ignored_from: str
    instead: str = ""


OLDER: dict[str, Older] = {
    "enable_xpyd": Older("0.3.9", "enable_pd"),
    "enable_nixl": Older("0.3.9"),
    "nixl_role": Older("0.3.9", "pd_role"),
    "nixl_peer_host": Older("0.3.9", "pd_peer_host"),
    "nixl_peer_init_port": Older("0.3.9", "pd_peer_init_port"),
    "nixl_peer_alloc_port": Older("0.3.9", "pd_peer_alloc_port"),
    "nixl_peer_port": Older("0.3.9"),
    "nixl_proxy_host": Older("0.3.9", "pd_proxy_host"),
    "nixl_proxy_port": Older("0.3.9", "pd_proxy_port"),
    "nixl_receiver_host": Older("0.3.9"),
    "nixl_receiver_port": Older("0.3.9"),
    "nixl_enable_gc": Older("0.3.9"),
    "controller_url": Older("0.3.9", "controller_pull_url"),
    "lmcache_worker_port": Older("0.3.9", "lmcache_worker_ports"),
    "lookup_url": Older("0.3.9"),
    "distributed_url": Older("0.3.9"),
    "weka_path": Older("0.4.5"),
    "cufile_buffer_size": Older("0.4.5"),
    "mla_lookup_server_worker_id": Older("0.4.5"),
}
RENAMED = {"plugin_locations": "runtime_plugin_locations", "external_backends": "storage_plugins"}
"""Older names that are still read as the new ones."""

INNER = frozenset({
    "connection_timeout", "disk_io_threads", "enable_nixl_storage", "force_store_wait", "fs_connector_read_ahead_size",
    "fs_connector_relative_tmp_dir", "fs_connector_use_odirect", "gds_io_threads", "global_segment_size",
    "gpu_to_numa_mapping", "local_buffer_size", "lookup_backoff_time", "mooncake_prefer_local_alloc", "nixl_async_put",
    "nixl_backend", "nixl_backend_params", "nixl_enable_prog_thread", "nixl_path", "nixl_path_sharding",
    "nixl_pool_size", "nixl_presence_cache", "nixl_presence_cache_only", "nixl_sync_mode", "nixl_use_hugepages",
    "p2p_max_retry_count", "prefer_local_alloc", "redis_url", "s3_enable_s3express", "s3_file_prefix",
    "s3_num_io_threads", "s3_part_size", "s3_prefer_http2", "s3_region", "save_chunk_meta", "save_only_first_rank",
    "storage_root_dir", "transfer_timeout", "use_direct_io", "use_odirect",
})  # fmt: skip
"""What LMCache reads in ``extra_config``, and at the top level never."""

BESIDE = ("max_tokens_per_load", "skip_save", "tag", "mp", "q")
"""What stands behind ``lmcache.`` in extra configs or requests for other parts of it, or begins with one and a dot."""

WORDS: dict[str, tuple[str, ...]] = {
    "cache_policy": ("LRU", "LFU", "FIFO", "MRU"),
    "numa_mode": ("auto", "manual"),
}
"""Options that stop the engine at another word (storage_backend/cache_policy, system_detection.py, 0.3.9 to 0.5.6).

The case of ``cache_policy`` does not matter."""

OTHER_VARIABLES = frozenset({
    "CONFIG_FILE", "LOG_LEVEL", "TRACK_USAGE", "USAGE_TRACK_INTERVAL", "USAGE_TRACK_URL", "FORCE_SKIP_SAVE",
    "RUNTIME_PLUGIN_CONFIG", "SERVER_URL", "MQ_TIMEOUT", "OFFLOAD_RPC_PORT", "GPU_STAGING_BUFFER_BYTES",
    "REQUEST_TELEMETRY_TYPE", "REQUEST_TELEMETRY_ENDPOINT", "DISABLE_BANNER", "COORDINATOR_URL", "MP_TRANSFER_MODE",
    "COORDINATOR_ADVERTISE_IP", "COORDINATOR_HEARTBEAT_INTERVAL", "COORDINATOR_EVENT_FLUSH_INTERVAL",
    "COORDINATOR_EVENT_REPORTING", "RESP_HOST", "RESP_PORT", "RESP_USERNAME", "RESP_PASSWORD",
})  # fmt: skip
"""Variables that LMCache reads besides, without what comes before them."""


@cache
def kinds() -> dict[str, str]:
    """Return every option that is read, with how it is."""
    found = {name: kind for kind, names in KINDS.items() for name in names}
    return found | {old: found[new] for old, new in RENAMED.items()}


@cache
def variables() -> frozenset[str]:
    """Return every variable that some release of LMCache reads."""
    names = {name.upper() for name in (*kinds(), *OLDER)}
    return frozenset(PREFIX + name for name in (*names, *OTHER_VARIABLES))
