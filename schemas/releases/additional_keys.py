"""Keys of ``--additional-config`` per vllm-ascend release.

The top-level keys, and whether others are refused, come from the tables that scripts/read_release.py reads from each
release: every read of the dict, and from 0.27.1rc1 the fields of the typed options. The groups below are unions over
the releases without typed options, from the same sources.
"""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.facts import Fact, ascend, options
from pd_launch.schemas.releases.vllm_tables import ascend_table

_SCHEDULER = ("enable_balance_scheduling", "recompute_scheduler_enable", "short_request_first_config",
              "profiling_chunk_config", "batch_job_sched_config", "dyntra_lb_config")  # fmt: skip
GROUPS: dict[str, frozenset[str]] = {
    "scheduler_config": frozenset(_SCHEDULER),
    "finegrained_tp_config": frozenset(
        {
            "oproj_tensor_parallel_size", "lmhead_tensor_parallel_size", "embedding_tensor_parallel_size",
            "mlp_tensor_parallel_size", "olora_tensor_parallel_size",
        }
    ),
    "eplb_config": frozenset(
        {
            "dynamic_eplb", "expert_map_path", "expert_heat_collection_interval", "algorithm_execution_interval",
            "expert_map_record_path", "num_redundant_experts", "eplb_policy_type", "eplb_heat_collection_stage",
            "load_collection_phase",
        }
    ),
    "short_request_first_config": frozenset({"enabled", "threshold", "long_max_wait_ms"}),
    "rejection_sampler_config": frozenset(
        {"enable_block_verify", "enable_entropy_verify", "posterior_threshold", "posterior_alpha"}
    ),
    "xlite_graph_config": frozenset({"enabled", "full_mode"}),
    "profiling_chunk_config": frozenset({"enabled", "smooth_factor", "min_chunk", "need_timing", "max_fit_chunk"}),
    "batch_job_sched_config": frozenset(
        {
            "enabled", "max_jobs", "reserve_margin_blocks", "reserve_max_blocks", "low_available_tokens_threshold",
            "short_decode_token_threshold",
        }
    ),
    "dyntra_lb_config": frozenset(
        {
            "enabled", "enable_diagnostics", "mode", "start_step", "end_step", "bubble_threshold",
            "long_req_block_threshold", "dynamic_max_step",
        }
    ),
}  # fmt: skip
"""Groups of which every key that some release reads is known. A key of none is ignored, or refused."""

REFUSING_GROUPS = ("eplb_config", "short_request_first_config", "dyntra_lb_config")
"""Groups that have always refused an unknown key."""

BOOLEANS = frozenset(
    {
        "enable_async_exponential", "enable_balance_scheduling", "enable_context_parallel", "enable_cpu_binding",
        "enable_dsa_cp", "enable_flashcomm1", "enable_force_eplb", "enable_kv_nz", "enable_matmul_allreduce",
        "enable_mc2_hierarchy_comm", "enable_mlapo", "enable_prefill_mc2", "enable_reduce_sample",
        "enable_shared_expert_dp", "enable_sleep_mode_extra_cleanup", "enable_sparse_c8", "enable_sparse_li_c8",
        "enable_sparse_sfa_c8", "enable_transpose_kv_cache_by_block", "mix_placement", "multistream_dsv4_dsa_overlap",
        "multistream_overlap_gate", "multistream_overlap_shared_expert", "recompute_scheduler_enable", "refresh",
        "enabled", "full_mode", "dynamic_eplb", "enable_block_verify", "enable_entropy_verify", "keep_device_kv_cache",
        "enable_npugraph_ex", "enable_static_kernel", "fuse_norm_quant", "fuse_qknorm_rope", "fuse_muls_add",
        "fusion_ops_gmmswigluquant",
    }
)  # fmt: skip
"""Options that are true or false. Before typed options a text counts as true, whatever it says."""

STRICT_BOOLEANS = {
    name: ascend(
        f"strict-{name}", "0.21.0rc1", "0.27.1rc1", f"{name} is refused where it is not a boolean",
        options(rf"isinstance\(self\.{name}, bool\)"),
    )
    for name in ("enable_block_verify", "enable_entropy_verify")
}  # fmt: skip
"""Those that a release without typed options checks itself."""


class Derived(NamedTuple):
    """A key that is accepted and then overwritten: by which flag, the values that switch it on, the one to write, and
    the flag's field."""

    fact: Fact
    flag: str
    values: tuple[str, ...]
    write: str
    field: str = ""


def _derived(key: str, since: str, from_: str, flag: str, values: tuple[str, ...], field: str = "") -> Derived:
    pattern = rf"self\.{key} = \(?\s*{from_}"
    fact = ascend(f"overwrites-{key}", since, None, f"{key} is overwritten from --{flag}", options(pattern))
    return Derived(fact, flag, values, values[0], field)


_CACHE = r"(vllm_config\.cache_config\.)?cache_dtype\b"
_INDEXER = r"(vllm_config\.attention_config\.)?indexer_kv_dtype\b"
DERIVED: dict[str, Derived] = {
    "enable_sparse_sfa_c8": _derived("enable_sparse_sfa_c8", "0.29.0rc1", _CACHE, "kv-cache-dtype", ("fp8", "int8")),
    "enable_sparse_li_c8": _derived(
        "enable_sparse_li_c8", "0.29.0rc1", _INDEXER, "attention-config", ("fp8", "int8"), "indexer_kv_dtype"
    ),
    "enable_sparse_sfa_turboquant": _derived(
        "enable_sparse_sfa_turboquant", "0.30.0rc1", _CACHE, "kv-cache-dtype", ("turboquant_4bit_nc",)
    ),
    "enable_sparse_li_c4": _derived(
        "enable_sparse_li_c4", "0.30.0rc1", _INDEXER, "attention-config", ("mxfp4",), "indexer_kv_dtype"
    ),
}
"""Key → what decides instead; before, the key itself counts."""


def derived_from(name: str, target: Target) -> tuple[str, tuple[str, ...], str, str] | None:
    """Return what decides instead of a key: a flag, its values, the one to write, its field. None where it counts."""
    row = DERIVED.get(name)
    if row is None or not row.fact.holds(target):
        return None
    return row.flag, row.values, row.write, row.field


def known_keys(target: Target) -> list[str]:
    """Return the top-level keys that ``target`` reads; none for a vLLM target."""
    table = ascend_table(target)
    return table.names("additional") if table else []


def releases_with_key(name: str, target: Target) -> list[str]:
    """Return the releases that read a top-level key, oldest first."""
    table = ascend_table(target)
    return table.releases_with("additional", name) if table else []


def group_keys(group: str, target: Target) -> list[str] | None:
    """Return the keys of a group; None where they are not known."""
    table = ascend_table(target)
    known = (table.entry("groups", group) if table else None) or GROUPS.get(group)
    return sorted(known) if known else None


def is_strict(target: Target) -> bool:
    """Whether ``target`` refuses unknown keys at start; before, they are ignored silently."""
    table = ascend_table(target)
    return table is not None and bool(table.entry("facts", "strict"))
