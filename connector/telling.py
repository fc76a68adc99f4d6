"""What people are told: log lines about requests, and counts of what became of them."""

from __future__ import annotations

from typing import Any

from vllm.logger import init_logger

from pd_launch.connector.lines import Lines
from pd_launch.connector.metrics import FALLBACK, Counts, OffloadStats
from pd_launch.connector.wording import Wording
from pd_launch.schemas.offload.ledger import Ledger, Parked, Transfer

# Filters know the lines by this name.
logger = init_logger("vllm.pd_launch.connector.scheduler")

NO_POOL = (
    "%s: this scheduler shows no block pool with reset_prefix_cache, so stale KV could not be told from good: nothing "
    "is saved and preempted requests are recomputed"
)
# Without a worker side nothing is copied, and then a restore would be blocks that nobody wrote.
NO_WORKER = (
    "%s: no worker of this connector has answered so far: until one does nothing is saved and preempted requests are "
    "recomputed. vLLM keeps the workers' connector of a process until the engine that it was made for is shut down: "
    "where another one was used in this process before, shut that engine down first"
)
UNKNOWN_ENGINE = (
    "%s: this vLLM has no %s, which tells whether a request's KV may be saved: nothing is saved and preempted requests "
    "are recomputed. Use a release that this connector was tried with"
)
POOL_FULL = (
    "Skip %s offload for request %s: CPU cache has %d free blocks, but %d are needed; computed_tokens=%d will be "
    "recomputed. Raise cpu_bytes_to_use_per_rank if this happens often"
)
WINDOW = (
    "Skip %s offload for request %s: CPU cache has %d free blocks and %d would be taken, but blocks that an attention "
    "window looks at were gone; computed_tokens=%d will be recomputed"
)


class Telling:
    """Writes the lines of one scheduler side and keeps its counts. ``words``: how this connector calls itself."""

    def __init__(self, words: Wording) -> None:
        self._words = words
        self.lines = Lines(logger)
        self.counts = Counts()
        self._told: set[str] = set()  # what is said once
        self._gauges: dict[str, float] = {}
        self._workers: dict[str, float] = {}  # their totals as last reported

    # Fallbacks

    def fell_back(self, reason: str, count: int = 1) -> None:
        """Count requests that were not simply parked and restored."""
        self.counts.add(FALLBACK + reason, count)

    def unsaved(self, reason: str, text: str, *values: object) -> None:
        """Count a request that is not saved for a reason that holds for all of them, and say it once."""
        self.fell_back(reason)
        if text not in self._told:
            self._told.add(text)
            logger.warning(text, self._words.connector, *values)

    def skipped(self, request_id: str, parked: Parked) -> None:
        """Nothing of a victim is saved: there is no room, or a window has given up what it needs."""
        full = parked.needed > parked.free
        self.fell_back("pool_full" if full else "window")
        self.lines.flush()  # they keep their order
        line = POOL_FULL if full else WINDOW
        logger.warning(line, self._words.feature, request_id, parked.free, parked.needed, parked.computed)

    # What went well

    def parked(self, request_id: str, parked: Parked) -> None:
        """A victim is saved, whole or in part."""
        self.counts.add("parked")
        if parked.tokens < parked.computed:
            self.fell_back("partial")
        self.lines.info(
            "Created %s offload state for request %s: computed_tokens=%d saved_tokens=%d cpu_blocks=%d store_blocks=%d "
            "ready=%s",
            self._words.feature,
            request_id,
            parked.computed,
            parked.tokens,
            parked.blocks,
            parked.copied,
            parked.copied == 0,
        )

    def enabled(self, request_id: str) -> None:
        """A victim that ``preempted_req_ids`` named is saved."""
        self.lines.info("%s preemption offload enabled for request %s", self._words.feature.capitalize(), request_id)

    def restored(self, request_id: str, external: int, transfer: Transfer) -> None:
        """The load of ``external`` tokens is planned."""
        self.counts.add("restored")
        if transfer.missing:
            self.lines.flush()
            logger.warning(
                "%s: of what was offered for request %s the scheduler takes only %d tokens, whose window looks at %d "
                "blocks that were given up before: they are reported as invalid",
                self._words.connector,
                request_id,
                external,
                len(transfer.missing),
            )
        self.lines.info(
            "Prepared %s offload H2D load for request %s: external_tokens=%d load_blocks=%d",
            self._words.feature,
            request_id,
            external,
            len(transfer.host),
        )

    # Statistics

    def workers(self, totals: dict[str, float]) -> None:
        """Take in the workers' running totals."""
        for name, value in totals.items():
            self.counts.add(name, value - self._workers.get(name, 0))
        self._workers = totals

    def stats(self, ledger: Ledger) -> OffloadStats | None:
        """Return counts and gauges, if there is anything new."""
        gauges: dict[str, Any] = {
            "pool_blocks_used": ledger.host.total - ledger.host.free,
            "pool_blocks_total": ledger.host.total,
            "oldest_parked_seconds": round(ledger.oldest_parked_seconds(), 3),
        }
        counts = self.counts.take()
        if not counts and gauges == self._gauges:
            return None
        self._gauges = gauges
        return OffloadStats(data={"counts": counts, "gauges": dict(gauges)})
