"""What several options of vLLM must fulfil together: what it refuses at start, and what then does nothing.

A row is a sentence about options, not code: rules PD114 and PD008 read the rows. Rows are of vLLM on its own platforms,
and hold whatever the model is: what is refused for some models alone is not here.
"""

from __future__ import annotations

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.releases.facts import Code, Fact, vllm

_CONFIG = "vllm/config/vllm.py"
_PARALLEL = "vllm/config/parallel.py"
_ARGS = "vllm/engine/arg_utils.py"
_DRAFTS = "vllm/config/speculative.py"
_SERVE = "vllm/entrypoints/cli/serve.py"
_V1 = "vllm/distributed/kv_transfer/kv_connector/v1"
_NIXL = f"{_V1}/nixl_connector.py {_V1}/nixl/*.py"
_CHUNKS = f"{_V1}/offloading/*.py {_V1}/offloading_connector.py vllm/v1/kv_offload/*.py"
_ENCODER = "/".join(("vllm/distributed/ec_transfer/ec_connector", "*.py"))
_ENCODERS = f"{_ENCODER} {_ENCODER[:-4]}*/*.py {_ENCODER[:-4]}*/*/*.py"


@dataclass(frozen=True)
class Given:
    """A part of a launch, and which of its values are meant: any at all, where no values are named.

    ``name`` is a flag without its dashes, or a variable after ``$``, or (with ``connectors``) empty; ``key`` leads
    into the flag's object, or into the connector's options. ``words`` are the values that are meant, ``but`` are those
    that are not.
    """

    name: str = ""
    key: tuple[str, ...] = ()
    words: tuple[object, ...] = ()
    but: tuple[object, ...] = ()
    above: int | None = None
    """Numbers above this one are meant."""
    connectors: frozenset[str] | None = None
    """Connectors of which one starts; empty: any."""
    absent: bool = False
    """It is meant that this is not written, or with another value than ``words``."""
    unlike: str = ""
    """A flag with a number that is known and is another one."""


@dataclass(frozen=True)
class Combination:
    """Parts that vLLM refuses together; ``idle``: it starts, and the first one does nothing."""

    fact: Fact
    one: Given
    other: Given
    idle: bool = False
    also: tuple[Given, ...] = ()
    """What must be written too."""


def _on(name: str) -> Given:
    return Given(name, words=(True,))


def _off(name: str) -> Given:
    return Given(name, words=(False,))


def _above(name: str, number: int = 1) -> Given:
    return Given(name, above=number)


def _is(name: str, *words: object) -> Given:
    return Given(name, words=words)


def _key(name: str, *path: str, words: tuple[object, ...] = (), but: tuple[object, ...] = ()) -> Given:
    return Given(name, path, words, but)


def _lacks(name: str, *path: str, words: tuple[object, ...] = ()) -> Given:
    return Given(name, path, words, absent=True)


def _runs(*names: str) -> Given:
    return Given(connectors=frozenset(names))


def _option(connector: str, *path: str, words: tuple[object, ...] = ()) -> Given:
    return Given(key=path, words=words, connectors=frozenset({connector}))


def _fact(name: str, since: str | None, meaning: str, files: str, pattern: str, until: str | None = None) -> Fact:
    return vllm(name, since, until, meaning, Code(files, pattern))


_PIPELINE, _DATA = "pipeline-parallel-size", "data-parallel-size"
_DCP, _PCP = "decode-context-parallel-size", "prefill-context-parallel-size"
_SPEC, _EVENTS, _EPLB = "speculative-config", "kv-events-config", "eplb-config"
_V1_RUNNER = _is("$VLLM_USE_V2_MODEL_RUNNER", "0")
_ROUTED = _on("enable-return-routed-experts")
_HISPARSE = _runs("HiSparseConnector")
_ADAPTIVE = _key(_SPEC, "enable_adaptive_verification", words=(True,))
_SYNTHETIC = _lacks(_SPEC, "rejection_sample_method", words=("synthetic",))
_POOLS = ("NVLINK", "BAREX", "nvlink", "barex")
_POOL = _option("MooncakeStoreConnector", "custom_mem_pool", words=_POOLS)
_ASYNC_EPLB = _key(_EPLB, "use_async", words=(True,))

