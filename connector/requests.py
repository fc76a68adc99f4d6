"""What is read of vLLM's requests and block pools, and the one thing that is written. Pure Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.ledger import Hashes

RUNNING = "RUNNING"


def is_running(request: Any) -> bool:
    """Whether a request runs, by its own word; False where it says nothing."""
    return getattr(getattr(request, "status", None), "name", None) == RUNNING


def final_hashes(request: Any, groups: Sequence[Group], size: int, computed: int) -> Hashes:
    """Return per group the hashes of the full blocks whose KV is final: no draft may still be in them.

    Args:
        request: one of which ``computed`` tokens are computed.
        groups: the KV cache groups.
        size: tokens per hash.
        computed: as tracked; drafts in flight are counted.
    """
    final = min(computed, request.num_tokens - 1)
    out = []
    for group in groups:
        ratio, rest = divmod(group.block_size, size)
        hashes = [] if rest else request.block_hashes[ratio - 1 :: ratio]
        out.append(hashes[: final // group.block_size])
    return out


def watch_resets(pool: Any, forget: Callable[[], object], goes_on: Callable[[], bool]) -> bool:
    """Call ``forget`` when ``pool.reset_prefix_cache`` is called and the reset happens; False without that method.

    A reset that vLLM refuses changes nothing, if requests go on running: a copy of their KV is as fresh as the KV that
    they go on with. Where none runs it may have been meant for a weight update, which preempts all of them first.
    """
    reset: Callable[..., Any] | None = getattr(pool, "reset_prefix_cache", None)
    if reset is None:
        return False

    def reset_and_forget(*args: Any, **kwargs: Any) -> Any:
        happened = True
        try:
            happened = reset(*args, **kwargs)
            return happened
        finally:
            if happened is not False or not goes_on():
                forget()

    pool.reset_prefix_cache = reset_and_forget
    return True


class Opened:
    """Requests that are let read cached KV, while the scheduler takes the answer and no longer.

    vLLM asks about its own prefix cache before it asks the connector, so a request that is not to read that one, by its
    user's wish or for prompt logprobs, still does not; but newer releases take no connector's answer for it either.
    """

    def __init__(self) -> None:
        self._requests: list[Any] = []

    def may(self, request: Any, computed: int) -> bool:
        """Whether what is saved of a request may be restored, of which ``computed`` tokens are computed."""
        if not getattr(request, "skip_reading_prefix_cache", False):
            return True
        try:
            request.skip_reading_prefix_cache = True  # as it is: only to see whether it can be written
        except AttributeError:
            return False
        return bool(computed >= request.num_prompt_tokens)

    def open(self, request: Any) -> None:
        """Let vLLM take the answer for a request."""
        if getattr(request, "skip_reading_prefix_cache", False):
            request.skip_reading_prefix_cache = False
            self._requests.append(request)

    def close(self) -> None:
        """Leave all requests as they were."""
        for request in self._requests:
            request.skip_reading_prefix_cache = True
        self._requests.clear()
