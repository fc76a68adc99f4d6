"""Tiny models of further architectures, an adapter and a tokenizer, for the tests of one request alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCALE = 0.25
WINDOW = 64
RANK = 8


def gpt_oss(shape: dict[str, Any]) -> Any:
    """Attention sinks, windows of 64 tokens in every other layer, experts."""
    from transformers import GptOssConfig, GptOssForCausalLM

    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": WINDOW}
    return GptOssForCausalLM(GptOssConfig(initializer_range=SCALE, **experts, **shape))


def gemma3(shape: dict[str, Any]) -> Any:
    """Three layers with a window of 64 tokens to each one without."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    kinds = ["sliding_attention"] * 3 + ["full_attention"]
    more = {"layer_types": kinds, "sliding_window": WINDOW, "query_pre_attn_scalar": 32}
    return Gemma3ForCausalLM(Gemma3TextConfig(initializer_range=SCALE, **more, **shape))


def moe(shape: dict[str, Any]) -> Any:
    """Experts."""
    from transformers import MixtralConfig, MixtralForCausalLM

    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}
    return MixtralForCausalLM(MixtralConfig(initializer_range=SCALE, **experts, **shape))


KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {"gpt-oss": gpt_oss, "gemma3": gemma3, "moe": moe}


def make(kind: str, shape: dict[str, Any], folder: Path) -> None:
    """Write a model into a folder."""
    import torch

    torch.manual_seed(16)
    KINDS[kind](shape).to(torch.float32).save_pretrained(folder)


def adapter(model: Path, shape: dict[str, Any]) -> Path:
    """Return the folder of a LoRA adapter beside a model, for the queries and values of all layers."""
    import torch
    from safetensors.torch import save_file

    folder = model / "adapter"
    if (folder / "adapter_config.json").exists():
        return folder
    folder.mkdir(exist_ok=True)
    source = torch.Generator().manual_seed(17)
    hidden, width = shape["hidden_size"], shape["head_dim"]
    out = {"q_proj": shape["num_attention_heads"] * width, "v_proj": shape["num_key_value_heads"] * width}
    tensors = {}
    for layer in range(shape["num_hidden_layers"]):
        for name, size in out.items():
            place = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{place}.lora_A.weight"] = torch.randn(RANK, hidden, generator=source) * SCALE
            tensors[f"{place}.lora_B.weight"] = torch.randn(size, RANK, generator=source) * SCALE
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": RANK, "target_modules": list(out), "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def tokenizer(model: Path, size: int) -> None:
    """Put a tokenizer beside a model: ten digits, and letters of other scripts for all other tokens."""
    if (model / "tokenizer.json").exists():
        return
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<s>", "</s>", *"0123456789", *(chr(0x4E00 + i) for i in range(size - 13))]
    made = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(model)
