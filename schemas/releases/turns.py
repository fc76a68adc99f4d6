"""What turned between releases without a word: defaults, and things that are done although nobody asked.

Refusals and names that are gone are found otherwise; here is what an engine does otherwise with the same command line.
"""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Code, ascend, options, vllm

_NIXL = (
    "vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py "
    "vllm/distributed/kv_transfer/kv_connector/v1/nixl/*.py"
)
_MOONCAKE = "vllm/distributed/kv_transfer/kv_connector/v1/mooncake/*.py"
_AGENT = "vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake_connector.py"

GPU_MEMORY = vllm(
    "gpu-memory-default-092", "0.20.0", None, "--gpu-memory-utilization is 0.92 where it is not given, before 0.9",
    Code("vllm/config/cache.py", r"gpu_memory_utilization: float = Field\(default=0\.92"),
)  # fmt: skip
GRAPH_MEMORY = vllm(
    "graph-memory-estimated", "0.20.0", None, "memory of CUDA graphs is estimated and taken off the KV cache",
    Code("vllm/envs.py", r"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: bool = True"),
)  # fmt: skip
RUNNER_V2_SOME = vllm(
    "v2-runner-for-some", "0.22.0", "0.29.0", "some dense models run on the V2 model runner by default",
    Code("vllm/config/vllm.py", r"DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES = "),
)  # fmt: skip
RUNNER_V2 = vllm(
    "v2-runner-by-default", "0.29.0", None, "every model that it can run is run by the V2 model runner by default",
    Code("vllm/config/vllm.py",
         r"(?s)def use_v2_model_runner\(self\) -> bool:(?:(?!_is_default_v2).){0,2600}?not HAS_TRITON"),
)  # fmt: skip
STRICT_TOOLS = vllm(
    "strict-tool-calling", "0.24.0", None, "tool calls are held to their schema by default",
    Code("vllm/envs.py", r"VLLM_ENFORCE_STRICT_TOOL_CALLING: bool = True"),
)  # fmt: skip
NO_ORIGINS = vllm(
    "no-allowed-origins", "0.32.0", None, "no origin is allowed where --allowed-origins is not given",
    Code("vllm/entrypoints/*/cli_args.py vllm/entrypoints/*/*/cli_args.py",
         r"allowed_origins: list\[str\] = field\(default_factory=list\)"),
)  # fmt: skip
ASYNC_ANY_DRAFTS = vllm(
    "async-with-any-drafts", "0.33.0", None, "async scheduling is on by default with every method of speculation",
    Code("vllm/config/vllm.py", r"(?s)speculative_config\.method not in get_args\(EagleModelTypes\).{0,500}"
         r"decoding and will be disabled", absent=True),
)  # fmt: skip
EPLB_ASYNC = vllm(
    "eplb-asynchronous", "0.23.0", None, "experts are rebalanced asynchronously by default",
    Code("vllm/config/parallel.py", r"use_async: bool = True"),
)  # fmt: skip
NIXL_LEASE = vllm(
    "nixl-leases", "0.22.0", None, "NixlConnector keeps blocks for a lease that decode renews, before for 480 s",
    Code(_NIXL, r"kv_lease_duration"),
)  # fmt: skip
NIXL_VERSION = vllm(
    "nixl-hashes-release", None, None, "NixlConnector hashes the release of vLLM",
    Code(_NIXL, r'"vllm_version": vllm_version'),
)  # fmt: skip
DSV4_OVERLAP = ascend(
    "dsv4-overlap-default", "0.22.1rc1", None, "multistream_dsv4_dsa_overlap is on where it is not given",
    options(r"multistream_dsv4_dsa_overlap(\", True|: bool = True)"),
)  # fmt: skip
PCP_SHARDING = ascend(
    "pcp-sharding-default", "0.30.0rc1", None, "o_proj is sharded over prefill context parallelism by default",
    options(r"enable_pcp_o_proj_weight_sharding: bool = True"),
)  # fmt: skip

MOONCAKE_LENGTHS = vllm(
    "mooncake-block-lengths", "0.19.0", None, "MooncakeConnector's requests carry block_lens",
    Code(_MOONCAKE, r"^    block_lens: list\[int\]"),
)  # fmt: skip
MOONCAKE_GROUPS = vllm(
    "mooncake-block-groups", "0.20.0", None, "MooncakeConnector's requests carry blocks by group",
    Code(_MOONCAKE, r"req_blocks: dict\[ReqId, tuple\[TransferId, list\[list\[int\]\]\]\]"),
)  # fmt: skip
MOONCAKE_KV_LENGTHS = vllm(
    "mooncake-kv-block-lengths", "0.25.0", None, "MooncakeConnector's requests carry kv_block_lens",
    Code(_MOONCAKE, r"^    kv_block_lens: list\[int\]"),
)  # fmt: skip
ASCEND_GROUPS = ascend(
    "mooncake-v1-groups", "0.21.0rc1", None, "MooncakeConnectorV1's metadata carries groups of layers",
    Code(_AGENT, r"^    kv_group2layeridx: "),
)  # fmt: skip
ASCEND_STRIDES = ascend(
    "mooncake-v1-strides", "0.22.1rc1", None, "MooncakeConnectorV1's metadata carries the strides of blocks",
    Code(_AGENT, r"^    block_strides: list"),
)  # fmt: skip

WIRE = {
    "MooncakeConnector": (MOONCAKE_LENGTHS, MOONCAKE_GROUPS, MOONCAKE_KV_LENGTHS),
    "MooncakeConnectorV1": (ASCEND_GROUPS, ASCEND_STRIDES),
}
"""What two sides must have alike to understand each other: fields without a default in what they send."""
