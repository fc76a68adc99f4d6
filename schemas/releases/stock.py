"""What differs between releases of vLLM itself, flags and fields apart (those are generated)."""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Code, Fact, Generated, Run, vllm

_CONFIG = "vllm/config/vllm.py"
_ARGS = "vllm/engine/arg_utils.py"
_CPU = "vllm/platforms/cpu.py"


def _code(name: str, since: str | None, meaning: str, files: str, pattern: str, absent: bool = False) -> Fact:
    return vllm(name, since, None, meaning, Code(files, pattern, absent))


SUFFIXES = _code(
    "json-number-suffixes", "0.20.0", "80g and similar sizes are expanded inside the JSON of a config class",
    _ARGS, r"def _expand_json_human_readable_numbers",
)  # fmt: skip
UNREAD_FIELDS = _code(
    "unread-kv-fields", None, "no connector reads kv_rank, kv_parallel_size or kv_ip",
    "vllm/distributed/kv_transfer/*/*/*.py vllm/distributed/kv_transfer/*/*/*/*.py vllm/v1/*/*.py vllm/v1/*/*/*.py",
    r"\.kv_(rank|parallel_size|ip)\b", absent=True,
)  # fmt: skip
START_ZERO = _code(
    "start-rank-zero-counts", "0.28.0", "a start rank of 0 makes hybrid load balancing as others do",
    _ARGS, r"if self\.data_parallel_start_rank is not None and not headless",
)  # fmt: skip
PIPELINE_SYNCHRONOUS = _code(
    "pipeline-parallel-synchronous", "0.31.0",
    "pipeline parallelism switches the default of async scheduling off with the V1 model runner",
    _CONFIG, r"(?s)pipeline_parallel_size > 1.{0,400}does not support it with pipeline parallelism"
    r"|v1_async_sched_incompat = \"pipeline parallelism\"",
)  # fmt: skip
EXPANDABLE_REFUSED = _code(
    "expandable-segments-refused", "0.21.0", "expandable segments are refused together with a KV connector",
    _CONFIG, r"incompatible with PYTORCH_CUDA_ALLOC_CONF=expandable_segments",
)  # fmt: skip
FILE_TIER = _code(
    "cpu-tier-is-a-file", "0.27.0", "OffloadingConnector's CPU tier on CUDA is a file in /dev/shm",
    "vllm/v1/kv_offload/cpu/spec.py", r"SharedOffloadRegion\(",
)  # fmt: skip
DRAFTS_APART = _code(
    "drafts-take-no-tokens", "0.28.0", "drafts no longer take tokens of the step",
    "vllm/v1/core/sched/scheduler.py", r"max_num_new_slots_for_drafting",
)  # fmt: skip
FLOAT_CACHE = _code(
    "float-cache-must-match", "0.33.0", "a floating-point --kv-cache-dtype must be the model's own",
    _CONFIG, r"def _reject_mismatched_float_kv_cache",
)  # fmt: skip
SLEEP_ASKED = _code(
    "sleep-mode-asks-connectors", "0.33.0", "sleep mode is refused where a connector does not support it",
    _CONFIG, r"supports_sleep_mode",
)  # fmt: skip
CPU_MLA = _code(
    "cpu-mla", "0.28.0", "MLA is served on CPU, in blocks of 16 tokens",
    _CPU, r"CPU MLA backend requires block_size=16",
)  # fmt: skip
CPU_MLA_AMX = _code(
    "cpu-mla-amx", "0.29.0", "with AMX, MLA on CPU has its own backend, which uses block sizes other than 16",
    _CPU, r"amx_mla_enabled = \(",
)  # fmt: skip
CPU_BLOCKS_OF_32 = _code(
    "cpu-blocks-of-32", "0.29.0", "a block on CPU holds a multiple of 32 tokens, before of 16",
    "vllm/v1/attention/backends/cpu_attn.py", r"MultipleOf\(32\)",
)  # fmt: skip
CPU_STATE_BY_BF16 = _code(
    "cpu-state-by-bf16", "0.29.0", "recurrent states on CPU are kept in 32 bits with AVX512-BF16, before with AMX",
    _CPU, r"(?s)_is_avx512_bf16_supported\(\)\s*and cache_config\.mamba_ssm_cache_dtype != \"float32\"",
)  # fmt: skip
WINDOW_BLOCK = vllm(
    "window-model-keeps-its-block", "0.32.0", None,
    "the block size of a model of windows only is the default; before, the attention backend may choose it",
    Run("tests/size/test_engine_geometry.py::test_blocks_are_the_engines"),
)  # fmt: skip

