"""How much to configure for the offload: the numbers of ``size``, from one geometry and one layout. Pure arithmetic.

Parked requests are counted for one engine (one DP rank), which keeps each of them on all of its ranks.
"""

from __future__ import annotations

from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import GIB, MIB, human_size
from pd_launch.schemas.memory.host_memory import engine_memory
from pd_launch.schemas.memory.kv_geometry import Geometry


class SizingError(ValueFault):
    """Numbers that leave nothing to configure; the message says what would."""


@dataclass(frozen=True)
class Layout:
    """One node of the side. ``rings`` are the bytes of /dev/shm that its engines need for their messages."""

    world: int
    engines: int
    data: int
    nodes: int
    rings: int
    ascend: bool
    context_ranks: int = 1
    """Ranks that share each request's tokens (DCP × PCP)."""
    null_blocks: int = 0
    """Blocks of the host pool that hold nothing: one with vllm-ascend's own connector."""
    worlds: str = ""
    """How the world size comes about, for people."""

    @property
    def ranks(self) -> int:
        """Ranks on the node."""
        return self.world * self.engines


@dataclass(frozen=True)
class Sizing:
    """What ``per_rank`` bytes for each rank mean. Bytes, blocks of one rank, tokens and requests of one engine."""

    layout: Layout
    geometry: Geometry
    tokens: int
    per_rank: int

    @property
    def blocks(self) -> int:
        """Blocks that one rank's budget holds, as the connector counts them."""
        return self.per_rank // self.geometry.block_bytes

    @property
    def usable(self) -> int:
        """Blocks that requests can have."""
        return max(0, self.blocks - self.layout.null_blocks)

    @property
    def blocks_per_request(self) -> int:
        """Blocks of one request of ``tokens`` tokens."""
        return self.geometry.blocks_for(self.tokens, self.layout.context_ranks)

    @property
    def requests(self) -> int:
        """Requests of ``tokens`` tokens that one engine can park at once."""
        return self.usable // self.blocks_per_request

    @property
    def tokens_fit(self) -> int:
        """Tokens that one engine can park: of one long request where windows or states keep only a part of it."""
        layout = self.geometry.layout
        if layout is not None and len(layout.groups) > 1:
            return layout.tokens_in(self.usable, self.geometry.drafts) * self.layout.context_ranks
        return self.usable * self.geometry.block_tokens * self.layout.context_ranks

    @property
    def per_engine(self) -> int:
        """Bytes of all ranks of an engine."""
        return self.per_rank * self.layout.world

    @property
    def per_node(self) -> int:
        """Bytes of all engines on a node."""
        return self.per_engine * self.layout.engines

    @property
    def shm(self) -> int:
        """What to ask for as /dev/shm: the engines' own need; on Ascend, as the guides ask, the budget on top."""
        return max(GIB, _whole(self.layout.rings + (self.per_node if self.layout.ascend else 0), GIB))

    @property
    def pod_memory(self) -> int:
        """What to ask for as a container's memory: budget, message rings, and an allowance for each rank's process."""
        return _whole(self.per_node + self.layout.rings + engine_memory(self.layout.ranks), GIB)


def for_requests(layout: Layout, geometry: Geometry, tokens: int, requests: int) -> Sizing:
    """Return the least budget, in whole MiB, that parks ``requests`` requests of ``tokens`` tokens on each engine."""
    blocks = requests * geometry.blocks_for(tokens, layout.context_ranks) + layout.null_blocks
    return Sizing(layout, geometry, tokens, _whole(blocks * geometry.block_bytes, MIB))


def for_memory(layout: Layout, geometry: Geometry, tokens: int, memory: int) -> Sizing:
    """Return the largest budget, in whole MiB, that a node or container with ``memory`` bytes has room for.

    Raises:
        SizingError: nothing is left beside the engines themselves.
    """
    own = layout.rings + engine_memory(layout.ranks)
    share = (memory - own) // layout.ranks // MIB * MIB
    if share < geometry.block_bytes * (1 + layout.null_blocks):
        left, need, block = human_size(memory), human_size(own), human_size(geometry.block_bytes)
        raise SizingError(
            Msg(
                f"{left} leave no block for a rank: the engines themselves are allowed {need}, and one block takes "
                f"{block} on each of {layout.ranks} ranks",
                f"{left} 放不下每个 rank 一块：引擎自身需要预留 {need}，而 {layout.ranks} 个 rank 上每块各占 {block}",
            )
        )
    return Sizing(layout, geometry, tokens, share)


def _whole(size: int, unit: int) -> int:
    return -(-size // unit) * unit
