"""In which releases of vllm-ascend a feature's conditions are checked, or its fault is present."""

from __future__ import annotations

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.facts import Code, Documented, Fact, Generated, ascend, options, platform, vllm

Sized = dict[str, tuple[tuple[Fact, int], ...]]
"""Module of finegrained_tp_config → facts, each with the least size that is meant."""

_PULLS = "https://github.com/vllm-project/vllm-ascend/pull"

LAYER_SHARDING = ascend(
    "layer-sharding-on-prefill-only", None, "0.24.0rc1",
    "layer_sharding is refused outside prefill nodes",
    Code("vllm_ascend/platform.py vllm_ascend/ascend_config.py",
         r"layer_sharding (can only be enabled in PD-disaggregated's P|is only supported)"),
)  # fmt: skip
KV_NZ = ascend(
    "kv-nz-on-decode-only", None, None, "enable_kv_nz is refused outside decode nodes, and without MLA",
    options(r"enable_kv_nz is only supported in pd scenario"),
)  # fmt: skip
REDUCE_SAMPLE = ascend(
    "reduce-sample-refusals", "0.23.0", "0.24.0rc1",
    "enable_reduce_sample is refused on prefill nodes and beside lmhead_tensor_parallel_size",
    options(r"enable_reduce_sample is (not supported on PD|incompatible with)"),
    again=(("0.27.1rc1", "0.30.0rc1"),),
)  # fmt: skip
OVERLAP_WITH_FUSED_MC2 = ascend(
    "overlap-off-with-fused-mc2", "0.23.0rc1", None,
    "multistream_overlap_shared_expert is switched off beside fused MC2 (1)",
    options(r"self\.multistream_overlap_shared_expert = False"),
)  # fmt: skip
SPARSE_OFFLOAD = ascend(
    "sparse-kv-offload", "0.26.0rc1", None, "sparse_kv_offload_config is read, and checked against role and layout",
    options(r"class SparseKVOffloadConfig"),
)  # fmt: skip
MTP_PIPELINE = ascend(
    "mtp-pipeline-on-prefill-only", "0.22.1rc1", "0.24.0rc1",
    "MTP with pipeline parallelism is refused outside prefill nodes",
    platform(r"_validate_pd_pp_mtp_config"),
)  # fmt: skip
MAMBA_PREFIX = ascend(
    "mamba-prefix-caching-on-decode", None, "0.23.0rc1",
    "prefix caching of Mamba states does not reach decode nodes",
    Documented(f"{_PULLS}/7796", "brings it; issues 7944 and 10908 are the reports"),
)  # fmt: skip

DYNAMO_ROLES_GONE = vllm(
    "dynamo-roles-gone", "0.26.0", None,
    "Dynamo 1.4, which is the first for this vLLM, has no options for the role of a worker beside its mode",
    Documented("https://docs.nvidia.com/dynamo/v1.4.1/reference/releases/deprecations", "pins vLLM 0.26.0"),
)  # fmt: skip

