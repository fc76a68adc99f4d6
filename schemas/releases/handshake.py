"""What NixlConnector compares when two engines meet, and what stops it at start, with the releases that do so.

Both sides hash a list of facts, and a difference ends every handshake unless ``enforce_handshake_compat`` is false.
Block sizes are compared afterwards, each time by the side that copies.
"""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Code, vllm

_V1 = "vllm/distributed/kv_transfer/kv_connector/v1"
_NIXL = f"{_V1}/nixl_connector.py {_V1}/nixl/*.py"

HASHES_MODEL = vllm(
    "nixl-hashes-model", None, None, "NixlConnector hashes the model as it is written, its data types and the hybrid "
    "KV cache manager",
    Code(_NIXL, r'(?s)"model": model_config\.model,.{0,900}"is_hma_enabled": is_hma_enabled'),
)  # fmt: skip
HASHES_DRAFTS = vllm(
    "nixl-hashes-drafts", "0.28.0", None, "NixlConnector hashes the drafts that use the model's hidden states",
    Code(_NIXL, r'"speculative_config": _get_speculative_compatibility_factors'),
)  # fmt: skip
CAN_LET_PASS = vllm(
    "nixl-hash-escape", None, None, "enforce_handshake_compat false lets different hashes pass",
    Code(_NIXL, r"enforce_handshake_compat"),
)  # fmt: skip
READER_DIVIDES = vllm(
    "nixl-reader-divides", None, None, "the block size of the side that copies must be a multiple of the other's",
    Code("vllm/distributed/kv_transfer/kv_connector/utils.py", r"self\.block_size % remote_block_size == 0"),
)  # fmt: skip
RANKS_DIVIDE = vllm(
    "nixl-ranks-divide", None, None, "the tensor parallel size of one side must be a multiple of the other's",
    Code("vllm/distributed/kv_transfer/kv_connector/utils.py", r"remote_tp_size % self\.tp_size == 0"),
)  # fmt: skip
MOONCAKE_RANKS_DIVIDE = vllm(
    "mooncake-ranks-divide", "0.19.0", None, "MooncakeConnector needs the same of tensor parallel sizes",
    Code(f"{_V1}/mooncake/mooncake_connector.py", r"remote_tp_size % local_tp_size == 0"),
)  # fmt: skip
HOST_BUFFER_ONE_SIZE = vllm(
    "nixl-host-buffer-one-size", "0.27.0", None, "NixlConnector refuses different block sizes with a host buffer",
    Code(_NIXL, r"Heterogeneous block sizes are not supported with host buffer"),
)  # fmt: skip
CROSS_LAYERS = vllm(
    "nixl-cross-layers", None, "0.29.0", "NixlConnector reads enable_cross_layers_blocks",
    Code(_NIXL, r"enable_cross_layers_blocks"),
)  # fmt: skip
DECODE_ONE_STAGE = vllm(
    "nixl-decode-one-stage", "0.26.0", None, "NixlConnector stops a consumer with pipeline parallelism",
    Code(_NIXL, r'kv_role == "kv_consumer"'),
)  # fmt: skip
HYBRID_ONE_STAGE = vllm(
    "nixl-hybrid-one-stage", "0.26.0", None,
    "NixlConnector refuses pipeline parallelism with several kinds of KV cache",
    Code(_NIXL, r"(?s)(pp_size > 1 and self\._is_hma_required|_is_hma_required and not self\._supports_pp_hma)"),
)  # fmt: skip
