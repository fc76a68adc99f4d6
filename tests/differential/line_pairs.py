"""Pairs of options of different kinds: parallel sizes, scheduler, cache, transfer, LoRA and drafts."""

from __future__ import annotations

from itertools import combinations

OPTIONS = (
    "--tensor-parallel-size 2",
    "--pipeline-parallel-size 2",
    "--data-parallel-size 2",
    "--decode-context-parallel-size 2",
    "--enable-expert-parallel",
    "--headless",
    "--max-num-batched-tokens 64",
    "--no-enable-chunked-prefill",
    "--async-scheduling",
    "--kv-cache-dtype fp8",
    "--kv-offloading-size 1",
    '--kv-transfer-config \'{"kv_connector": "NixlConnector", "kv_role": "kv_both"}\'',
    "--enable-lora",
    "--max-cpu-loras 0",
    '--speculative-config \'{"method": "ngram", "num_speculative_tokens": 2}\'',
    '--speculative-config \'{"method": "ngram"}\'',
)
PAIRS = [f"{one} {other}" for one, other in combinations(OPTIONS, 2) if one.split()[0] != other.split()[0]]
