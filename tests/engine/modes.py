"""The modes that the engine tests answer the same requests in. No vLLM is imported here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from tests.engine.harness import FAULTY, Mode


def _installed() -> str:
    try:
        return version("vllm")
    except PackageNotFoundError:
        return ""


# The later requests, who are preempted first, are longer than the window of 128 tokens; the earlier ones still grow.
# vLLM 0.27.1 halves the block of 32 tokens for this model.
SLIDING_BLOCKS = 44 if _installed().startswith("0.27.") else 28
SLIDING = {"model": "sliding", "blocks": SLIDING_BLOCKS, "prompt": 30, "longer": 15, "output": 115}
NGRAM = {"model": "mild", "drafts": 3, "repeat": 10}
HYBRID = {"model": "hybrid", "blocks": 22}
# Few enough blocks that more than one of a request must be restored: in a single one no order can be wrong.
COMMON = {"prefix_caching": True, "common": 32, "blocks": 19}
BESIDE = {"async_restore_bytes": 0}
MODES = {
    "plain": Mode(),
    "later name": Mode(connector="PreemptOffloadConnector"),
    "prefix caching": Mode(prefix_caching=True),
    "prefix caching, common prompt": Mode(**COMMON),
    "shared host blocks": Mode(**COMMON, extra={"enable_offload_prefix_caching": True}),
    "kv_both": Mode(role="kv_both"),
    "below MultiConnector": Mode(multi=True),
    "below MultiConnector, prefix caching": Mode(multi=True, prefix_caching=True),
    "two KV groups": Mode(**HYBRID),
    "two KV groups, prefix caching": Mode(**HYBRID, prefix_caching=True),
    "sliding window": Mode(**SLIDING),
    "sliding window, async": Mode(**SLIDING, asynchronous=True),
    "async scheduling": Mode(asynchronous=True),
    "async scheduling, kv_both, prefix caching": Mode(asynchronous=True, role="kv_both", prefix_caching=True),
    "async scheduling, two KV groups": Mode(**HYBRID, asynchronous=True),
    "chunked prefill": Mode(batched=64),
    "chunked prefill, async, prefix caching": Mode(batched=64, asynchronous=True, prefix_caching=True),
    "priority": Mode(priority=True),
    "priority, async": Mode(priority=True, asynchronous=True),
    "preempted again and again": Mode(blocks=12, prompt=90, longer=-12, output=160),
    "n-gram drafts": Mode(**NGRAM),
    "n-gram drafts, prefix caching": Mode(**NGRAM, prefix_caching=True),
    "asynchronous restores": Mode(extra=BESIDE),
    "asynchronous restores and scheduling, prefix caching": Mode(extra=BESIDE, asynchronous=True, prefix_caching=True),
    "asynchronous restores, two KV groups": Mode(**HYBRID, extra=BESIDE),
    "prompt logprobs": Mode(prompt_logprobs=1),
    "two answers to each request, sampled": Mode(samples=2, requests=4),
    "fp8 KV cache": Mode(kv_dtype="fp8"),
    "two ranks": Mode(tensor_parallel=2, module=FAULTY),
}

# One request that preempts itself (test_alone.py).
SINGLE = {"requests": 1, "blocks": 24}
ALONE = {
    "MLA, bfloat16": Mode(model="mla", dtype="bfloat16", **SINGLE),
    "GQA, bfloat16": Mode(dtype="bfloat16", **SINGLE),
    "GQA, float32": Mode(**SINGLE),
}
# The same, of further models and ways to ask: each has a row where it was recorded.
FURTHER = {
    "GPT-OSS: sinks, windows, experts": Mode(model="gpt-oss", **SINGLE),
    "Mixtral: experts": Mode(model="moe", **SINGLE),
    "LoRA adapter": Mode(lora=True, **SINGLE),
    "structured output": Mode(digits=True, **SINGLE),
}
# What vLLM's own CPU build of a release cannot serve, with its reason.
NOT_SERVED = {
    "0.27.1": {
        "MLA, bfloat16": "MLA is not supported on CPU",
        "GPT-OSS: sinks, windows, experts": "attention with sinks on CPU takes no two types",
    },
}