DEFAULT_KV_PORT = _code(
    "default-kv-port", None, "kv_port is 14579 where none is written",
    "vllm/config/kv_transfer.py", r"^    kv_port: int = 14579$",
)  # fmt: skip
DEFAULT_SIDE_CHANNEL = _code(
    "default-side-channel", None, "NixlConnector's side channel is port 5600 where none is written",
    "vllm/envs.py", r"\"VLLM_NIXL_SIDE_CHANNEL_PORT\", \"5600\"",
)  # fmt: skip
DEFAULT_SUPERVISOR = _code(
    "default-supervisor-port", "0.22.0", "the supervisor of data-parallel engines listens on port 9256",
    "vllm/entrypoints/*.py vllm/entrypoints/*/*.py", r"data_parallel_supervisor_port: int = 9256",
)  # fmt: skip
EVENT_PORTS = _code(
    "port-of-kv-events", None, "KV cache events are published at port 5557, offset by the data-parallel rank; an "
    "address with a wildcard is bound",
    "vllm/distributed/kv_events.py", r"(?s)def offset_endpoint_port\(.{0,1200}base_port \+ data_parallel_rank",
)  # fmt: skip
BOOTSTRAP_PORT = _code(
    "port-of-mooncake-bootstrap", None, "a producer's first engine binds port 8998, or VLLM_MOONCAKE_BOOTSTRAP_PORT",
    "vllm/envs.py", r"\"VLLM_MOONCAKE_BOOTSTRAP_PORT\", \"8998\"",
)  # fmt: skip
BOOTSTRAP_ELSEWHERE = _code(
    "mooncake-bootstrap-elsewhere", "0.32.0", "bootstrap_server_address names a bootstrap server that runs elsewhere",
    "vllm/distributed/kv_transfer/kv_connector/v1/mooncake/mooncake_connector.py", r"\"bootstrap_server_address\"",
)  # fmt: skip
MORIIO_PORTS = _code(
    "ports-of-moriio", None, "MoRIIOConnector binds a port for the handshake and one for notices for each local rank",
    "vllm/distributed/kv_transfer/kv_connector/v1/moriio/moriio_common.py",
    r"(?s)notify_port \+ port_offset.*DEFAULT_HANDSHAKE_PORT = \"6301\"",
)  # fmt: skip
TIER_PORT = _code(
    "port-of-p2p-tier", "0.26.0", "a tier that fetches from peers binds port 5710 or its own, one for each rank",
    "vllm/v1/kv_offload/tiering/p2p/manager.py", r"port = int\(port\) \+ dp_index",
)  # fmt: skip
OFFLOAD_SIZE = _code(
    "offload-size-overwrites", None, "--kv-offloading-size replaces the configured connector, and the role by kv_both",
    _CONFIG, r"(?s)def _post_init_kv_transfer_config.*kv_transfer_config\.kv_role = \"kv_both\"",
)  # fmt: skip
LMCACHE_MP = _code(
    "offload-size-lmcache-mp", "0.23.0", "--kv-offloading-size with lmcache means LMCacheMPConnector",
    _CONFIG, r"kv_transfer_config\.kv_connector = \"LMCacheMPConnector\"",
)  # fmt: skip
SIMPLE_OFFLOAD = _code(
    "offload-size-simple", "0.19.0", "VLLM_USE_SIMPLE_KV_OFFLOAD chooses the connector of --kv-offloading-size",
    _CONFIG, r"VLLM_USE_SIMPLE_KV_OFFLOAD",
)  # fmt: skip
ASYNC_DRAFTS = vllm(
    "async-refuses-drafts", None, "0.33.0", "--async-scheduling is refused with drafts by ngram and similar methods",
    Code(_CONFIG, r"Currently, async scheduling is only supported"),
)  # fmt: skip
MULTI_PORT = _code(
    "multi-port-needs-ranks", "0.22.0", "the supervisor of data-parallel engines needs at least two local ranks",
    "vllm/entrypoints/*.py vllm/entrypoints/*/*.py", r"local_size < 2",
)  # fmt: skip
PAIRED_SWITCHES = vllm(
    "paired-switches", "0.33.0", None, "every --enable-x is paired with --disable-x, and the reverse",
    Generated("facts", "paired_switches"),
    Code("vllm/utils/argparse_utils.py", r"class EnableDisableAction"),
)  # fmt: skip
SIDE_CHANNEL_BY_RANK = _code(
    "side-channel-by-rank", None, "each data-parallel rank has its own side channel, after the first",
    "vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py "
    "vllm/distributed/kv_transfer/kv_connector/v1/nixl/*.py",
    r"VLLM_NIXL_SIDE_CHANNEL_PORT\s+\+ vllm_config\.parallel_config\.data_parallel_index",
)  # fmt: skip
EXTERNAL_RANKS = _code(
    "external-balancer-needs-ranks", None, "external load balancing is refused with a data-parallel size of 1",
    "vllm/config/parallel.py", r"data_parallel_external_lb can only be set when data_parallel_size > 1",
)  # fmt: skip
PREFETCH_GROUP = _code(
    "offload-group-bounded", None, "--offload-num-in-group is --offload-group-size at most",
    "vllm/config/offload.py", r"must be <= offload_group_size",
)  # fmt: skip
MICROBATCHES = _code(
    "microbatches-need-deepep", None, "microbatches need the all2all backend of DeepEP or of NIXL",
    "vllm/config/vllm.py", r"Microbatching currently only supports the",
)  # fmt: skip
MICROBATCHES_ON_ROCM = _code(
    "microbatches-on-rocm", "0.33.0", "microbatches run on ROCm with the default all2all backend too",
    "vllm/config/vllm.py", r"current_platform\.is_rocm\(\):\s+supported_backends = \[",
)  # fmt: skip
DRAFT_MODEL = _code(
    "drafts-need-model", None, "a number of drafts is refused for a method that needs a model, without one",
    "vllm/config/speculative.py", r"num_speculative_tokens was provided but without speculative model",
)  # fmt: skip
ACTIVE_BOUND = _code(
    "active-requests-bounded", "0.31.0", "--max-num-active-seqs is --max-num-seqs at most",
    "vllm/config/scheduler.py", r"self\.max_num_active_seqs > self\.max_num_seqs",
)  # fmt: skip
CONTEXT_SPANS = _code(
    "context-spans", "0.26.0", "with prefill context parallelism, decode context parallelism has its size or all ranks",
    "vllm/config/parallel.py", r"When PCP is enabled, DCP must be disabled",
)  # fmt: skip
DEVICES_ONCE = _code(
    "device-ids-once", "0.24.0", "--device-ids names no device twice",
    _ARGS, r"--device-ids must not contain duplicates",
)  # fmt: skip
