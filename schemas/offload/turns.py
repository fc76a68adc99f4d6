"""Restores one by one, on engines where two of them could wait for each other for good. Pure Python.

Before vLLM 0.31.0 a request whose KV is loaded beside the steps gets no room for the drafts of its next step. Two of
them may then hold all blocks, and each waits for the other's; a request in front of them that does not fit keeps vLLM
from looking at them at all. Both are over when only one is under way at a time, and goes first once it is there.
"""

from __future__ import annotations


class OneByOne:
    """Who has to wait: asked for every request that wants to come in, and told what becomes of restores.

    Args:
        needed: whether restores could wait for each other here; else nobody waits.
    """

    def __init__(self, needed: bool = True) -> None:
        self._needed = needed
        self._under_way: set[str] = set()
        self._there: set[str] = set()

    def __bool__(self) -> bool:
        """Whether a restore is under way, or over and its request not scheduled since."""
        return bool(self._under_way or self._there)

    def must_wait(self, request_id: str, is_parked: bool) -> bool:
        """Whether a request is to ask again in the next step.

        Args:
            request_id: the request; its own restore, if any, is over or has failed, as vLLM asks for it anew.
            is_parked: whether it has a copy that may be restored beside the steps.
        """
        self.ran(request_id)
        return bool(self._there) or (is_parked and bool(self._under_way))

    def begins(self, request_id: str) -> None:
        """Take in that a restore beside the steps begins."""
        if self._needed:
            self._under_way.add(request_id)

    def over(self, request_id: str) -> None:
        """Take in that such a restore is over: the request can run."""
        if request_id in self._under_way:
            self._under_way.discard(request_id)
            self._there.add(request_id)

    def ran(self, *request_ids: str) -> None:
        """Take in that requests were scheduled, or are gone."""
        if self:
            self._under_way.difference_update(request_ids)
            self._there.difference_update(request_ids)