_OPROJ_DECODE = ascend(
    "oproj-on-decode-only", None, "0.30.0rc1", "oproj_tensor_parallel_size is for decode nodes and graph mode only",
    options(r"\"oproj_tensor_parallel_size is only supported in pd scenario"),
)  # fmt: skip
_SPLIT_DECODE = ascend(
    "oproj-mlp-on-decode-only", "0.30.0rc1", None,
    "oproj_ and mlp_tensor_parallel_size above 1 are for decode nodes and graph mode only",
    options(r"oproj_tensor_parallel_size / mlp_tensor_parallel_size are only supported in graph mode"),
)  # fmt: skip
_OLORA_DECODE = ascend(
    "olora-on-decode-only", "0.20.2rc1", "0.28.0rc1",
    "olora_tensor_parallel_size is for decode nodes and graph mode only",
    options(r"olora_tensor_parallel_size is only supported in pd scenario"),
)  # fmt: skip
_OPROJ_RECOMPUTE = ascend(
    "oproj-needs-recompute", "0.23.0rc1", None, "oproj_tensor_parallel_size needs the recompute scheduler",
    options(r"oproj_tensor_parallel_size / \w+_tensor_parallel_size ?require"),
)  # fmt: skip
_EMBEDDING_RECOMPUTE = ascend(
    "embedding-needs-recompute", "0.23.0rc1", "0.30.0rc1",
    "embedding_tensor_parallel_size needs the recompute scheduler",
    options(r"oproj_tensor_parallel_size / embedding_tensor_parallel_size ?require"),
)  # fmt: skip
_MLP_RECOMPUTE = ascend(
    "mlp-needs-recompute", "0.30.0rc1", None, "mlp_tensor_parallel_size needs the recompute scheduler",
    options(r"oproj_tensor_parallel_size / mlp_tensor_parallel_size ?require"),
)  # fmt: skip
_OPROJ_ONE_RANK = ascend(
    "oproj-needs-one-rank", "0.23.0rc1", "0.30.0rc1", "oproj_tensor_parallel_size needs tensor-parallel size 1",
    options(r"\"oproj_tensor_parallel_size currently requires"),
)  # fmt: skip
_SPLIT_ONE_RANK = ascend(
    "oproj-mlp-need-one-rank", "0.30.0rc1", None,
    "oproj_ and mlp_tensor_parallel_size above 1 need tensor-parallel size 1",
    options(r"oproj_tensor_parallel_size / mlp_tensor_parallel_size currently"),
)  # fmt: skip
_SPLIT_OFFLOAD = ascend(
    "oproj-mlp-need-offload", "0.30.0rc1", None,
    "oproj_ and mlp_tensor_parallel_size above 1 need a connector of the name PreemptOffloadConnector, and refuse "
    "prefill context parallelism",
    platform(r"oproj_tensor_parallel_size / mlp_tensor_parallel_size require PreemptOffloadConnector"),
    options(r"oproj_tensor_parallel_size / mlp_tensor_parallel_size are not supported"),
)  # fmt: skip

FINEGRAINED_RECOMPUTE: Sized = {
    "oproj": ((_OPROJ_RECOMPUTE, 1),),
    "embedding": ((_EMBEDDING_RECOMPUTE, 1),),
    "mlp": ((_MLP_RECOMPUTE, 1),),
}
"""What needs the recompute scheduler."""
FINEGRAINED_DECODE: Sized = {
    "oproj": ((_OPROJ_DECODE, 1), (_SPLIT_DECODE, 2)),
    "olora": ((_OLORA_DECODE, 1),),
    "mlp": ((_SPLIT_DECODE, 2),),
}
"""What is for decode nodes and graph mode only."""
FINEGRAINED_ONE_RANK: Sized = {
    "oproj": ((_OPROJ_ONE_RANK, 1), (_SPLIT_ONE_RANK, 2)),
    "mlp": ((_SPLIT_ONE_RANK, 2),),
}
"""What needs tensor-parallel size 1."""
FINEGRAINED_OFFLOAD: Sized = {"oproj": ((_SPLIT_OFFLOAD, 2),), "mlp": ((_SPLIT_OFFLOAD, 2),)}
"""What needs a connector of the name PreemptOffloadConnector, and refuses prefill context parallelism."""
FINEGRAINED_MOE = ascend(
    "finegrained-needs-moe", "0.21.0rc1", None, "the sizes of finegrained_tp_config are refused without experts",
    options(r"can be enabled only for MOE models"),
)  # fmt: skip
OLORA = ascend(
    "olora", "0.20.2rc1", "0.28.0rc1", "olora_tensor_parallel_size is read",
    options(r"olora_tensor_parallel_size"),
)  # fmt: skip

