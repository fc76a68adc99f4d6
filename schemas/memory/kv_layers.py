"""How vLLM groups the layers of one rank into KV blocks, and what a request takes of them. Pure arithmetic.

A *page* is what one layer keeps in one block. Layers whose requests need the same blocks form a group with one block
table; all groups share one pool, so a block is as wide as the widest group and every group takes whole blocks of it.
Source: vllm/v1/core/kv_cache_utils.py at 0.27.1 and 0.32.0 (run on both).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.msg import Msg

Kind = Literal["full", "window", "state"]


class KVLayoutError(ValueFault):
    """Layers that vLLM cannot put into one cache; the message says why."""


@dataclass(frozen=True)
class Layer:
    """One layer's page. Bytes on one rank; ``tokens`` is the block size, 0 for a state that does not grow."""

    kind: Kind
    page_bytes: int
    tokens: int
    window: int = 0

    @property
    def table(self) -> tuple[Kind, int, int]:
        """What layers must share to have one block table."""
        return self.kind, self.tokens, self.window


class LayerGroup(NamedTuple):
    """Layers with one block table. ``pages`` are their pages on the fullest rank, in bytes."""

    kind: Kind
    tokens: int
    window: int
    pages: tuple[int, ...]

    def blocks_for(self, tokens: int, drafts: int = 0) -> int:
        """Return the blocks that a request with ``tokens`` computed tokens keeps.

        ``drafts`` are draft tokens a step: a window keeps as many more tokens as two steps in flight may take back, a
        state keeps one more block for each.
        """
        if self.kind == "state":
            return 1 + drafts
        whole = -(-tokens // self.tokens)
        if self.kind == "full":
            return whole
        slack = 2 * (2 + drafts)
        return whole - max(0, tokens - slack - self.window + 1) // self.tokens


class CacheLayout(NamedTuple):
    """The cache of one rank: its groups, and the bytes of one block of the pool that they share."""

    groups: tuple[LayerGroup, ...]
    block_bytes: int

    @property
    def block_tokens(self) -> int:
        """Tokens of a block of the group that holds all tokens, or of the first one without such a group."""
        growing = [group for group in self.groups if group.kind == "full"]
        return (growing or list(self.groups))[0].tokens

    def blocks_for(self, tokens: int, drafts: int = 0) -> int:
        """Return the blocks that a request with ``tokens`` computed tokens keeps, over all groups."""
        return sum(group.blocks_for(tokens, drafts) for group in self.groups)

    def tokens_in(self, blocks: int, drafts: int = 0) -> int:
        """Return how many tokens of one request ``blocks`` blocks hold; 0 where not even its first one fits."""
        low, high = 0, max(1, blocks) * max(1, self.block_tokens)
        while low < high:
            middle = (low + high + 1) // 2
            if self.blocks_for(middle, drafts) <= blocks:
                low = middle
            else:
                high = middle - 1
        return low


def stage_sizes(layers: int, stages: int) -> list[int]:
    """Return how many of ``layers`` each pipeline stage holds: the last stage is filled last, then the first."""
    sizes = [layers // stages] * stages
    for index in range(2, layers % stages + 2):
        sizes[-index] += 1
    return sizes


def lay_out(layers: Sequence[Layer], stages: Sequence[int] | None = None, one_kind: bool = False) -> CacheLayout:
    """Return the layout of ``layers``, given in the model's order.

    Args:
        layers: every layer of the model that keeps KV, drafts included.
        stages: how many of them each pipeline stage holds; the fullest one counts. None: one stage.
        one_kind: whether the hybrid manager is off, so that windows are kept like full attention.

    Raises:
        KVLayoutError: there is no layer, or pages of different kinds cannot be made equal.
    """
    if not layers:
        raise KVLayoutError(Msg("the model keeps no KV", "该模型不保存 KV"))
    listed = [
        replace(layer, kind="full", window=0) if one_kind and layer.kind == "window" else layer for layer in layers
    ]
    if len({layer.table for layer in listed}) == 1:
        members = [list(range(len(listed)))]
    else:
        listed = _equal_pages(listed)
        members = _split(listed)
    best: CacheLayout | None = None
    for indices in _stage_indices(len(listed), stages):
        groups = tuple(
            LayerGroup(*listed[group[0]].table, tuple(listed[i].page_bytes for i in group if i in indices))
            for group in members
        )
        found = CacheLayout(groups, max(sum(group.pages) for group in groups))
        if best is None or found.block_bytes > best.block_bytes:
            best = found
    assert best is not None
    return best


def _stage_indices(count: int, stages: Sequence[int] | None) -> list[range]:
    if stages is None:
        return [range(count)]
    ends = [sum(stages[: number + 1]) for number in range(len(stages))]
    return [range(end - size, end) for end, size in zip(ends, stages, strict=True)]


def _equal_pages(layers: list[Layer]) -> list[Layer]:
    """Make all pages as large as the largest: more tokens in a block where that is a whole multiple, padding else."""
    largest = max(layer.page_bytes for layer in layers)
    equal = []
    for layer in layers:
        times, rest = divmod(largest, layer.page_bytes)
        tokens = layer.tokens if rest or layer.kind == "state" else layer.tokens * times
        equal.append(replace(layer, page_bytes=largest, tokens=tokens))
    return equal


def _split(layers: list[Layer]) -> list[list[int]]:
    """Split layers of several kinds into groups of about equally many, as vLLM does."""
    kinds: dict[tuple[Kind, int, int], list[int]] = {}
    for index, layer in enumerate(layers):
        kinds.setdefault(layer.table, []).append(index)
    fewest, most = min(map(len, kinds.values())), max(map(len, kinds.values()))
    size = most if most < fewest * 1.5 else fewest
    groups: list[list[int]] = []
    for indices in kinds.values():
        count = -(-len(indices) // size)
        groups += [indices[start::count] for start in range(count)]
    return groups
