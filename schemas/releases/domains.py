"""The values that flags and fields take, where it is a range or a few words.

Numbers, words and policies are run: tests/differential/test_against_engine.py puts values inside and outside of them to
the parsers and config classes of vLLM 0.27.1, 0.32.0 and 0.33.0. What differs between releases is a fact.
"""

from __future__ import annotations

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.facts import Code, Fact, ascend, platform

_SIZE = (1, None, True)
_RANK = (0, None, True)
_PORT = (1, 65535, True)

NUMBERS: dict[str, tuple[float, float | None, bool]] = {
    "port": (0, 65535, True),  # 0: any that is free
    "data-parallel-rpc-port": _PORT,
    "tensor-parallel-size": _SIZE,
    "pipeline-parallel-size": _SIZE,
    "prefill-context-parallel-size": _SIZE,
    "decode-context-parallel-size": _SIZE,
    "data-parallel-size": _SIZE,
    "data-parallel-rank": _RANK,
    "data-parallel-start-rank": _RANK,
    "gpu-memory-utilization": (0.0, 1.0, False),
}
"""Flag → least value, most value (None: no limit), and whether it is a whole number."""

CHOICES = {
    "scheduling-policy": frozenset({"fcfs", "priority"}),
    "dtype": frozenset({"auto", "half", "float16", "bfloat16", "float", "float32"}),
    "mamba-cache-mode": frozenset({"all", "align", "none"}),
}
"""Flag → its words."""

BOOLEAN_WORDS = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})
"""Words that people write after a flag that takes no value."""

CUDAGRAPH_MODES = frozenset({"NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"})
FAILURE_POLICIES = frozenset({"recompute", "fail"})

_WORDS_REGISTERED = platform(r"_option_string_actions\.get\(\"--kv-cache-dtype\"\)")
ASCEND_WORDS: dict[str, tuple[tuple[str, Fact], ...]] = {
    "kv-cache-dtype": tuple(
        (
            word,
            ascend(
                f"kv-cache-dtype-{word}", "0.30.0rc1", None,
                f"--kv-cache-dtype takes {word}: the parser's words are widened, not only the field's",
                _WORDS_REGISTERED,
                Code("vllm_ascend/patch/platform/patch_kv_cache_dtype.py", rf"\b{word}\b", within=True),
            ),
        )
        for word in ("int8", "mxfp8")
    ),
    **{
        flag: (
            (
                "kimi_k3",
                ascend(
                    f"{flag}-kimi_k3", "0.26.0rc1", "0.27.1rc1", f"kimi_k3 is registered for --{flag}",
                    Code("vllm_ascend/patch/platform/patch_kimi_k3_parsers.py", rf"{manager}\.register_module\("),
                ),
            ),
        )
        for flag, manager in {
            "reasoning-parser": "ReasoningParserManager", "tool-call-parser": "ToolParserManager"
        }.items()
    },
}  # fmt: skip
"""Flag → words that vllm-ascend adds to vLLM's own, each with the releases that take it on the command line."""

FLOAT_CACHE = frozenset({"float16", "bfloat16"})
FLOAT_NAMES = {
    "half": "float16", "float16": "float16", "bfloat16": "bfloat16", "float": "float32", "float32": "float32",
}  # fmt: skip

POOL_CONNECTORS = frozenset({"AscendStoreConnector", "MooncakeConnectorStoreV1"})
_BACKENDS = "vllm_ascend/distributed/kv_transfer/kv_pool/ascend_store/backend"
POOL_BACKENDS: dict[str, Fact] = {
    name: ascend(
        f"pool-backend-{name}", since, None, f"the KV pool has the backend {name}",
        Code(f"{_BACKENDS}/{name}_backend.py", r"(?i)^class \w*backend\b"),
    )
    for name, since in {"mooncake": None, "memcache": None, "yuanrong": "0.19.1rc1"}.items()
}  # fmt: skip
"""Backend of a KV pool → the releases that have it."""


def added_words(flag: str, target: Target) -> tuple[str, ...]:
    """Return the words that ``target``'s vllm-ascend takes after a flag beside vLLM's own."""
    return tuple(word for word, fact in ASCEND_WORDS.get(flag, ()) if fact.holds(target))
