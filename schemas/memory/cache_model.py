"""What a model keeps for each token and layer, from its config.json or from the model table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from pd_launch.schemas.memory.kv_layers import CacheLayout, Kind, Layer, lay_out, stage_sizes
from pd_launch.schemas.models.facts import ModelFacts
from pd_launch.schemas.models.known import facts_from_config

DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}
SPARSE_ROW = 656
"""Bytes of a token in vLLM's fp8_ds_mla cache: 512 of latent, 16 of scales, 128 of rope part."""
INDEX_ROW = 132
"""Bytes of a token in the indexer's fp8 cache on CUDA: 128 values and one scale."""
_STATE_LAYERS = ("linear_attention", "mamba", "mamba2", "linear", "M", "recurrent")
_FULL_LAYERS = ("full_attention", "attention", "full", "*")
_NO_CACHE = ("mlp", "moe", "-", "E")
FULL: Kind = "full"
WINDOW: Kind = "window"
STATE: Kind = "state"


class UnknownModel(ValueError):
    """A model whose KV cannot be computed; the message says what is missing."""


@dataclass(frozen=True)
class State:
    """The state of a Mamba or linear-attention layer: shapes for a TP size and drafts a step, and element sizes."""

    shapes: Callable[[int, int], Sequence[Sequence[int]]]
    element_bytes: tuple[int, ...]

    def page_bytes(self, tensor: int, drafts: int, recurrent: int | None = None) -> int:
        """Return the bytes of one state on one rank; ``recurrent`` replaces the last element size."""
        shapes = self.shapes(tensor, drafts)
        sizes = self.element_bytes if recurrent is None else (*self.element_bytes[:-1], recurrent)
        return sum(prod(shape) * size for shape, size in zip(shapes, sizes, strict=True))


