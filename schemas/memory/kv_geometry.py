"""How many bytes one KV block takes on one rank of a launch, from what is known of the model and the layout.

What a rank keeps for one token and layer:

* MLA: one latent of ``kv_lora_rank + rope_dim`` elements, on every TP rank the same;
* GQA and MHA: a key and a value for each KV head that the rank holds, ``max(1, kv_heads // TP)`` of them;
* hybrid models and sliding windows: several groups of layers share the blocks (:mod:`.kv_layers`). The kind of each
  layer is in the model's config.json; with only its name, full-attention layers are counted, a lower bound.

Sparse attention (an indexer) and draft models that are no MTP layers are estimates too. On CPUs the processor decides
some of it (:mod:`..releases.cpu_blocks`): where it is not known and makes a difference, no figure is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.words import joined
from pd_launch.schemas.engine.speculation import config_of, method, speculative_tokens
from pd_launch.schemas.memory.cache_model import (
    CacheModel,
    Placement,
    UnknownModel,
    model_from_config,
    model_from_facts,
)
from pd_launch.schemas.memory.kv_layers import CacheLayout, KVLayoutError
from pd_launch.schemas.memory.states import DTYPE_BYTES
from pd_launch.schemas.models.facts import ModelFacts
from pd_launch.schemas.models.known import kv_cache_is_c8
from pd_launch.schemas.releases.cpu_blocks import (
    CPU_BLOCK,
    PROCESSORS,
    Processor,
    cpu_block,
    cpu_state_bytes,
    cpu_step,
    named,
)
from pd_launch.schemas.releases.stock import WINDOW_BLOCK

ASCEND_BLOCK = 128
SMALLEST_DEFAULT_BLOCK = 16
_NO_LAYERS = ("ngram", "ngram_gpu", "suffix", "[ngram]")
_LOW = lazy_pattern(r"(fp8|int8|e4m3|e5m2)")


@dataclass(frozen=True)
class Geometry:
    """One block on one rank.

    ``block_tokens`` is the block size in tokens. ``block_bytes`` covers all layers of the rank; where ``exact`` is
    False it is what the block takes at least, or an estimate, and ``note`` says why.
    """

    block_tokens: int
    block_bytes: int
    exact: bool
    layout: CacheLayout | None = None
    drafts: int = 0
    note: Msg = NOTHING

    def blocks_for(self, tokens: int, context_ranks: int = 1) -> int:
        """Return the blocks that ``tokens`` tokens need; ``context_ranks`` (DCP × PCP) share each request's tokens."""
        if self.layout is not None and len(self.layout.groups) > 1:
            return self.layout.blocks_for(-(-tokens // context_ranks), self.drafts)
        return -(-tokens // (self.block_tokens * context_ranks))


def geometry_of(
    node: NodeLaunch, facts: ModelFacts | None, target: Target, processor: Processor | None = None
) -> Geometry | None:
    """Return the geometry of ``node``'s KV blocks, or None where the model or the layout is not known well enough."""
    try:
        return known_geometry(node, facts, target, processor)
    except (UnknownModel, KVLayoutError):
        return None


def known_geometry(
    node: NodeLaunch,
    facts: ModelFacts | None,
    target: Target,
    processor: Processor | None = None,
    most: bool = False,
) -> Geometry:
    """Return the geometry of ``node``'s KV blocks.

    Args:
        node: the launch.
        facts: its model.
        target: the release.
        processor: what the CPU backends look at; None: not known. Then the smallest block is returned, which is what a
            block takes at least, and its note tells the others.
        most: whether it is the largest block instead, so that a budget is enough on every processor.

    Raises:
        UnknownModel: the model or the layout is not known well enough; the message says what is missing.
        KVLayoutError: vLLM could not lay the cache out either.
    """
    if facts is None:
        raise UnknownModel(
            Msg(
                "the model table does not know this model: give the path of its config.json",
                "模型表中没有该模型：请给出其 config.json 的路径",
            )
        )
    if not _cpu(node) or target.is_ascend:
        return _geometry(node, facts, target, PROCESSORS[0])
    if processor is not None:
        return _geometry(node, facts, target, processor)
    return _on_any_processor(node, facts, target, most)


def _on_any_processor(node: NodeLaunch, facts: ModelFacts, target: Target, most: bool) -> Geometry:
    """Return the smallest block, or the largest, that a processor makes of it; where they differ, with a note."""
    found: dict[Geometry, list[Processor]] = {}
    refused: dict[Msg, list[Processor]] = {}
    for one in PROCESSORS:
        try:
            found.setdefault(_geometry(node, facts, target, one), []).append(one)
        except KVLayoutError as error:
            refused.setdefault(error.said, []).append(one)
    if not found:
        raise KVLayoutError(next(iter(refused)))
    chosen = (max if most else min)(found, key=lambda geometry: geometry.block_bytes)
    if len(found) + len(refused) == 1:
        return chosen
    told = joined([*(_block_on(geometry, on) for geometry, on in found.items()), *_refusals(refused)])
    decides = Msg(f"the processor decides: {told.en}", f"由处理器决定：{told.zh}")
    return replace(chosen, exact=False, note=joined([chosen.note, decides]))


def _block_on(geometry: Geometry, processors: Sequence[Processor]) -> Msg:
    where, size = named(processors), human_size(geometry.block_bytes)
    return Msg(
        f"{where.en} a block is {geometry.block_tokens} tokens, {size}",
        f"{where.zh}每块 {geometry.block_tokens} 个 token，{size}",
    )


def _refusals(refused: Mapping[Msg, Sequence[Processor]]) -> Iterator[Msg]:
    for error, processors in refused.items():
        where = named(processors)
        yield Msg(f"{where.en} {error.en}", f"{where.zh}{error.zh}")


def _geometry(node: NodeLaunch, facts: ModelFacts, target: Target, processor: Processor) -> Geometry:
    placement = placement_of(node, facts, target, processor)
    model = _model(node, facts, placement)
    layout = model.layout(placement)
    kind, drafts = method(node), placement.drafts
    speculates = config_of(node) is not None
    notes = [model.note] if not model.exact else []
    if speculates and not placement.mtp and kind not in _NO_LAYERS:
        notes.append(Msg("the draft model's own cache is not counted", "未计入草稿模型自己的缓存"))
    if low_precision(node) and target.is_ascend:
        notes.append(Msg("scales of a quantised cache are not counted", "未计入量化缓存的缩放因子"))
    if not target.is_ascend and node.arg("block-size") is None and not _cpu(node):
        notes.append(
            Msg(
                "the default block size depends on the attention backend: give --block-size",
                "默认块大小取决于注意力后端：请给出 --block-size",
            )
        )
    if not target.is_ascend and not WINDOW_BLOCK.holds(target) and {g.kind for g in layout.groups} == {"window"}:
        notes.append(
            Msg(
                f"before vLLM {WINDOW_BLOCK.first} the attention backend may choose the block size of a model whose "
                "layers all have a window",
                f"在 vLLM {WINDOW_BLOCK.first} 之前，所有层都带滑动窗口的模型可能由注意力后端选择块大小",
            )
        )
    return Geometry(layout.block_tokens, layout.block_bytes, not notes, layout, drafts, joined(notes))


def _model(node: NodeLaunch, facts: ModelFacts, placement: Placement) -> CacheModel:
    if node.model_config is not None:
        return model_from_config(node.model_config)
    return model_from_facts(replace(facts, dtype_bytes=placement.element_bytes or facts.dtype_bytes))


def placement_of(node: NodeLaunch, facts: ModelFacts, target: Target, processor: Processor) -> Placement:
    """Return how ``node`` spreads and stores the model; ``processor`` is its processor where the device is the CPU.

    Raises:
        UnknownModel: a size or the dtype is not known.
        KVLayoutError: vLLM refuses the block size.
    """
    tensor, pipeline = node.tensor, node.pipeline
    tokens = _block_tokens(node, facts, target, processor)
    if not tensor or not pipeline or tokens is None:
        raise UnknownModel(Msg("the parallel sizes or the block size are unknown", "不知道并行大小或块大小"))
    drafts, speculation = speculative_tokens(node), method(node)
    kind = node.value("kv-cache-dtype")
    return Placement(
        tensor,
        pipeline,
        tokens,
        block_alignment=_alignment(node, target),
        element_bytes=_element_bytes(node),
        state_bytes=_state_bytes(node, target, processor),
        drafts=drafts or 0,
        mtp=speculation is not None and "mtp" in speculation,
        one_kind=node.switch("disable-hybrid-kv-cache-manager") is True,
        ascend=target.is_ascend,
        sparse_rows=kind is not None and kind.string() in ("fp8", "fp8_ds_mla") and not target.is_ascend,
    )


def _cpu(node: NodeLaunch) -> bool:
    return node.hardware is not None and node.hardware.kind == "cpu"


def _alignment(node: NodeLaunch, target: Target) -> int:
    if target.is_ascend:
        return ASCEND_BLOCK
    return cpu_step(target) if _cpu(node) else SMALLEST_DEFAULT_BLOCK


def _block_tokens(node: NodeLaunch, facts: ModelFacts, target: Target, processor: Processor) -> int | None:
    """Return the block size: what is written, except that vllm-ascend raises other sizes to 128 (DeepSeek-V4 apart).

    Raises:
        KVLayoutError: vLLM refuses it.
    """
    on_cpu = _cpu(node) and not target.is_ascend
    default = ASCEND_BLOCK if target.is_ascend else CPU_BLOCK if on_cpu else SMALLEST_DEFAULT_BLOCK
    written = node.number("block-size", default)
    if written is None or written < 1:
        return None
    if on_cpu:
        real = cpu_block(written, facts.attention == "mla", bool(facts.hybrid), target, processor)
        if real is None:
            step = cpu_step(target)
            raise KVLayoutError(
                Msg(
                    f"vLLM refuses blocks of {written} tokens, not a multiple of {step}",
                    f"vLLM 不接受 {written} 个 token 的块，因为它不是 {step} 的倍数",
                )
            )
        return real
    own_size = facts.hybrid or facts.family == "deepseek-v4"
    return max(written, ASCEND_BLOCK) if target.is_ascend and not own_size else written


def _element_bytes(node: NodeLaunch) -> int | None:
    """Return the bytes of an element that the launch asks for; None for the model's own.

    Raises:
        UnknownModel: the dtype is not known, or none whose size is known here.
    """
    if low_precision(node):
        return 1
    for flag in ("kv-cache-dtype", "dtype"):
        written = node.value(flag)
        name = "auto" if written is None else written.string()
        if name is None or (name != "auto" and name.lower() not in DTYPE_BYTES):
            shown = f"--{flag} {name or ''}".rstrip()
            raise UnknownModel(
                Msg(f"the size of an element under {shown} is not known", f"不知道 {shown} 时每个元素的大小")
            )
        if name != "auto":
            return DTYPE_BYTES[name.lower()]
    return None


def _state_bytes(node: NodeLaunch, target: Target, processor: Processor) -> int | None:
    """Return the bytes of an element of the recurrent state that the launch asks for, or that a CPU kernel takes."""
    written = node.value("mamba-ssm-cache-dtype")
    asked = DTYPE_BYTES.get((written.string() if written else "auto") or "")
    if not _cpu(node) or target.is_ascend:
        return asked
    return cpu_state_bytes(asked, _is_delta_net(node), target, processor)


def _is_delta_net(node: NodeLaunch) -> bool:
    config = node.model_config or {}
    return any("linear_num_value_heads" in part for part in (config, config.get("text_config")) if part)


def low_precision(node: NodeLaunch) -> bool:
    """Whether the KV cache is (or may be) kept in 8 bits: by its dtype, the model's name or a C8 switch."""
    kind = node.value("kv-cache-dtype")
    if kind is not None and _LOW.match(kind.string() or "") and "per_token" not in (kind.string() or ""):
        return True
    additional = node.additional
    switches = any("c8" in key for key, _ in additional.items()) if additional else False
    return switches or kv_cache_is_c8(node)
