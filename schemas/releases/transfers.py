"""What a pair of prefill and decode nodes of vllm-ascend must agree on, and how ports follow from ranks."""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Code, Documented, ascend, options, platform

_P2P = "vllm_ascend/distributed/kv_transfer/kv_p2p"
_V1 = f"{_P2P}/mooncake_connector.py"

MAMBA_DIVIDES = ascend(
    "mamba-tp-divides", "0.21.0rc1", None,
    "MooncakeConnectorV1 asserts that decode's TP divides prefill's for a model with Mamba layers",
    Code(_V1, r"Hybrid Mamba prefill tp size\(.{0,60}must be divisible by"),
)  # fmt: skip
BLOCKS_DIVIDE = ascend(
    "blocks-divide", "0.23.0rc1", None,
    "MooncakeConnectorV1 pairs block sizes of which one divides the other",
    Code(_V1, r"\bblock_size_ratio\b"),
)  # fmt: skip
CONTEXT_EITHER_WAY = ascend(
    "context-either-way", "0.28.0rc1", None,
    "MooncakeConnectorV1 pairs decode context parallel sizes of which one divides the other; PCP no longer counts, and "
    "DCP on the decode side only needs equal blocks",
    Code(_V1, r"P/D CP sizes must be divisible in either direction"),
)  # fmt: skip
V1_PCP_ON_PREFILL = ascend(
    "v1-pcp-on-prefill", "0.28.0rc1", None, "MooncakeConnectorV1 refuses PCP on a kv_consumer",
    Code(_V1, r"Mooncake supports PCP only on the prefill"),
)  # fmt: skip
ENGINE_ID_SUFFIX = ascend(
    "engine-id-suffix", "0.12.0rc1", None, "a random suffix is appended to engine_id",
    platform(r"engine_id.{0,40}uuid4"),
)  # fmt: skip
NO_ASCEND_DIRECT = ascend(
    "no-reader-of-use-ascend-direct", "0.12.0rc1", None, "use_ascend_direct is not read",
    Code("vllm_ascend/distributed/kv_transfer/*/*.py vllm_ascend/distributed/kv_transfer/*/*/*.py vllm_ascend/*.py",
         r"\buse_ascend_direct\b", absent=True),
    Documented("https://github.com/vllm-project/vllm-ascend/pull/7434", "takes it out of the documentation"),
)  # fmt: skip
MOONCAKE_C8 = ascend(
    "mooncake-c8-gqa", "0.23.0rc1", None, "a C8 KV cache of GQA attention is refused with the Mooncake connectors",
    options(r"def _check_mooncake_c8_kv_cache_quant"),
)  # fmt: skip
HYBRID_RECOMPUTE = ascend(
    "hybrid-refuses-load-recompute", "0.21.0rc1", None,
    'kv_load_failure_policy "recompute" is refused for models with Mamba or linear attention layers',
    platform(r"Hybrid models do not support recompute mode kv load failure"),
)  # fmt: skip
HCCL_HIERARCHY = ascend(
    "hierarchy-by-variables", None, "0.26.0rc1", "hierarchical MC2 follows from HCCL's variables",
    Code("vllm_ascend/*.py vllm_ascend/ops/fused_moe/*.py vllm_ascend/quantization/*.py "
         "vllm_ascend/distributed/*.py", r"HCCL_INTRA_(ROCE|PCIE)_ENABLE"),
)  # fmt: skip
PORT_V1 = ascend(
    "port-of-mooncake", None, None, "kv_port is the first of a range, offset by the data-parallel rank times the ranks "
    "of an engine",
    Code(_V1, r"(?s)kv_port\s*\+.{0,60}data_parallel_(rank|index)\s*\*.{0,60}tensor_parallel_size"),
)  # fmt: skip
PORT_HYBRID = ascend(
    "port-of-hybrid", "0.20.2rc1", None, "MooncakeHybridConnector counts its ports as MooncakeConnectorV1 does",
    Code(f"{_P2P}/mooncake_hybrid_connector.py",
         r"(?s)kv_port\s*\+.{0,60}data_parallel_(rank|index)\s*\*.{0,60}tensor_parallel_size"),
)  # fmt: skip
PORT_LAYERWISE = ascend(
    "port-of-layerwise", None, None, "MooncakeLayerwiseConnector counts its ports by data-parallel and tensor-parallel "
    "rank",
    Code(f"{_P2P}/mooncake_layerwise_connector.py",
         r"(?s)kv_port\s*\+.{0,60}(dp_rank|data_parallel_(rank|index))\s*\*"),
)  # fmt: skip
V4_BLOCKS = ascend(
    "deepseek-v4-blocks", "0.21.0rc1", None, "DeepSeek-V4 has its own block sizes",
    Code("vllm_ascend/utils.py", r"block_size not in \[32, 64, 128\]"),
)  # fmt: skip
FORCED_BLOCK = ascend(
    "forced-block", None, None, "with prefix caching or chunked prefill the block size of other models is 128",
    Code("vllm_ascend/utils.py", r"Block size is set to 128 if prefix cache or chunked prefill is enabled"),
)  # fmt: skip
