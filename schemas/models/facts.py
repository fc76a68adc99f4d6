"""The form of what is known of a model, and how a row of the model table is built."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from pd_launch.schemas.core.record import dataclass

Attention = Literal["mla", "gqa", "mha"]


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model. None is unknown; a number of 0 means that there is none."""

    family: str
    """Stable name of the family, such as ``deepseek-v3``, ``qwen3.5`` or ``glm-5``."""
    source: str
    attention: Attention | None = None
    moe: bool | None = None
    hybrid: bool | None = False
    """Whether Mamba or linear-attention layers are among the attention layers."""
    sliding_window: bool | None = False
    """Whether some layers see a window only."""
    sparse: bool | None = False
    """Whether an indexer (DeepSeek sparse attention) keeps a cache of its own beside the KV cache."""
    layers: int | None = None
    full_attention_layers: int | None = None
    """Layers with a KV cache that grows with the length; all of them where this is None and the model is not hybrid."""
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    kv_lora_rank: int | None = None
    rope_dim: int | None = None
    experts: int | None = None
    top_k: int | None = None
    shared_experts: int | None = None
    hidden_size: int | None = None
    max_length: int | None = None
    dtype_bytes: int | None = 2
    """Bytes of one element of the KV cache when --kv-cache-dtype is auto."""

    def kinds_only(self) -> ModelFacts:
        """Return the family and its kinds without any number: for pruned, shortened or re-trained variants."""
        return ModelFacts(
            self.family, self.source, self.attention, self.moe, self.hybrid, self.sliding_window, self.sparse
        )


class Row(NamedTuple):
    """One row: ``pattern`` is searched between word borders of the normalised name."""

    pattern: str
    facts: ModelFacts


def card(repo: str) -> str:
    """Return the source of a row: the checkpoint's published configuration."""
    return f"config.json of {repo}"


def mla(family: str, repo: str, sizes: tuple[int | None, ...], *, sparse: bool = False) -> ModelFacts:
    """Return an MLA + MoE model: layers, heads, experts, top-k, shared experts, hidden size, longest length."""
    layers, heads, experts, top_k, shared, hidden, length = sizes
    return ModelFacts(
        family, card(repo), "mla", True, sparse=sparse, layers=layers, heads=heads, kv_lora_rank=512, rope_dim=64,
        experts=experts, top_k=top_k, shared_experts=shared, hidden_size=hidden, max_length=length,
    )  # fmt: skip


def dense(family: str, repo: str, sizes: tuple[int | None, ...], attention: Attention = "gqa") -> ModelFacts:
    """Return a dense model: layers, heads, KV heads, head size, hidden size, longest length."""
    layers, heads, kv_heads, head_dim, hidden, length = sizes
    return ModelFacts(
        family, card(repo), attention, False, layers=layers, heads=heads, kv_heads=kv_heads, head_dim=head_dim,
        hidden_size=hidden, max_length=length, experts=0,
    )  # fmt: skip


def moe(facts: ModelFacts, experts: int | None = None, top_k: int | None = None, shared: int | None = 0) -> ModelFacts:
    """Return ``facts`` as a mixture-of-experts model."""
    return replace(facts, moe=True, experts=experts, top_k=top_k, shared_experts=shared)


def hybrid(facts: ModelFacts, full: int | None = None) -> ModelFacts:
    """Return ``facts`` with Mamba or linear-attention layers; ``full`` of its layers are full attention."""
    return replace(facts, hybrid=True, full_attention_layers=full)


def kinds(family: str, repo: str, attention: Attention | None, moe: bool | None) -> ModelFacts:
    """Return a family's kinds without numbers."""
    return ModelFacts(family, card(repo), attention, moe)