_ROUTED_CONTEXT = _fact(
    "routed-experts-no-context", "0.28.0", "--enable-return-routed-experts is refused with context parallelism",
    _CONFIG, r"--enable-return-routed-experts is incompatible with context",
)  # fmt: skip
_MOONEP_MODELS = _fact(
    "moonep-unquantised", "0.31.0", "--all2all-backend moonep takes only unquantised bfloat16 models",
    _CONFIG, r"The moonep all2all backend currently",
)  # fmt: skip
_DRAFTS_ONCE = _fact(
    "drafts-once", "0.22.0", "what --spec-method, --spec-model and --spec-tokens say must not be in the object too",
    _ARGS, r"and --speculative-config\[",
)  # fmt: skip
_ELASTIC_BALANCER = _fact(
    "elastic-own-balancer", None, "elastic expert parallelism refuses other load balancing than its own",
    _PARALLEL, r"Elastic EP is not compatible with data_parallel_external_lb or", until="0.33.0",
)  # fmt: skip
_RATES = _fact(
    "rates-need-synthetic", "0.20.0", "synthetic acceptance is refused without rejection_sample_method synthetic",
    _DRAFTS, r"synthetic_acceptance_length.{0,60}(only|require)",
)  # fmt: skip

_ONE_RATE = _fact(
    "synthetic-one-rate", "0.20.0", "rejection_sample_method synthetic takes rates or a length, not both or none",
    _DRAFTS, r"rejection_sample_method='synthetic' requires exactly one of",
)  # fmt: skip

_POOL_ALLOCATOR = _fact(
    "pool-not-asleep", "0.31.0", "custom_mem_pool of MooncakeStoreConnector is refused with vLLM's own allocator",
    f"{_V1}/mooncake/store/*.py", r"custom_mem_pool is incompatible with enable_sleep_mode",
)  # fmt: skip

