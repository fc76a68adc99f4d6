"""The interface of everything that copies blocks, and of a copy that is under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Ticket(Protocol):
    """A copy that may still be under way."""

    def done(self) -> bool:
        """Whether it is over.

        Raises:
            RuntimeError: it failed.
        """


class CopyBackend(Protocol):
    """Copies whole blocks. ``device[i]`` and ``host[i]`` belong together, for all i and all regions.

    A call without a ticket (None) is over when it returns. Whatever is under way, a call is ordered with the compute
    that the caller has issued before and issues after it, as if it were over; what a ticket tells is only when *host*
    blocks may be reused, and, of :meth:`load_aside`, when device blocks may be read.
    """

    def save(self, device: Sequence[int], host: Sequence[int]) -> Ticket | None:
        """Copy device blocks to host blocks."""

    def load(self, device: Sequence[int], host: Sequence[int]) -> Ticket | None:
        """Copy host blocks to device blocks."""

    def load_aside(self, device: Sequence[int], host: Sequence[int]) -> Ticket | None:
        """Copy host blocks to device blocks that nothing uses before the ticket is done, while the model computes."""

    def close(self) -> None:
        """Wait for what is under way and let go of everything."""
