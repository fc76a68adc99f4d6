"""What is known of the model that a node serves: from its config.json where that can be read, else by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.models.facts import Attention, ModelFacts
from pd_launch.schemas.models.table import TABLE

__all__ = ["Attention", "ModelFacts", "facts_by_name", "facts_from_config", "kv_cache_is_c8", "model_name", "model_of"]

# Names of other uses of a family's architecture, about which the table says nothing.
_OTHER_USE = lazy_pattern(
    r"(?<![a-z])(eagle\d?|dflash|draft|medusa|embedding|embed|reranker|omni|asr|tts|audio|guard|reward)(?![a-z])"
)
# Variants that keep the family's kinds, but not its numbers.
_CHANGED = lazy_pattern(r"(?<![a-z0-9])(tiny|toy|dummy|random|pruned|reap|debug|\d+-?layers?)(?![a-z0-9])")
_HYBRID_TYPES = frozenset(
    {
        "qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "kimi_linear", "minimax_text_01",
        "minimax_m1", "glm5_next", "glm5_next_text", "jamba", "bamba", "falcon_h1", "granitemoehybrid", "nemotron_h",
        "zamba2", "lfm2", "plamo2",
    }
)  # fmt: skip
_LINEAR_LAYERS = ("linear_attention", "mamba", "mamba2", "linear")
_EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
_DTYPES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 2, "float": 2}  # auto serves float32 in 16 bits


def model_of(node: NodeLaunch) -> ModelFacts | None:
    """Return what is known of ``node``'s model, or None where neither its config.json nor the table knows it."""
    if node.model_config is not None:
        return facts_from_config(node.model_config)
    name = model_name(node)
    return facts_by_name(name) if name else None


def model_name(node: NodeLaunch) -> str | None:
    """Return the last part of the model's name or path as it is written, or None where it is unknown."""
    written = node.model.string() if node.model else None
    if not written:
        return None
    parts = [part for part in written.replace("\\", "/").split("/") if part]
    cached = [part for part in parts if part.startswith("models--")]
    if cached:  # the hub's cache: models--ORG--NAME/snapshots/HASH
        return cached[-1].split("--")[-1]
    return parts[-1] if parts else None


@lru_cache(maxsize=512)
def facts_by_name(name: str) -> ModelFacts | None:
    """Return the table's row for a model's name (``DeepSeek-V3.1-w8a8-mtp``), or None."""
    plain = re.sub(r"[_\s]+", "-", name.lower())
    if _OTHER_USE.search(plain):
        return None
    for row in TABLE:
        if re.search(rf"(?<![a-z0-9.])(?:{row.pattern})(?![a-z0-9]|\.\d)", plain):
            return row.facts.kinds_only() if _CHANGED.search(plain) else row.facts
    return None


def kv_cache_is_c8(node: NodeLaunch) -> bool:
    """Whether the model's name says that its KV cache is quantised to 8 bits (``-w8a8c8``)."""
    name = model_name(node)
    return bool(name and re.search(r"(?<![a-z0-9])(w\d+a\d+)?-?c8(?![a-z0-9])", name.lower().replace("_", "-")))


def facts_from_config(config: Mapping[str, Any]) -> ModelFacts:
    """Return what a model's config.json says. A composite model's ``text_config`` counts."""
    nested = config.get("text_config")
    text: Mapping[str, Any] = {**config, **nested} if isinstance(nested, Mapping) else config
    kind = str(text.get("model_type") or config.get("model_type") or "")
    layers, full = _int(text, "num_hidden_layers"), _full_layers(text)
    heads = _int(text, "num_attention_heads")
    experts = next((n for n in (_int(text, key) for key in _EXPERT_KEYS) if n), 0)
    lora = _int(text, "kv_lora_rank")
    kv_heads = _int(text, "num_key_value_heads") or _int(text, "multi_query_group_num") or heads
    return ModelFacts(
        family=_family(kind),
        source="config.json",
        attention=_attention(text, heads, kv_heads),
        moe=experts > 0,
        hybrid=_is_hybrid(text, kind),
        sliding_window=_slides(text),
        sparse=_int(text, "index_topk") is not None,
        layers=layers,
        full_attention_layers=full,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=_int(text, "head_dim") or _head_dim(text, heads),
        kv_lora_rank=lora,
        rope_dim=_int(text, "qk_rope_head_dim") if lora else None,
        experts=experts,
        top_k=_int(text, "num_experts_per_tok"),
        shared_experts=_int(text, "n_shared_experts"),
        hidden_size=_int(text, "hidden_size"),
        max_length=_int(text, "max_position_embeddings"),
        dtype_bytes=_DTYPES.get(str(text.get("torch_dtype") or text.get("dtype") or "")),
    )


def _int(config: Mapping[str, Any], key: str) -> int | None:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _attention(text: Mapping[str, Any], heads: int | None, kv_heads: int | None) -> Attention | None:
    if _int(text, "kv_lora_rank") or text.get("compress_ratios"):
        return "mla"
    if heads is None or kv_heads is None:
        return None
    return "mha" if heads == kv_heads else "gqa"


def _head_dim(text: Mapping[str, Any], heads: int | None) -> int | None:
    hidden = _int(text, "hidden_size")
    return hidden // heads if hidden and heads and hidden % heads == 0 else None


def _layer_types(text: Mapping[str, Any]) -> list[str]:
    types = text.get("layer_types") or text.get("layers_block_type")
    return [str(t) for t in types] if isinstance(types, (list, tuple)) else []


def _is_hybrid(text: Mapping[str, Any], kind: str) -> bool:
    return kind in _HYBRID_TYPES or any(t in _LINEAR_LAYERS for t in _layer_types(text))


def _slides(text: Mapping[str, Any]) -> bool:
    window = _int(text, "sliding_window")
    if not window or text.get("use_sliding_window") is False:
        return False
    types = _layer_types(text)
    return not types or any("sliding" in t for t in types)


def _full_layers(text: Mapping[str, Any]) -> int | None:
    types, layers = _layer_types(text), _int(text, "num_hidden_layers")
    if types:
        return sum(t in ("full_attention", "attention") for t in types)
    every = _int(text, "full_attention_interval")
    return layers // every if layers and every else None


def _family(kind: str) -> str:
    """Return the table's family name of a config's ``model_type``; the type itself where the table has none."""
    kind = kind.removesuffix("_text")
    return {
        "deepseek_v2": "deepseek-v2", "deepseek_v3": "deepseek-v3", "deepseek_v32": "deepseek-v3.2",
        "deepseek_v4": "deepseek-v4", "kimi_k2": "kimi-k2", "kimi_k25": "kimi-k2", "kimi_linear": "kimi-linear",
        "glm_moe_dsa": "glm-5", "glm4_moe": "glm-4.5", "glm4_moe_lite": "glm-4.7-flash", "glm4": "glm-4",
        "glm5_next": "glm-5-next", "qwen3_5": "qwen3.5", "qwen3_5_moe": "qwen3.5", "qwen3_next": "qwen3-next",
        "qwen3": "qwen3", "qwen3_moe": "qwen3-moe", "qwen3_vl": "qwen3-vl", "qwen3_vl_moe": "qwen3-vl",
        "qwen2": "qwen2.5", "qwen2_5_vl": "qwen2.5", "minimax_m1": "minimax-m1", "minimax_m2": "minimax-m2",
        "gpt_oss": "gpt-oss",
    }.get(kind, kind)  # fmt: skip