@dataclass(frozen=True)
class CacheModel:
    """A model's layers with what each keeps. ``kinds`` has one entry for each layer with a cache, in their order."""

    source: str
    kinds: tuple[Kind, ...]
    kv_heads: int = 1
    key_size: int = 0
    value_size: int = 0
    latent: int = 0
    """Elements of MLA's latent with its rope part; 0 for another attention."""
    index_size: int = 0
    """Elements of the indexer's key of sparse attention."""
    window: int = 0
    state: State | None = None
    element_bytes: int = 2
    """Bytes of an element where the KV cache has the model's own dtype."""
    draft_layers: int = 0
    """Layers with a cache that MTP adds."""
    exact: bool = True
    note: str = ""
    """What the numbers leave out, where they are not exact."""

    def layout(self, layout: Placement) -> CacheLayout:
        """Return the cache of the fullest rank.

        Raises:
            KVLayoutError: vLLM could not lay it out either.
            UnknownModel: a size that this layout needs is not known.
        """
        kinds = self.kinds + ((FULL,) * self.draft_layers if layout.mtp else ())
        token = self.token_bytes(layout)
        held = self.state if "state" in kinds else None
        state = held.page_bytes(layout.tensor, layout.drafts, layout.state_bytes) if held else 0
        tokens = layout.block_tokens
        if state:
            tokens = max(tokens, _aligned(state, token, max(layout.block_alignment, tokens)))
        layers = [
            Layer("state", tokens * token, 0) if kind == "state"
            else Layer(kind, tokens * token, tokens, self.window if kind == "window" else 0)
            for kind in kinds
        ]  # fmt: skip
        stages = None
        if layout.pipeline > 1:
            stages = stage_sizes(len(self.kinds), layout.pipeline)
            stages[-1] += len(kinds) - len(self.kinds)
        return lay_out(layers, stages, layout.one_kind)

    def token_bytes(self, layout: Placement) -> int:
        """Return the bytes that one attention layer keeps for one token on one rank."""
        size = layout.element_bytes or self.element_bytes
        if self.latent:
            if self.index_size and layout.sparse_rows:
                return SPARSE_ROW + INDEX_ROW
            index = INDEX_ROW if self.index_size and not layout.ascend else self.index_size * self.element_bytes
            return self.latent * size + index
        heads = max(1, self.kv_heads // layout.tensor)
        return heads * (self.key_size + self.value_size) * size


@dataclass(frozen=True)
class Placement:
    """How the model is spread and stored: sizes of one engine, tokens of a block, bytes of an element (None: own)."""

    tensor: int = 1
    pipeline: int = 1
    block_tokens: int = 128
    block_alignment: int = 16
    """Tokens of which the blocks of a model with states are a multiple."""
    element_bytes: int | None = None
    state_bytes: int | None = None
    """Bytes of an element of the recurrent part of a state; None: as the model says."""
    drafts: int = 0
    mtp: bool = False
    one_kind: bool = False
    ascend: bool = False
    sparse_rows: bool = False
    """Whether sparse MLA is kept in vLLM's packed fp8 rows."""


def _aligned(state: int, token: int, alignment: int) -> int:
    """Return the smallest block, in tokens, whose attention page holds a state."""
    return alignment * -(-state // (alignment * token))


def model_from_config(config: Mapping[str, Any]) -> CacheModel:
    """Return what a model's config.json says.

    Raises:
        UnknownModel: it lacks a size, or is of a kind whose cache is not known here.
    """
    nested = config.get("text_config")
    text: Mapping[str, Any] = {**config, **nested} if isinstance(nested, Mapping) else config
    facts = facts_from_config(config)
    if text.get("compress_ratios") or facts.family == "deepseek-v4":
        raise UnknownModel("DeepSeek-V4 keeps compressed KV, whose pages are not known here: give --bytes-per-block")
    if text.get("cross_attention_layers") or text.get("is_encoder_decoder"):
        raise UnknownModel("models with cross attention are not known here: give --bytes-per-block")
    model = _from_facts(facts, _config_kinds(text, facts), "config.json")
    value = _int(text, "v_head_dim")
    changed: dict[str, Any] = {"draft_layers": _draft_layers(text), "window": _int(text, "sliding_window") or 0}
    if not model.latent and value:
        changed["value_size"] = value
    if model.index_size:
        changed["index_size"] = _int(text, "index_head_dim") or model.index_size
    if "state" in model.kinds:
        state = _state(text, facts.family, model.element_bytes)
        changed |= {"state": state}
        if state is None:
            changed |= {"exact": False, "note": "the states of this architecture are not counted"}
    return replace(model, **changed)


def model_from_facts(facts: ModelFacts) -> CacheModel:
    """Return what the model table says; a hybrid model's states and a model with windows are not in it.

    Raises:
        UnknownModel: the table lacks a number.
    """
    if facts.sliding_window is not False:
        raise UnknownModel("which layers see only a window is in the model's config.json: give its path")
    layers = facts.full_attention_layers if facts.hybrid or facts.full_attention_layers is not None else facts.layers
    if not layers:
        raise UnknownModel(f"the model table has no layer count for {facts.family}: give the path of its config.json")
    model = _from_facts(facts, (FULL,) * layers, facts.source)
    if facts.hybrid:
        note = "only full-attention layers are counted, as their states stand in the config.json: give its path"
        return replace(model, exact=False, note=note)
    return replace(model, draft_layers=1 if facts.attention == "mla" else 0)


def _from_facts(facts: ModelFacts, kinds: tuple[Kind, ...], source: str) -> CacheModel:
    if facts.dtype_bytes is None:
        raise UnknownModel("the dtype of the model's cache is not known: give --kv-cache-dtype")
    common: dict[str, Any] = {"source": source, "kinds": kinds, "element_bytes": facts.dtype_bytes}
    if facts.attention == "mla":
        if facts.kv_lora_rank is None or facts.rope_dim is None:
            raise UnknownModel("the size of the model's latent is not known: give the path of its config.json")
        if facts.sparse:
            common |= {"exact": False, "note": "the indexer's cache differs between releases: a close estimate"}
        return CacheModel(latent=facts.kv_lora_rank + facts.rope_dim, index_size=128 if facts.sparse else 0, **common)
    if not facts.kv_heads or not facts.head_dim:
        raise UnknownModel("the KV heads or their size are not known: give the path of the model's config.json")
    return CacheModel(kv_heads=facts.kv_heads, key_size=facts.head_dim, value_size=facts.head_dim, **common)


def _int(config: Mapping[str, Any], key: str) -> int | None:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _draft_layers(text: Mapping[str, Any]) -> int:
    keys = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "num_mtp_modules")
    return next((n for n in (_int(text, key) for key in keys) if n is not None), 1)


def _config_kinds(text: Mapping[str, Any], facts: ModelFacts) -> tuple[Kind, ...]:
    """Return the kind of each layer that keeps something."""
    count = facts.layers
    if not count:
        raise UnknownModel("config.json has no num_hidden_layers")
    window = _int(text, "sliding_window") if text.get("use_sliding_window") is not False else None
    listed = text.get("layer_types") or text.get("layers_block_type") or text.get("hybrid_override_pattern")
    if listed:
        return _listed_kinds(listed, window)
    pattern = _int(text, "attn_layer_period")
    if pattern:
        offset = _int(text, "attn_layer_offset") or 0
        return tuple(FULL if (i - offset) % pattern == 0 else STATE for i in range(count))
    every = _int(text, "full_attention_interval")
    if every:
        return tuple(FULL if (i + 1) % every == 0 else STATE for i in range(count))
    types = text.get("attn_type_list")
    if isinstance(types, (list, tuple)):
        return tuple(FULL if kind == 1 else STATE for kind in types)
    if facts.hybrid:
        raise UnknownModel("config.json does not say which layers are attention layers: give --bytes-per-block")
    repeats = _int(text, "sliding_window_pattern")
    if window and repeats:
        return tuple(FULL if (i + 1) % repeats == 0 else WINDOW for i in range(count))
    return ((WINDOW,) if window else (FULL,)) * count


def _listed_kinds(listed: Any, window: int | None) -> tuple[Kind, ...]:
    kinds: list[Kind] = []
    for written in listed:
        name = str(written)
        if name in _STATE_LAYERS:
            kinds.append("state")
        elif "sliding" in name and window:
            kinds.append("window")
        elif name in _FULL_LAYERS or "sliding" in name:
            kinds.append("full")
        elif name == "hybrid" or name == "parallel":
            raise UnknownModel("layers that are attention and state at once are not known here: give --bytes-per-block")
        elif name not in _NO_CACHE:
            raise UnknownModel(f"layers of the type {name!r} are not known here: give --bytes-per-block")
    return tuple(kinds)


def _state(text: Mapping[str, Any], family: str, element: int) -> State | None:
    """Return the state of the model's other layers, or None where its architecture is not known."""
    second = element
    if family == "qwen3.5":
        second = DTYPE_BYTES.get(str(text.get("mamba_ssm_dtype") or ""), element)
    elif family.startswith("nemotron"):
        second = DTYPE_BYTES.get(str(text.get("mamba_ssm_cache_dtype") or "float32"), element)
    if _int(text, "linear_num_value_heads"):
        return _delta_net(text, (element, second))
    if _int(text, "mamba_n_heads") or _int(text, "mamba_num_heads"):
        return _mamba2(text, (element, second))
    if _int(text, "mamba_d_state") and _int(text, "hidden_size"):
        return _mamba1(text, (element, element))
    if family.startswith("minimax"):
        heads, size = _int(text, "num_attention_heads") or 1, _int(text, "head_dim") or 1
        return State(lambda tensor, _: [(heads // tensor, size, size)], (4,))
    return None


def _delta_net(text: Mapping[str, Any], sizes: tuple[int, ...]) -> State:
    keys, values = _int(text, "linear_num_key_heads") or 1, _int(text, "linear_num_value_heads") or 1
    key, value = _int(text, "linear_key_head_dim") or 128, _int(text, "linear_value_head_dim") or 128
    kernel = _int(text, "linear_conv_kernel_dim") or 4
    width = 2 * key * keys + value * values

    def shapes(tensor: int, drafts: int) -> list[tuple[int, ...]]:
        return [(width // tensor, kernel - 1 + drafts), (values // tensor, value, key)]

    return State(shapes, sizes)


def _mamba2(text: Mapping[str, Any], sizes: tuple[int, ...]) -> State:
    heads = _int(text, "mamba_n_heads") or _int(text, "mamba_num_heads") or 1
    size = _int(text, "mamba_d_head") or _int(text, "mamba_head_dim") or 64
    state = _int(text, "mamba_d_state") or _int(text, "ssm_state_size") or 128
    groups = _int(text, "mamba_n_groups") or _int(text, "n_groups") or 1
    kernel = _int(text, "mamba_d_conv") or _int(text, "conv_kernel") or 4

    def shapes(tensor: int, drafts: int) -> list[tuple[int, ...]]:
        held = groups if groups % tensor == 0 else tensor
        width = heads * size + 2 * held * state
        return [(width // tensor, kernel - 1 + drafts), (heads // tensor, size, state)]

    return State(shapes, sizes)


def _mamba1(text: Mapping[str, Any], sizes: tuple[int, ...]) -> State:
    inner = (_int(text, "mamba_expand") or 2) * (_int(text, "hidden_size") or 1)
    state, kernel = _int(text, "mamba_d_state") or 16, _int(text, "mamba_d_conv") or 4
    return State(lambda tensor, _: [(inner // tensor, kernel - 1), (inner // tensor, state)], sizes)
