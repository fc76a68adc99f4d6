"""What a model keeps for each token and layer, from its config.json or from the model table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.memory.kv_layers import CacheLayout, Kind, Layer, lay_out, stage_sizes
from pd_launch.schemas.memory.states import State, integer_of, state_of
from pd_launch.schemas.models.facts import ModelFacts
from pd_launch.schemas.models.known import facts_from_config

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


class UnknownModel(ValueFault):
    """A model whose KV cannot be computed; the message says what is missing."""


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
    note: Msg = NOTHING
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


class Placement(NamedTuple):
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
        raise UnknownModel(
            Msg(
                "DeepSeek-V4 keeps compressed KV, whose pages are unknown here: give --bytes-per-block",
                "DeepSeek-V4 保存压缩的 KV，这里不知道其页大小：请用 --bytes-per-block 给出每块的字节数",
            )
        )
    if text.get("cross_attention_layers") or text.get("is_encoder_decoder"):
        raise UnknownModel(
            Msg(
                "models with cross attention are unknown here: give --bytes-per-block",
                "这里不支持带交叉注意力的模型：请用 --bytes-per-block 给出每块的字节数",
            )
        )
    model = _from_facts(facts, _config_kinds(text, facts), "config.json")
    value = integer_of(text, "v_head_dim")
    changed: dict[str, Any] = {"draft_layers": _draft_layers(text), "window": integer_of(text, "sliding_window") or 0}
    if not model.latent and value:
        changed["value_size"] = value
    if model.index_size:
        changed["index_size"] = integer_of(text, "index_head_dim") or model.index_size
    if "state" in model.kinds:
        state = state_of(text, facts.family, model.element_bytes)
        changed |= {"state": state}
        if state is None:
            changed |= {
                "exact": False,
                "note": Msg("the states of this architecture are not counted", "未计入该架构的状态"),
            }
    return replace(model, **changed)


def model_from_facts(facts: ModelFacts) -> CacheModel:
    """Return what the model table says; a hybrid model's states and a model with windows are not in it.

    Raises:
        UnknownModel: the table lacks a number.
    """
    if facts.sliding_window is not False:
        raise UnknownModel(
            Msg(
                "the model's config.json says which layers use a sliding window: give its path",
                "只有模型的 config.json 说明哪些层使用滑动窗口：请给出其路径",
            )
        )
    layers = facts.full_attention_layers if facts.hybrid or facts.full_attention_layers is not None else facts.layers
    if not layers:
        raise UnknownModel(
            Msg(
                f"the model table has no layer count for {facts.family}: give the path of its config.json",
                f"模型表中没有 {facts.family} 的层数：请给出其 config.json 的路径",
            )
        )
    model = _from_facts(facts, (FULL,) * layers, facts.source)
    if facts.hybrid:
        note = Msg(
            "only the full-attention layers are counted, as the states' sizes are in its config.json: give its path",
            "只计入了全注意力层，因为状态的大小写在 config.json 中：请给出其路径",
        )
        return replace(model, exact=False, note=note)
    return replace(model, draft_layers=1 if facts.attention == "mla" else 0)


def _from_facts(facts: ModelFacts, kinds: tuple[Kind, ...], source: str) -> CacheModel:
    if facts.dtype_bytes is None:
        raise UnknownModel(
            Msg(
                "the dtype of the model's cache is not known: give --kv-cache-dtype",
                "不知道该模型缓存的 dtype：请给出 --kv-cache-dtype",
            )
        )
    common: dict[str, Any] = {"source": source, "kinds": kinds, "element_bytes": facts.dtype_bytes}
    if facts.attention == "mla":
        if facts.kv_lora_rank is None or facts.rope_dim is None:
            raise UnknownModel(
                Msg(
                    "the size of the model's latent is not known: give the path of its config.json",
                    "不知道该模型潜向量的大小：请给出其 config.json 的路径",
                )
            )
        if facts.sparse:
            common |= {
                "exact": False,
                "note": Msg(
                    "the indexer's cache differs between releases: a close estimate",
                    "索引器的缓存因版本而异：这是接近的估算",
                ),
            }
        return CacheModel(latent=facts.kv_lora_rank + facts.rope_dim, index_size=128 if facts.sparse else 0, **common)
    if not facts.kv_heads or not facts.head_dim:
        raise UnknownModel(
            Msg(
                "the KV heads or their size are unknown: give the path of the model's config.json",
                "不知道 KV 头的个数或大小：请给出模型 config.json 的路径",
            )
        )
    return CacheModel(kv_heads=facts.kv_heads, key_size=facts.head_dim, value_size=facts.head_dim, **common)


MOST_LAYERS = 10_000
"""More layers than any model has: each is a value in memory, so a config.json must not ask for a billion of them."""


def _draft_layers(text: Mapping[str, Any]) -> int:
    keys = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "num_mtp_modules")
    return next((n for n in (integer_of(text, key) for key in keys) if n is not None), 1)


def _config_kinds(text: Mapping[str, Any], facts: ModelFacts) -> tuple[Kind, ...]:
    """Return the kind of each layer that keeps something."""
    count = facts.layers
    if not count:
        raise UnknownModel(
            Msg(
                "config.json has no num_hidden_layers",
                "config.json 中没有 num_hidden_layers",
            )
        )
    if not 1 <= count <= MOST_LAYERS:
        raise UnknownModel(
            Msg(
                f"num_hidden_layers of config.json is not between 1 and {MOST_LAYERS}",
                f"config.json 中的 num_hidden_layers 不在 1 到 {MOST_LAYERS} 之间",
            )
        )
    window = integer_of(text, "sliding_window") if text.get("use_sliding_window") is not False else None
    listed = text.get("layer_types") or text.get("layers_block_type") or text.get("hybrid_override_pattern")
    if listed:
        return _listed_kinds(listed, window)
    pattern = integer_of(text, "attn_layer_period")
    if pattern:
        offset = integer_of(text, "attn_layer_offset") or 0
        return tuple(FULL if (i - offset) % pattern == 0 else STATE for i in range(count))
    every = integer_of(text, "full_attention_interval")
    if every:
        return tuple(FULL if (i + 1) % every == 0 else STATE for i in range(count))
    types = text.get("attn_type_list")
    if isinstance(types, (list, tuple)):
        return tuple(FULL if kind == 1 else STATE for kind in types)
    if facts.hybrid:
        raise UnknownModel(
            Msg(
                "config.json does not say which layers are attention layers: give --bytes-per-block",
                "config.json 没有说明哪些层是注意力层：请用 --bytes-per-block 给出每块的字节数",
            )
        )
    repeats = integer_of(text, "sliding_window_pattern")
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
            raise UnknownModel(
                Msg(
                    "layers that are attention and state at once are unknown here: give --bytes-per-block",
                    "这里不支持同时含注意力和状态的层：请用 --bytes-per-block 给出每块的字节数",
                )
            )
        elif name not in _NO_CACHE:
            raise UnknownModel(
                Msg(
                    f"layers of the type {name!r} are unknown here: give --bytes-per-block",
                    f"这里不支持 {name!r} 类型的层：请用 --bytes-per-block 给出每块的字节数",
                )
            )
    return tuple(kinds)
