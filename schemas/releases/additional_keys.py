"""Keys of ``--additional-config`` per vllm-ascend release.

Source: every read of the dict in the wheels of 0.18.0, 0.19.1rc1, 0.20.2rc1, 0.21.0rc1, 0.22.1rc1, 0.23.0rc1, 0.23.0,
0.24.0rc1, 0.25.1rc1 and 0.26.0rc1; for 0.28.0 the typed options of the main branch (vllm_ascend/ascend_config.py). For
0.27.1rc1 both count, since its own list was not read.
"""

from __future__ import annotations

from pd_launch.schemas.target import Target

STRICT_SINCE = "0.28.0"
"""From here on an unknown key is refused at start; before, it is ignored silently."""

Range = tuple[str, str | None]
_ALL: tuple[Range, ...] = (("0.18.0", None),)

KEYS: dict[str, tuple[Range, ...]] = {
    "SLO_limits_for_dynamic_batch": (("0.18.0", "0.24.0rc1"),),
    "ascend_compilation_config": _ALL,
    "ascend_fusion_config": _ALL,
    "ascend_log_path": (("0.22.1rc1", None),),
    "batch_job_sched_config": (("0.25.1rc1", None),),
    "c8_enable_reshape_optim": (("0.21.0rc1", "0.28.0"),),
    "combine_quant_mode": (("0.27.1rc1", None),),
    "dp_allreduce_on_npu": (("0.21.0rc1", "0.25.1rc1"),),
    "draft_window_size": (("0.24.0rc1", None),),
    "dump_config": (("0.20.2rc1", None),),
    "dump_config_path": _ALL,
    "dynamic_spec_config": (("0.27.1rc1", None),),
    "enable_async_exponential": (("0.18.0", "0.25.1rc1"),),
    "enable_balance_scheduling": (("0.20.2rc1", None),),
    "enable_context_parallel": (("0.20.2rc1", "0.21.0rc1"),),
    "enable_cpu_binding": _ALL,
    "enable_dsa_cp": (("0.20.2rc1", None),),
    "enable_flashcomm1": (("0.20.2rc1", None),),
    "enable_flashcomm2_parallel_size": (("0.20.2rc1", "0.25.1rc1"),),
    "enable_force_eplb": (("0.27.1rc1", None),),
    "enable_fused_mc2": (("0.20.2rc1", None),),
    "enable_hamming_sparse": (("0.19.1rc1", "0.25.1rc1"),),
    "enable_kv_nz": _ALL,
    "enable_matmul_allreduce": (("0.20.2rc1", "0.25.1rc1"),),
    "enable_mc2_hierarchy_comm": _ALL,
    "enable_mlapo": (("0.20.2rc1", None),),
    "enable_pcp_o_proj_weight_sharding": (("0.27.1rc1", None),),
    "enable_prefill_mc2": (("0.23.0rc1", None),),
    "enable_reduce_sample": (("0.20.2rc1", None),),
    "enable_shared_expert_dp": _ALL,
    "enable_sleep_mode_extra_cleanup": (("0.23.0rc1", None),),
    "enable_sparse_c8": (("0.18.0", "0.23.0rc1"), ("0.24.0rc1", "0.26.0rc1")),
    "enable_sparse_li_c8": (("0.23.0rc1", "0.24.0rc1"), ("0.26.0rc1", None)),
    "enable_sparse_sfa_c8": (("0.23.0rc1", "0.24.0rc1"), ("0.26.0rc1", None)),
    "enable_transpose_kv_cache_by_block": (("0.20.2rc1", None),),
    "eplb_config": _ALL,
    "finegrained_tp_config": _ALL,
    "ft_communication_abort_timeout": (("0.27.1rc1", None),),
    "hamming_sparse": (("0.19.1rc1", "0.25.1rc1"),),
    "layer_sharding": (("0.18.0", "0.24.0rc1"),),
    "mc2_comm_alg": (("0.26.0rc1", None),),
    "mega_moe_max_tokens": (("0.23.0rc1", None),),
    "mix_placement": (("0.19.1rc1", None),),
    "mlapo_keep_prefill_weights": (("0.27.1rc1", None),),
    "msmonitor_use_daemon": (("0.20.2rc1", None),),
    "multistream_dsa_preprocess": (("0.20.2rc1", "0.22.1rc1"),),
    "multistream_dsv4_dsa_overlap": (("0.20.2rc1", None),),
    "multistream_overlap_gate": (("0.18.0", "0.24.0rc1"),),
    "multistream_overlap_shared_expert": _ALL,
    "pa_shape_list": _ALL,
    "prefill_comm_compute_overlap": (("0.20.2rc1", "0.22.1rc1"),),
    "profiling_chunk_config": (("0.19.1rc1", None),),
    "recompute_scheduler_enable": _ALL,
    "refresh": _ALL,
    "rejection_sampler_config": (("0.21.0rc1", None),),
    "rl_config": (("0.27.1rc1", None),),
    "scheduler_config": (("0.25.1rc1", None),),
    "short_request_first_config": (("0.24.0rc1", None),),
    "sparse_kv_offload_config": (("0.26.0rc1", None),),
    "weight_nz_mode": (("0.20.2rc1", None),),
    "weight_prefetch_config": (("0.18.0", "0.24.0rc1"),),
    "xlite_graph_config": _ALL,
}
"""Key → ranges of releases that read it: the first that does, and the first that no longer does."""

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


def reads_key(name: str, target: Target) -> bool:
    """Whether ``target`` reads a top-level key."""
    return any(
        target.ascend_at_least(since) and (until is None or target.ascend_before(until))
        for since, until in KEYS.get(name, ())
    )


def known_keys(target: Target) -> list[str]:
    """Return the top-level keys that ``target`` reads."""
    return [name for name in KEYS if reads_key(name, target)]


def is_strict(target: Target) -> bool:
    """Whether ``target`` refuses unknown keys."""
    return target.ascend_at_least(STRICT_SINCE)