RENAMED = ascend(
    "offload-renamed", "0.28.0rc1", None,
    "the built-in offload connector is PreemptOffloadConnector, works with decode context parallelism and refuses a "
    "budget of 0",
    Generated("connectors", "PreemptOffloadConnector"),
    Code("vllm_ascend/distributed/kv_transfer/kv_pool/kv_offload/preempt_offload/preempt_offload_connector.py",
         r"effective per-rank CPU offload memory must be positive"),
)  # fmt: skip
FUSED_MC2_KEY = ascend(
    "fused-mc2-key", "0.20.2rc1", None, "enable_fused_mc2 is read", Generated("additional", "enable_fused_mc2")
)
MC2_ALGORITHM = ascend("mc2-algorithm", "0.26.0rc1", None, "mc2_comm_alg is read", options(r"mc2_comm_alg"))
MIX_PLACEMENT = ascend(
    "mix-placement", "0.19.1rc1", None, "mix_placement is checked against the other options of shared experts",
    options(r"Mix placement is not supported with"),
)  # fmt: skip
DUMP_TWICE = ascend(
    "dump-config-twice", "0.20.2rc1", None, "dump_config and dump_config_path cannot be combined",
    options(r"Only one of additional_config\.dump_config_path"),
)  # fmt: skip
STATIC_KERNEL = ascend(
    "static-kernel-needs-graphs", None, None, "enable_static_kernel needs enable_npugraph_ex",
    options(r"Static kernel generation requires npugraph_ex"),
)  # fmt: skip
XLITE = ascend(
    "xlite-limits", None, None, "Xlite graphs refuse pipeline parallelism",
    Code("vllm_ascend/platform.py vllm_ascend/ascend_config.py",
         r"(?i)xlite graph (mode )?is not compatible with pipeline"),
)  # fmt: skip
FLASHCOMM_KEY = ascend(
    "flashcomm-key", "0.20.2rc1", "0.27.1rc1", "enable_flashcomm1 switches FlashComm on, and is checked",
    options(r"self\.enable_flashcomm1 = "),
)  # fmt: skip
FLASHCOMM_VARIABLE = ascend(
    "flashcomm-variable", None, "0.27.1rc1", "VLLM_ASCEND_ENABLE_FLASHCOMM1 switches FlashComm on",
    Generated("env", "VLLM_ASCEND_ENABLE_FLASHCOMM1"),
)  # fmt: skip
SHORT_FIRST_PROFILING = ascend(
    "short-first-excludes-profiling", "0.25.1rc1", "0.28.0rc1",
    "short_request_first and profiling_chunk cannot be combined",
    platform(r"ShortRequestFirst scheduling cannot be enabled with profiling_chunk_config"),
)  # fmt: skip
SHORT_FIRST_PROFILING_ASYNC = ascend(
    "short-first-profiling-synchronous", "0.28.0rc1", "0.30.0rc1",
    "short_request_first and profiling_chunk work together, but not with async scheduling",
    platform(r"ShortRequestFirst with profiling_chunk_config requires synchronous"),
)  # fmt: skip
PROFILING_ASYNC = ascend(
    "profiling-async-needs-v2", "0.30.0rc1", None,
    "profiling_chunk takes async scheduling only with the V2 model runner",
    platform(r"profiling_chunk_config with async scheduling requires the v2"),
)  # fmt: skip
DSA_CP = ascend(
    "dsa-cp-refusals", "0.30.0rc1", None,
    "enable_dsa_cp is refused with the V2 model runner and with prefill context parallelism",
    options(r"DSA-CP is not supported by Model Runner V2"),
    options(r"DSA-CP and PCP cannot be enabled at the same time"),
)  # fmt: skip
PREFILL_CONTEXT_WITH_DATA = ascend(
    "prefill-context-without-data", "0.22.1rc1", "0.25.1rc1",
    "prefill context parallelism is refused together with data parallelism",
    platform(r"PCP \(Prefill Context Parallelism\) and DP"),
)  # fmt: skip
PREFILL_CONTEXT = ascend(
    "prefill-context-needs-v2", "0.25.1rc1", None,
    "prefill context parallelism is refused without the V2 model runner",
    platform(r"PCP \(Prefill Context Parallelism\) is not supported by vLLM Ascend"),
)  # fmt: skip


def asks(rows: Sized, module: str, size: int, target: Target) -> bool:
    """Whether ``target`` asks it of a module of finegrained_tp_config with that size."""
    return any(size >= least and fact.holds(target) for fact, least in rows.get(module, ()))