COMBINATIONS = (
    Combination(
        _fact("routed-experts-one-stage", "0.22.0", "--enable-return-routed-experts is refused with several stages",
              _CONFIG, r"--enable-return-routed-experts is incompatible with pipeline"),
        _ROUTED, _above(_PIPELINE),
    ),
    Combination(_ROUTED_CONTEXT, _ROUTED, _above(_DCP)),
    Combination(_ROUTED_CONTEXT, _ROUTED, _above(_PCP)),
    Combination(
        _fact("routed-experts-no-pd", "0.31.0", "--enable-return-routed-experts is refused with P/D connectors",
              _CONFIG, r"PD auxiliary output is not supported"),
        _ROUTED,
        _runs("NixlConnector", "NixlPullConnector", "NixlPushConnector", "MoRIIOConnector", "MooncakeConnector"),
    ),
    Combination(
        _fact("routed-experts-v2", "0.31.0", "--enable-return-routed-experts is refused with the V1 model runner",
              _CONFIG, r"AuxOutput Connector requires Model Runner V2"),
        _ROUTED, _V1_RUNNER,
    ),
    Combination(
        _fact("routed-experts-prefix", "0.31.0", "--enable-return-routed-experts is refused without prefix caching",
              _CONFIG, r"AuxOutput Connector requires prefix caching"),
        _ROUTED, _off("enable-prefix-caching"),
    ),
    Combination(
        _fact("async-needs-padded-drafts", None, "--async-scheduling is refused with disable_padded_drafter_batch",
              _CONFIG, r"Async scheduling is not compatible with disable_padded_drafter_batch=True", until="0.33.0"),
        _on("async-scheduling"), _key(_SPEC, "disable_padded_drafter_batch", words=(True,)),
    ),
    Combination(
        _fact("replayssm-no-connector", "0.27.0", "--use-replayssm is refused with KV connectors",
              _CONFIG, r"--use-replayssm is incompatible with KV connectors"),
        _on("use-replayssm"), _runs(),
    ),
    Combination(
        _fact("mamba-block-needs-prefix", None, "--mamba-block-size is refused without prefix caching",
              "vllm/config/*.py", r"--mamba-block-size can only be set with --enable-prefix-caching"),
        Given("mamba-block-size", unlike="max-model-len"), _off("enable-prefix-caching"),
    ),
    Combination(
        _fact("align-needs-chunked-mm", None, "--mamba-cache-mode align is refused with --disable-chunked-mm-input",
              "vllm/config/*.py", r"Chunked MM input is required because we need"),
        _is("mamba-cache-mode", "align"), _on("disable-chunked-mm-input"), also=(_on("enable-prefix-caching"),),
    ),
    Combination(
        _fact("hisparse-one-stage", "0.30.0", "HiSparseConnector is refused with several stages",
              _CONFIG, r"HiSparse does not support pipeline parallelism"),
        _HISPARSE, _above(_PIPELINE),
    ),
    Combination(
        _fact("hisparse-no-dcp", "0.30.0", "HiSparseConnector is refused with decode context parallelism",
              _CONFIG, r"HiSparse does not support decode context"),
        _HISPARSE, _above(_DCP),
    ),
    Combination(
        _fact("hisparse-no-full", "0.32.0", "HiSparseConnector is refused with full graphs only",
              _CONFIG, r"HiSparse does not support cudagraph_mode=FULL"),
        _HISPARSE, _key("compilation-config", "cudagraph_mode", words=("FULL",)),
        also=(_lacks("enforce-eager"),),
    ),
    Combination(
        _fact("hisparse-reserves", "0.31.0", "HiSparseConnector is refused with --no-scheduler-reserve-full-isl",
              _CONFIG, r"HiSparse requires --scheduler-reserve-full-isl"),
        _HISPARSE, _off("scheduler-reserve-full-isl"),
    ),
    Combination(
        _fact("hisparse-v2", "0.30.0", "HiSparseConnector is refused with the V1 model runner",
              _CONFIG, r"HiSparse requires Model Runner V2; remove"),
        _HISPARSE, _V1_RUNNER,
    ),
    Combination(
        _fact("hisparse-hybrid", "0.30.0", "HiSparseConnector needs the hybrid KV cache manager",
              _CONFIG, r"HiSparse requires the hybrid KV cache manager"),
        _HISPARSE, _on("disable-hybrid-kv-cache-manager"),
    ),
    Combination(_MOONEP_MODELS, _is("all2all-backend", "moonep"), Given("quantization")),
    Combination(_MOONEP_MODELS, _is("all2all-backend", "moonep"), _is("dtype", "float16", "half", "float32", "float")),
    Combination(
        _fact("moonep-no-eplb", "0.31.0", "--all2all-backend moonep is refused with --enable-eplb",
              _CONFIG, r"The moonep all2all backend does not support EPLB"),
        _is("all2all-backend", "moonep"), _on("enable-eplb"),
    ),
    Combination(
        _fact("moonep-linear", "0.31.0", "--all2all-backend moonep only places experts in order",
              _CONFIG, r"The moonep all2all backend requires linear"),
        _is("all2all-backend", "moonep"), Given("expert-placement-strategy", but=("linear",)),
    ),
    Combination(
        _fact("events-published-off", None, "KV events have a publisher and are switched off: a warning, and none come",
              _CONFIG, r"KV cache events are disabled, but the scheduler is configured to publish"),
        _key(_EVENTS, "publisher", but=("null",)), _key(_EVENTS, "enable_kv_cache_events", words=(False,)), idle=True,
    ),
    Combination(
        _fact("attention-backend-once", None, "the attention backend must not be written twice",
              _ARGS, r"attention_backend and attention_config\.backend are mutually exclusive"),
        Given("attention-backend"), _key("attention-config", "backend", but=("auto",)),
    ),
    Combination(
        _fact("autotune-once", None, "enable_flashinfer_autotune must not be written twice",
              _ARGS, r"enable_flashinfer_autotune and kernel_config\.enable_flashinfer_autotune are mutually"),
        Given("enable-flashinfer-autotune"), _key("kernel-config", "enable_flashinfer_autotune"),
    ),
    Combination(_DRAFTS_ONCE, Given("spec-tokens"), _key(_SPEC, "num_speculative_tokens")),
    Combination(_DRAFTS_ONCE, Given("spec-method"), _key(_SPEC, "method")),
    Combination(_DRAFTS_ONCE, Given("spec-model"), _key(_SPEC, "model")),
    Combination(
        _fact("nnodes-needs-mp", "0.27.0", "--nnodes above 1 is refused with --data-parallel-backend ray",
              _ARGS, r"requires `--data-parallel-backend mp`"),
        _above("nnodes"), _is("data-parallel-backend", "ray"),
    ),
    Combination(
        _fact("nnodes-executor", None, "--nnodes above 1 is refused with Ray's executor",
              _PARALLEL, r"nnodes > 1 can only be set when distributed executor"),
        _above("nnodes"), _is("distributed-executor-backend", "ray"),
    ),
    Combination(
        _fact("eplb-needs-experts", None, "--enable-eplb is refused without expert parallelism",
              _PARALLEL, r"enable_expert_parallel must be True to use EPLB"),
        _on("enable-eplb"), _lacks("enable-expert-parallel"),
    ),
    Combination(
        _fact("eplb-async-communicator", "0.24.0", "asynchronous EPLB is refused with NCCL's communicators",
              _PARALLEL, r"communicator is incompatible with async EPLB"),
        _ASYNC_EPLB, _key(_EPLB, "communicator", words=("torch_nccl", "pynccl")),
    ),
    Combination(
        _fact("elastic-one-stage", None, "elastic expert parallelism is refused with several stages",
              _PARALLEL, r"Elastic EP is not supported with pipeline"),
        _on("enable-elastic-ep"), _above(_PIPELINE),
    ),
    Combination(_ELASTIC_BALANCER, _on("enable-elastic-ep"), _on("data-parallel-hybrid-lb")),
    Combination(_ELASTIC_BALANCER, _on("enable-elastic-ep"), _on("data-parallel-external-lb")),
    Combination(
        _fact("elastic-one-server", "0.19.0", "elastic expert parallelism has one API server, whatever is written",
              _SERVE, r"Elastic EP only supports running with"),
        _above("api-server-count"), _on("enable-elastic-ep"), idle=True,
    ),
    Combination(
        _fact("device-ids-not-ray", "0.24.0", "--device-ids does nothing with Ray's executor",
              _ARGS, r"--device-ids has no effect when using the Ray"),
        Given("device-ids"), _is("distributed-executor-backend", "ray"), idle=True,
    ),
    Combination(
        _fact("fault-tolerance-one-server", "0.27.0", "--enable-fault-tolerance is refused with several API servers",
              _PARALLEL, r"Fault tolerance requires a single API server"),
        _on("enable-fault-tolerance"), _above("api-server-count"),
    ),
    Combination(
        _fact("additional-properties-guidance", None, "disable_additional_properties is for guidance only",
              "vllm/config/structured_outputs.py",
              r"disable_additional_properties is only supported for the guidance"),
        _key("structured-outputs-config", "disable_additional_properties", words=(True,)),
        _key("structured-outputs-config", "backend", but=("guidance",)),
    ),
    Combination(
        _fact("pooling-type-once", None, "pooling_type is refused beside seq_pooling_type",
              "vllm/config/pooler.py", r"Cannot set both `pooling_type` and `seq_pooling_type`"),
        _key("pooler-config", "pooling_type"), _key("pooler-config", "seq_pooling_type"),
    ),
    Combination(
        _fact("profiler-dir-needs-torch", None, "torch_profiler_dir is refused without the torch profiler",
              "vllm/config/profiler.py", r"torch_profiler_dir is only applicable when"),
        _key("profiler-config", "torch_profiler_dir"), _lacks("profiler-config", "profiler", words=("torch",)),
    ),
    Combination(_RATES, _key(_SPEC, "synthetic_acceptance_rates"), _SYNTHETIC),
    Combination(_RATES, _key(_SPEC, "synthetic_acceptance_length"), _SYNTHETIC),
    Combination(
        _ONE_RATE, _key(_SPEC, "rejection_sample_method", words=("synthetic",)),
        _lacks(_SPEC, "synthetic_acceptance_rates"), also=(_lacks(_SPEC, "synthetic_acceptance_length"),),
    ),
    Combination(
        _ONE_RATE, _key(_SPEC, "synthetic_acceptance_rates"), _key(_SPEC, "synthetic_acceptance_length"),
        also=(_key(_SPEC, "rejection_sample_method", words=("synthetic",)),),
    ),
    Combination(
        _fact("adaptive-no-lora", "0.29.0", "adaptive verification is refused with LoRA",
              _CONFIG, r"Adaptive verification is not currently compatible with LoRA"),
        _ADAPTIVE, _on("enable-lora"),
    ),
    Combination(
        _fact("adaptive-one-stage", "0.29.0", "adaptive verification is refused with several stages",
              _CONFIG, r"Adaptive verification is not currently compatible with pipeline"),
        _ADAPTIVE, _above(_PIPELINE),
    ),
    Combination(
        _fact("vocabulary-draft-model", "0.25.0", "use_heterogeneous_vocab is for draft models only",
              _DRAFTS, r"use_heterogeneous_vocab only works with method='draft_model'"),
        _key(_SPEC, "use_heterogeneous_vocab", words=(True,)), _key(_SPEC, "method", but=("draft_model",)),
    ),
    Combination(
        _fact("fast-prefill-no-eagle", None, "--kv-sharing-fast-prefill is refused with EAGLE and MTP",
              _CONFIG, r"Fast prefill optimization for KV sharing is not compatible with EAGLE"),
        _on("kv-sharing-fast-prefill"), _key(_SPEC, "method", words=("eagle", "eagle3", "mtp")),
    ),
    Combination(
        _fact("dynamic-drafts-one-rank", "0.26.0", "a number of drafts by batch size is dropped with data parallelism",
              _CONFIG, r"Dynamic speculative decoding is not supported with data parallelism"),
        _key(_SPEC, "num_speculative_tokens_per_batch_size"), _above(_DATA), idle=True,
    ),
    Combination(
        _fact("encoder-cpu-bytes", "0.26.0", "ECCPUConnector stops without ec_cpu_bytes",
              _ENCODERS, r"ec_cpu_bytes must be specified"),
        _key("ec-transfer-config", "ec_connector", words=("ECCPUConnector",)),
        _lacks("ec-transfer-config", "ec_connector_extra_config", "ec_cpu_bytes"),
    ),
    Combination(
        _fact("encoder-cpu-v2", "0.30.0", "ECCPUConnector stops with the V1 model runner",
              _ENCODERS, r"ECCPUConnector requires the V2 model runner"),
        _key("ec-transfer-config", "ec_connector", words=("ECCPUConnector",)), _V1_RUNNER,
    ),
    *(
        Combination(
            _fact(f"encoder-mooncake-{name}", "0.30.0", f"producers of ECMooncakeConnector refuse --{flag} above 1",
                  _ENCODERS, pattern),
            _key("ec-transfer-config", "ec_connector", words=("ECMooncakeConnector",)), _above(flag),
            also=(_key("ec-transfer-config", "ec_role", words=("ec_producer", "ec_both")),),
        )
        for name, flag, pattern in (
            ("tensor", "tensor-parallel-size", r"ECMooncakeConnector producers require tensor_parallel_size=1"),
            ("pipeline", _PIPELINE, r"ECMooncakeConnector producers do not support pipeline"),
        )
    ),
    Combination(
        _fact("chunk-once", "0.26.0", "OffloadingConnector refuses block_size beside blocks_per_chunk",
              _CHUNKS, r"Specify only one of 'block_size' or 'blocks_per_chunk'"),
        _option("OffloadingConnector", "blocks_per_chunk"), _option("OffloadingConnector", "block_size"),
    ),
    Combination(_POOL_ALLOCATOR, _POOL, _on("enable-sleep-mode")),
    Combination(_POOL_ALLOCATOR, _POOL, _on("enable-cumem-allocator")),
    Combination(
        _fact("nixl-pcp-one-way", "0.29.0", "NixlConnector with PCP refuses bidirectional_kv_xfer",
              _NIXL, r"PCP producers do not support bidirectional"),
        _option("NixlConnector", "bidirectional_kv_xfer", words=(True,)), _above(_PCP),
    ),
    Combination(
        _fact("lora-updates-one-server", None, "VLLM_ALLOW_RUNTIME_LORA_UPDATING is refused with several API servers",
              _SERVE, r"VLLM_ALLOW_RUNTIME_LORA_UPDATING cannot be used with"),
        _is("$VLLM_ALLOW_RUNTIME_LORA_UPDATING", "1", "true", "True"), _above("api-server-count"),
    ),
)  # fmt: skip
