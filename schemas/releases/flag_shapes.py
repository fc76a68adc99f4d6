"""How the flags of ``vllm serve`` are split from their values, for all releases together.

Written by scripts/read_release.py from the tables in data/; do not edit. A flag that takes no value in one release and
one in another stands in none of the first two sets.
"""

from __future__ import annotations

SWITCHES = frozenset(
    {
        "aggregate-engine-logging", "allow-credentials", "allow-deprecated-quantization", "async-scheduling",
        "calculate-kv-scales", "cohere-is-reasoning-model", "cudagraph-metrics", "data-parallel-external-lb",
        "data-parallel-hybrid-lb", "data-parallel-multi-port-external-lb", "dcp-q-replicate",
        "disable-cascade-attn", "disable-chunked-mm-input", "disable-custom-all-reduce",
        "disable-fastapi-docs", "disable-frontend-multiprocessing", "disable-hybrid-kv-cache-manager",
        "disable-log-stats", "disable-nccl-for-dp-synchronization", "disable-sliding-window",
        "disable-uvicorn-access-log", "enable-auto-tool-choice", "enable-batch-sharded-sampling",
        "enable-bf16x3-router-gemm", "enable-chunked-prefill", "enable-cumem-allocator", "enable-dbo",
        "enable-elastic-ep", "enable-ep-weight-filter", "enable-eplb", "enable-expert-parallel",
        "enable-fault-tolerance", "enable-flash-late-interaction", "enable-flashinfer-autotune",
        "enable-force-include-usage", "enable-hc-sp", "enable-layerwise-nvtx-tracing", "enable-log-deltas",
        "enable-log-outputs", "enable-log-requests", "enable-logging-iteration-details", "enable-lora",
        "enable-mamba-cache-stochastic-rounding", "enable-mamba-fine-grained-prefix-cache",
        "enable-mamba-shared-prefix-checkpoint", "enable-mfu-metrics", "enable-mixed-moe-lora-format",
        "enable-mm-embeds", "enable-moe-shared-loras", "enable-nccl-comm-suspend", "enable-offline-docs",
        "enable-per-request-metrics", "enable-prefix-caching", "enable-prompt-embeds",
        "enable-prompt-tokens-details", "enable-request-id-headers", "enable-return-routed-experts",
        "enable-scale-out", "enable-server-load-tracking", "enable-shm-tensor-arena", "enable-sleep-mode",
        "enable-ssl-refresh", "enable-tokenizer-info-endpoint", "enable-tower-connector-lora",
        "enable-trace-replay", "enforce-eager", "exclude-tools-when-tool-choice-none",
        "fail-on-environ-validation", "fully-sharded-loras", "grpc", "headless", "interleave-mm-strings",
        "jit-monitor-verbose", "kv-cache-metrics", "kv-sharing-fast-prefill", "language-model-only",
        "log-error-stack", "long-prefill-token-threshold-adaptive", "mm-device-do-normalize",
        "mm-encoder-only", "numa-bind", "ray-workers-use-nsight", "return-sampling-mask",
        "return-tokens-as-token-ids", "scheduler-reserve-full-isl", "skip-mm-profiling",
        "skip-tokenizer-init", "sleep-mode-offload-cudagraph", "specialize-active-lora", "swa-bounded-replay",
        "tokens-only", "trust-remote-code", "trust-request-chat-template", "trust-request-mm-kwargs",
        "use-fp64-gumbel", "use-replayssm", "use-tqdm-on-load",
    }
)  # fmt: skip
"""Flags without a value; most also exist as ``--no-NAME``."""

LISTS = frozenset(
    {
        "allowed-media-domains", "api-key", "collect-detailed-traces", "cpu-offload-params",
        "cudagraph-capture-sizes", "ignore-patterns", "kv-cache-dtype-skip-layers", "logits-processors",
        "lora-modules", "lora-target-modules", "numa-bind-cpus", "numa-bind-nodes", "offload-params",
        "served-model-name", "sleep-preserve-parameter-names",
    }
)  # fmt: skip
"""Flags that take one or more values."""

SHORT = {
    "-ac": "attention-config",
    "-asc": "api-server-count",
    "-cc": "compilation-config",
    "-dc": "diffusion-config",
    "-dcp": "decode-context-parallel-size",
    "-dp": "data-parallel-size",
    "-dpa": "data-parallel-address",
    "-dpb": "data-parallel-backend",
    "-dpe": "data-parallel-external-lb",
    "-dph": "data-parallel-hybrid-lb",
    "-dpl": "data-parallel-size-local",
    "-dpm": "data-parallel-multi-port-external-lb",
    "-dpn": "data-parallel-rank",
    "-dpp": "data-parallel-rpc-port",
    "-dpr": "data-parallel-start-rank",
    "-ep": "enable-expert-parallel",
    "-n": "nnodes",
    "-pcp": "prefill-context-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-q": "quantization",
    "-r": "node-rank",
    "-sc": "speculative-config",
    "-tp": "tensor-parallel-size",
}
"""Short names and the long names they stand for."""
