"""What the ledger needs to know of a KV cache group. Pure Python."""

from __future__ import annotations

from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class Group:
    """A set of layers that share one block table.

    Attributes:
        block_size: tokens per block.
        window: tokens that attention looks back (its own included), None for all of them.
        retained: tokens below the window that the scheduler keeps as well.
        slack: tokens by which the tracked count may exceed what was accepted (drafts and steps in flight); so much
            more of a window is saved.
    """

    block_size: int
    window: int | None = None
    retained: int = 0
    slack: int = 0

    def blocks(self, tokens: int) -> int:
        """Return the blocks that hold ``tokens``."""
        return -(-tokens // self.block_size)

    def first_needed(self, tokens: int) -> int:
        """Return the position of the first block that the token after ``tokens`` computed ones may look at."""
        if self.window is None:
            return 0
        return max(0, tokens - self.window + 1 - self.retained) // self.block_size
