"""Configurations of tiny models without weights: what size computes for them, an engine can be asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_BASE: dict[str, Any] = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "num_hidden_layers": 4,
    "vocab_size": 512,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}
_LLAMA = {**_BASE, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
_MISTRAL = {**_BASE, "architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 64}
_MLA = {
    **_BASE,
    "architectures": ["DeepseekV2ForCausalLM"],
    "model_type": "deepseek_v2",
    "num_key_value_heads": 4,
    "q_lora_rank": None,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "head_dim": 64,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 64,
    "n_group": 1,
    "topk_group": 1,
    "topk_method": "greedy",
    "scoring_func": "softmax",
    "routed_scaling_factor": 1.0,
    "norm_topk_prob": True,
    "first_k_dense_replace": 4,
    "moe_layer_freq": 1,
    "num_hidden_layers": 3,
}
_NEXT = {
    **_BASE,
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "head_dim": 64,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 4,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2,
    "num_hidden_layers": 8,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "decoder_sparse_step": 1,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64,
    "mlp_only_layers": [],
    "norm_topk_prob": True,
    "partial_rotary_factor": 0.25,
    "rope_theta": 10000,
}


@dataclass(frozen=True)
class Case:
    """A model and the flags it is served with, as ``vllm serve`` spells them."""

    config: dict[str, Any]
    flags: dict[str, Any] = field(default_factory=dict)
    block: int | None = 32
    """What --block-size says; None: nothing."""
    processor: tuple[bool, bool] | None = None
    """Whether torch says that there is AMX, and AVX512-BF16; None: as it is here."""
    offload: bool = True
    since: str = "0.23.0"
    """The first vLLM whose CPU build can run it, as far as it was tried."""
    exact_since: str = "0.23.0"
    """The first vLLM whose blocks can be told; before, no figure may be called exact."""


AMX, BF16, NEITHER = (True, True), (False, True), (False, False)
CASES: dict[str, Case] = {
    "gqa": Case(_LLAMA),
    "gqa float32": Case({**_LLAMA, "torch_dtype": "float32"}, {"dtype": "float32"}),
    "gqa float32 config": Case({**_LLAMA, "torch_dtype": "float32"}),
    "gqa fp8": Case(_LLAMA, {"kv-cache-dtype": "fp8"}),
    "gqa tp2": Case(_LLAMA, {"tensor-parallel-size": 2}),
    "one kv head tp2": Case({**_LLAMA, "num_key_value_heads": 1}, {"tensor-parallel-size": 2}),
    "window": Case(_MISTRAL, exact_since="0.32.0"),
    "windows and full": Case({**_MISTRAL, "layer_types": ["sliding_attention", "full_attention"] * 2}),
    "windows 5 to 1": Case(
        {
            **_MISTRAL,
            "num_hidden_layers": 12,
            "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 2,
        }
    ),
    "windows 4 to 3": Case(
        {
            **_MISTRAL,
            "num_hidden_layers": 7,
            "layer_types": [*(["sliding_attention", "full_attention"] * 3), "sliding_attention"],
        }
    ),
    "windows as full": Case(
        {**_MISTRAL, "layer_types": ["sliding_attention", "full_attention"] * 2},
        {"disable-hybrid-kv-cache-manager": True},
    ),
    "pp2": Case({**_LLAMA, "num_hidden_layers": 5}, {"pipeline-parallel-size": 2}),
    "gqa, blocks of 16": Case(_LLAMA, block=16),
    "gqa, blocks of 24": Case(_LLAMA, block=24),
    "gqa, no block size": Case(_LLAMA, block=None),
    "mla": Case(_MLA, since="0.32.0"),
    "mtp": Case(
        {
            **_MLA,
            "architectures": ["DeepseekV3ForCausalLM"],
            "model_type": "deepseek_v3",
            "num_nextn_predict_layers": 1,
            "topk_method": "noaux_tc",
            "scoring_func": "sigmoid",
        },
        {"speculative-config": {"method": "mtp", "num_speculative_tokens": 2}},
        since="0.32.0",
    ),
    "mla, no block size, AMX": Case(_MLA, block=None, since="0.32.0", processor=AMX),
    "mla, AMX": Case(_MLA, block=64, since="0.32.0", processor=AMX),
    "mla, blocks of 16, AMX": Case(_MLA, block=16, since="0.32.0", processor=AMX),
    "mla, no AMX": Case(_MLA, block=64, since="0.32.0", processor=BF16),
    "mla, no block size, no AMX": Case(_MLA, block=None, since="0.32.0", processor=BF16),
    "delta net": Case(_NEXT, offload=False),
    "delta net fp32 state": Case({**_NEXT, "mamba_ssm_dtype": "float32"}, offload=False),
    "delta net, AMX": Case(_NEXT, offload=False, processor=AMX),
    "delta net, BF16 without AMX": Case(_NEXT, offload=False, processor=BF16),
    "delta net, neither": Case(_NEXT, offload=False, processor=NEITHER),
    "delta net, 16 bits, AMX": Case(_NEXT, {"mamba-ssm-cache-dtype": "bfloat16"}, offload=False, processor=AMX),
    "delta net, 16 bits, neither": Case(_NEXT, {"mamba-ssm-cache-dtype": "bfloat16"}, offload=False, processor=NEITHER),
}
CACHE_BYTES = 50_000_000
BUDGET = 7_000_000


def write(case: Case, folder: Path) -> Path:
    """Write the case's config.json into ``folder`` and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(case.config))
    return folder


def engine_arguments(case: Case, folder: Path) -> dict[str, Any]:
    """Return the keywords of ``LLM`` for the case."""
    arguments: dict[str, Any] = {
        "model": str(folder),
        "kv_cache_memory_bytes": CACHE_BYTES,
        "max_model_len": 512,
        "max_num_seqs": 4,
        **{name.replace("-", "_"): value for name, value in case.flags.items()},
    }
    if case.block is not None:
        arguments["block_size"] = case.block
    if case.offload:
        arguments["kv_transfer_config"] = {
            "kv_connector": "RecomputeCPUOffloadConnector",
            "kv_role": "kv_consumer",
            "kv_connector_module_path": "pd_launch.connector",
            "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": BUDGET},
        }
    return arguments
