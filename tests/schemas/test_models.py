"""The model table: names as people write them, and config.json files."""

from __future__ import annotations

import pytest

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import Node, Origin
from pd_launch.schemas.models.known import facts_by_name, facts_from_config, kv_cache_is_c8, model_of
from pd_launch.schemas.models.table import TABLE

PLACE = Origin("f", 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("name", "family", "attention", "moe", "hybrid"),
    [
        ("deepseek-v2-lite", "deepseek-v2", "mla", True, False),
        ("DeepSeek-r1_w8a8_mtp", "deepseek-v3", "mla", True, False),
        ("DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot", "deepseek-v3", "mla", True, False),
        ("DeepSeek-V3.2T-w8a8", "deepseek-v3.2", "mla", True, False),
        ("DeepSeek-V4-Flash-w8a8-mtp", "deepseek-v4", "mla", True, False),
        ("DeepSeek-R1-Distill-Qwen-32B", "qwen2.5", "gqa", False, False),
        ("vllm-ascend_Kimi-K2.6-w4a8", "kimi-k2", "mla", True, False),
        ("GLM-4.7-W8A8C8", "glm-4.5", "gqa", True, False),
        ("glm-4.7-flash", "glm-4.7-flash", "mla", True, False),
        ("GLM-5.1-w8a8c8", "glm-5", "mla", True, False),
        ("GLM-5.3-Flash", "glm-5-next", "mla", True, True),
        ("Qwen3-32B", "qwen3", "gqa", False, False),
        ("Qwen3-235B-A22B-W8A8", "qwen3-moe", "gqa", True, False),
        ("Qwen3-Next-80B-A3B-Instruct", "qwen3-next", "gqa", True, True),
        ("Qwen3.5-27B-w8a8-mtp", "qwen3.5", "gqa", False, True),
        ("Qwen3.6-35B-A3B", "qwen3.5", "gqa", True, True),
        ("MiniMax-M2.5", "minimax-m2", "gqa", True, False),
        ("MiniMax-M1-80k", "minimax-m1", "gqa", True, True),
        ("Llama-2-7b-hf", "llama", "mha", False, False),
    ],
)
def test_names(name: str, family: str, attention: str, moe: bool, hybrid: bool) -> None:
    facts = facts_by_name(name)
    assert facts is not None
    assert (facts.family, facts.attention, facts.moe, facts.hybrid) == (family, attention, moe, hybrid)


@pytest.mark.parametrize(
    "name",
    [
        "m", "model", "gemma-4-26B-A4B-it", "Qwen3-Embedding-8B", "Kimi-K2.5-DFlash", "qwen3-235b-eagle3",
        "Qwen3-320B", "xdeepseek-v3", "DeepSeek-V3.5",
    ],
)  # fmt: skip
def test_names_that_stay_unknown(name: str) -> None:
    assert facts_by_name(name) is None


def test_numbers_differ_between_variants_of_one_family() -> None:
    assert facts_by_name("Qwen3-30B-A3B").max_length == 40960  # type: ignore[union-attr]
    assert facts_by_name("Qwen3-30B-A3B-Instruct-2507").max_length == 262144  # type: ignore[union-attr]
    assert facts_by_name("Qwen2.5-7B").max_length is None  # type: ignore[union-attr]


def test_a_changed_variant_keeps_kinds_without_numbers() -> None:
    facts = facts_by_name("DeepSeek-V3-4layers-random")
    assert facts is not None and facts.attention == "mla" and facts.moe and facts.layers is None


def test_every_row_has_a_source_and_matches_some_name() -> None:
    assert all(row.facts.source and row.facts.family for row in TABLE)


def _node(model: str | None = None, config: dict[str, object] | None = None) -> NodeLaunch:
    node = NodeLaunch("shell", PLACE, "n", model=Node(model, PLACE) if model else None)
    node.model_config = config
    return node


def test_the_last_part_of_a_path_counts() -> None:
    assert model_of(_node("/data/deepseek-v3/Qwen3-8B/")).family == "qwen3"  # type: ignore[union-attr]
    cached = "/hub/models--Qwen--Qwen3-32B/snapshots/0123abcd"
    assert model_of(_node(cached)).layers == 64  # type: ignore[union-attr]
    assert model_of(_node()) is None


def test_config_json_wins_over_the_name() -> None:
    config = {
        "model_type": "qwen3", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "hidden_size": 64, "torch_dtype": "float32", "max_position_embeddings": 512,
    }  # fmt: skip
    facts = model_of(_node("DeepSeek-V3.1", config))
    assert facts is not None
    assert (facts.family, facts.attention, facts.moe, facts.layers) == ("qwen3", "gqa", False, 2)
    assert (facts.head_dim, facts.dtype_bytes, facts.max_length) == (16, 2, 512)


def test_config_of_a_composite_hybrid_model() -> None:
    types = ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 2
    text = {"model_type": "qwen3_5_moe_text", "layer_types": types, "num_hidden_layers": 8, "num_experts": 16}
    facts = facts_from_config({"model_type": "qwen3_5_moe", "text_config": text})
    assert (facts.family, facts.hybrid, facts.moe, facts.full_attention_layers) == ("qwen3.5", True, True, 2)


def test_config_of_mla_and_of_a_window_that_is_off() -> None:
    assert facts_from_config({"model_type": "deepseek_v3", "kv_lora_rank": 512}).attention == "mla"
    assert facts_from_config({"sliding_window": 4096, "use_sliding_window": False}).sliding_window is False
    assert facts_from_config({"sliding_window": 4096}).sliding_window is True


def test_c8_names() -> None:
    assert kv_cache_is_c8(_node("/m/GLM-4.7-W8A8C8"))
    assert not kv_cache_is_c8(_node("/m/GLM-4.7-W8A8"))
