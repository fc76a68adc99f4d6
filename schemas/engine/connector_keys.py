"""Which keys of ``kv_connector_extra_config`` a connector reads.

Source: the reads in vllm_ascend/distributed/kv_transfer, utils.py and ascend_config.py in the wheels of 0.18.0, 0.23.0
and 0.26.0rc1; vllm/distributed/kv_transfer/kv_connector/v1 and v1/kv_offload at 0.27.1, 0.32.0 and 0.33.0. The
lists are unions over releases, so a key that is in none of them is read by nobody.
"""

from __future__ import annotations

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.budget import PER_RANK, PREFIX_CACHING, RATIO, TOTAL
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.offload import reads_ratio

_SIZES = ("prefill", "decode")
PLATFORM_KEYS = (*_SIZES, "ascend_local_comm_res_path", "use_ascend_direct")
"""What vllm-ascend itself reads, or once read, of the top level's extra config, whatever the connector."""
ONCE_READ = frozenset({"use_ascend_direct"})
"""Keys that only releases before the tables' read; PD213 speaks of them."""

BUNDLED_KEYS = (
    PER_RANK, TOTAL, RATIO, PREFIX_CACHING, "pin_host_memory", "copy_backend", "async_restore_bytes",
)  # fmt: skip
_MOONCAKE = (*PLATFORM_KEYS, "tls_config")
_STORE = (
    "backend", "lookup_rpc_port", "mooncake_rpc_port", "load_async", "consumer_is_to_put", "consumer_is_to_load",
    "save_decode_cache", "discard_partial_chunks", "use_layerwise", "prefill_tp_size", "decode_tp_size",
    "prefill_pp_size", "prefill_pp_layer_partition", "layerwise_max_transfer_blocks", "layerwise_max_transfer_bytes",
    "layerwise_prefetch_layers", "memcache_dp_init_barrier", "use_ascend_direct",
)  # fmt: skip
_OFFLOADING = (
    "cpu_bytes_to_use", "block_size", "blocks_per_chunk", "canonical_layout", "self_describing_kv_events",
    "offload_prompt_only", "eviction_policy", "cache_policy_module_path", "max_tracker_size", "store_threshold",
    "spec_name", "spec_module_path", "secondary_tiers", "backpressure", "num_cpu_blocks",
)  # fmt: skip
_SIMPLE = (
    "cpu_bytes_to_use", PER_RANK, "lazy_offload", "disk_buffer_slots", "disk_capacity_bytes", "disk_path",
    "kv_offload_backend", "use_page_cache", "num_cpu_blocks",
)  # fmt: skip
_NIXL = (
    "backends", "bidirectional_kv_xfer", "decoder_kv_blocks_ttl", "enable_cross_layers_blocks",
    "enforce_handshake_compat", "engine_ttl", "kv_lease_duration", "kv_recompute_threshold", "num_threads",
    "push_registration_timeout",
)  # fmt: skip
KEYS: dict[str, tuple[str, ...]] = {
    "MultiConnector": ("connectors", *PLATFORM_KEYS),
    "MooncakeConnectorV1": _MOONCAKE,
    "MooncakeHybridConnector": _MOONCAKE,
    "MooncakeLayerwiseConnector": _MOONCAKE,
    "AscendStoreConnector": _STORE,
    "MooncakeConnectorStoreV1": _STORE,
    "OffloadingConnector": _OFFLOADING,
    "SimpleCPUOffloadConnector": _SIMPLE,
    "NixlConnector": _NIXL,
}
"""Known keys of connectors that others may extend: only a near miss of one of them is surely a mistake."""

SIZE_KEYS = ("dp_size", "tp_size", "pp_size", "pp_layer_partition", "pcp_size", "dcp_size")
"""Keys inside ``prefill`` and ``decode``."""


def offload_keys(connector: Connector, target: Target) -> tuple[str, ...]:
    """Return the keys that an offload connector reads in ``target``; it reads no others."""
    if connector.is_bundled_offload:
        return BUNDLED_KEYS
    known = tuple(key for key in BUNDLED_KEYS[:4] if key != RATIO or reads_ratio(connector, target))
    return known if connector.parent is not None else (*known, *PLATFORM_KEYS)
