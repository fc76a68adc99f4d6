"""Tiny random models for the engine tests, made by script and kept in a cache folder.

Random weights at the usual scale make a model repeat one token for ever, and then "the same tokens" proves nothing.
Larger ones, float32 and untied embeddings make the output chaotic: one wrong KV block changes the tokens.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.engine import kinds

VOCABULARY = 512
VERSION = 2  # raise when a model changes
WINDOW = 128
HYBRID_WINDOW = 96
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
}
# name → (seed, scale of the weights, sliding window, alternating layers)
KINDS: dict[str, tuple[int, float, int | None, bool]] = {
    "chaotic": (11, 0.25, None, False),
    "mild": (12, 0.06, None, False),  # regular enough for n-gram drafts to be accepted
    "sliding": (13, 0.25, WINDOW, False),
    "hybrid": (14, 0.25, HYBRID_WINDOW, True),
}
MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64}
"""The sizes that vLLM's CPU backend serves, in bfloat16 only: those of DeepSeek."""


def cache_folder() -> Path:
    """Return the folder that keeps the models between runs."""
    root = os.environ.get("PD_LAUNCH_TEST_MODELS") or Path(tempfile.gettempdir()) / "pd-launch-test-models"
    return Path(root) / f"v{VERSION}"


def model(kind: str) -> Path:
    """Return the folder of a model, making it first if need be."""
    folder = cache_folder() / kind
    if not (folder / "config.json").exists():
        cache_folder().mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=cache_folder()))
        _make(kind, fresh)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    return folder


def _make(kind: str, folder: Path) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    if kind in kinds.KINDS:
        kinds.make(kind, SHAPE, folder)
        return
    if kind == "mla":
        _make_mla(folder)
        return
    seed, scale, window, alternating = KINDS[kind]
    torch.manual_seed(seed)
    if window is None:
        network: Any = LlamaForCausalLM(LlamaConfig(initializer_range=scale, **SHAPE))
    else:
        network = MistralForCausalLM(MistralConfig(initializer_range=scale, sliding_window=window, **SHAPE))
    network.to(torch.float32).save_pretrained(folder)
    if alternating:  # two KV cache groups: vLLM follows layer_types
        path = folder / "config.json"
        config = json.loads(path.read_text())
        config["layer_types"] = ["sliding_attention", "full_attention"] * (SHAPE["num_hidden_layers"] // 2)
        path.write_text(json.dumps(config, indent=1))


def _make_mla(folder: Path) -> None:
    import torch
    from transformers import DeepseekV2Config, DeepseekV2ForCausalLM

    shape = {**SHAPE, "num_key_value_heads": SHAPE["num_attention_heads"], "q_lora_rank": None, **MLA}
    shape.pop("head_dim")
    dense = {"first_k_dense_replace": SHAPE["num_hidden_layers"], "n_routed_experts": 2, "n_shared_experts": 1}
    torch.manual_seed(15)
    network = DeepseekV2ForCausalLM(DeepseekV2Config(initializer_range=0.25, **dense, **shape))
    network.to(torch.bfloat16).save_pretrained(folder)
