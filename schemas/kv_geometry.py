"""How many bytes one KV block takes on one rank, from what is known of the model and the layout.

What a rank keeps for one token and layer:

* MLA: one latent of ``kv_lora_rank + rope_dim`` elements, on every TP rank the same;
* GQA and MHA: a key and a value for each KV head that the rank holds, ``max(1, kv_heads // TP)`` of them;
* hybrid models: only their full-attention layers grow with the length. Their state pages and the enlarged block are not
  counted, so the number is a lower bound;
* sparse attention (an indexer), draft layers and sliding windows add or share caches: also a lower bound, or unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pd_launch.schemas.launch import NodeLaunch
from pd_launch.schemas.model_facts import ModelFacts
from pd_launch.schemas.models import kv_cache_is_c8
from pd_launch.schemas.target import Target

ASCEND_BLOCK = 128
SMALLEST_DEFAULT_BLOCK = 16
_WEIGHT_DTYPES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}


@dataclass(frozen=True)
class Geometry:
    """One block on one rank.

    ``block_tokens`` is the block size in tokens. ``block_bytes`` covers all layers of the rank; where ``exact`` is
    False it is what the block takes at least.
    """

    block_tokens: int
    block_bytes: int
    exact: bool

    def blocks_for(self, tokens: int, context_ranks: int = 1) -> int:
        """Return the blocks that ``tokens`` tokens need; ``context_ranks`` (DCP × PCP) share each request's tokens."""
        return -(-tokens // (self.block_tokens * context_ranks))


def geometry_of(node: NodeLaunch, facts: ModelFacts | None, target: Target) -> Geometry | None:
    """Return the geometry of ``node``'s KV blocks, or None where the model or the layout is not known well enough."""
    tensor, pipeline, tokens = node.tensor, node.pipeline, _block_tokens(node, facts, target)
    if facts is None or facts.sliding_window is not False or not tensor or not pipeline or tokens is None:
        return None
    layers, elements = _layers(facts), _elements(facts, tensor)
    element = _element_bytes(node, facts)
    if layers is None or elements is None or element is None:
        return None
    exact = (
        not facts.hybrid
        and not facts.sparse
        and pipeline == 1
        and node.arg("speculative-config") is None
        and not _low_precision(node)
        and (target.is_ascend or node.arg("block-size") is not None)
    )
    return Geometry(tokens, max(1, layers // pipeline) * elements * element * tokens, exact)


def _layers(facts: ModelFacts) -> int | None:
    return facts.full_attention_layers if facts.hybrid or facts.full_attention_layers is not None else facts.layers


def _elements(facts: ModelFacts, tensor: int) -> int | None:
    """Return the elements that one layer keeps for one token on one rank."""
    if facts.attention == "mla":
        if facts.kv_lora_rank is None or facts.rope_dim is None:
            return None
        return facts.kv_lora_rank + facts.rope_dim
    if facts.attention is None or not facts.kv_heads or not facts.head_dim:
        return None
    return 2 * max(1, facts.kv_heads // tensor) * facts.head_dim


def _block_tokens(node: NodeLaunch, facts: ModelFacts | None, target: Target) -> int | None:
    """Return the block size: what is written, except that vllm-ascend raises other sizes to 128 (DeepSeek-V4 apart)."""
    default = ASCEND_BLOCK if target.is_ascend else SMALLEST_DEFAULT_BLOCK
    written = node.number("block-size", default)
    if written is None or written < 1:
        return None
    own_size = facts is not None and (facts.hybrid or facts.family == "deepseek-v4")
    return max(written, ASCEND_BLOCK) if target.is_ascend and not own_size else written


def _element_bytes(node: NodeLaunch, facts: ModelFacts) -> int | None:
    if _low_precision(node):
        return 1
    kind = node.value("kv-cache-dtype")
    name = "auto" if kind is None else kind.string()
    if name is None:
        return None
    if name != "auto":
        return _WEIGHT_DTYPES.get(name.lower())
    weights = node.value("dtype")
    dtype = "auto" if weights is None else weights.string()
    if dtype is None:
        return None
    return facts.dtype_bytes if dtype == "auto" else _WEIGHT_DTYPES.get(dtype.lower())


def _low_precision(node: NodeLaunch) -> bool:
    """Whether the KV cache is (or may be) kept in 8 bits: by its dtype, the model's name or a C8 switch."""
    kind = node.value("kv-cache-dtype")
    if kind is not None and re.match(r"(fp8|int8|e4m3|e5m2)", kind.string() or ""):
        return True
    additional = node.additional
    switches = any("c8" in key for key, _ in additional.items()) if additional else False
    return switches or kv_cache_is_c8(node)
