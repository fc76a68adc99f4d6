"""Scheduler side: translates what vLLM's scheduler does into the ledger's terms, and tells people about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vllm.logger import init_logger

from pd_launch.connector.lines import Lines
from pd_launch.connector.metadata import WorkerReport
from pd_launch.connector.metrics import FALLBACK, Counts, OffloadStats
from pd_launch.connector.requests import Opened, is_running, watch_resets
from pd_launch.connector.wording import Wording
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.ledger import Hashes, Ledger, Parked, Rows, Step

logger = init_logger(f"vllm.{__name__}")


class OffloadScheduler:
    """Follows block tables from SchedulerOutput, parks victims and restores them.

    Args:
        groups: the KV cache groups.
        host_blocks: host blocks per rank.
        words: how this connector calls itself in logs.
        hash_block_size: tokens per prefix hash, where requests that start alike are to share host blocks; else None.
    """

    def __init__(
        self, groups: Sequence[Group], host_blocks: int, words: Wording, hash_block_size: int | None = None
    ) -> None:
        self.ledger = Ledger(groups, host_blocks)
        self._words = words
        self.lines = Lines(logger)
        self._hash_block_size = hash_block_size
        self._requests: dict[str, Any] = {}  # admitted and not finished
        self.async_from: int | None = None  # restores of at least so many blocks run beside the others' steps
        self._beside: set[str] = set()  # requests that were told so at their last question
        self.lacks: list[str] = []  # names that this engine does not have, without which no save is safe
        self._lack_told = False
        self.saves_late = False  # this engine's runner zeroes and copies blocks before it lets us save
        self._answered = False  # a worker side of this connector has reported
        self._silence_told = False
        self._decided: set[str] = set()  # victims of this step of which the hook has decided
        self._stale: set[str] = set()  # requests that were under way at a reset since the last step
        self._opened = Opened()
        self._reset_seen = False
        self._reset_missing_told = False
        self._gauges: dict[str, float] = {}
        self._workers: dict[str, float] = {}  # their totals as last reported
        self.counts = Counts()

    # Resets: a weight update makes all KV stale, and preempts everything through the same path as pressure does

    def wrap_reset(self, pool: Any) -> None:
        """Watch the resets of a block pool. One without the method cannot be watched, and then nothing is saved."""
        self._reset_seen |= watch_resets(pool, self.reset, self._goes_on)

    def reset(self) -> bool:
        """Forget every table and every copy that is not being loaded."""
        return self._forget_all(running=True)

    def reset_cache(self) -> bool:
        """Forget what is parked, and running requests too unless vLLM lets them go on with the KV that they have."""
        return self._forget_all(running=not self._goes_on())

    def _forget_all(self, running: bool) -> bool:
        if running:
            self._stale.update(self.ledger.tables)
        dropped = self.ledger.reset(running)
        if dropped:
            self._fell_back("reset", dropped)
        return True

    def _goes_on(self) -> bool:
        """Whether a request that is followed is still running: a reset that vLLM means preempts all of them first."""
        return any(is_running(self._requests.get(request_id)) for request_id in self.ledger.tables)

    def _fell_back(self, reason: str, count: int = 1) -> None:
        self.counts.add(FALLBACK + reason, count)

    def _may_save(self) -> bool:
        if self.lacks:
            self._tell_lack()
            self._fell_back("unknown_engine")
            return False
        if not self._answered:
            self._tell_silence()
            self._fell_back("no_worker")
            return False
        if not self._reset_seen and not self._reset_missing_told:
            self._reset_missing_told = True
            logger.warning(
                "%s: this scheduler shows no block pool with reset_prefix_cache, so stale KV could not be told from "
                "good: nothing is saved and preempted requests are recomputed",
                self._words.connector,
            )
        if not self._reset_seen:
            self._fell_back("no_pool")
        return self._reset_seen

    def _tell_lack(self) -> None:
        if not self._lack_told:
            self._lack_told = True
            logger.warning(
                "%s: this vLLM has no %s, which tells whether a request's KV may be saved: nothing is saved and "
                "preempted requests are recomputed. Use a release that this connector was tried with",
                self._words.connector,
                ", ".join(self.lacks),
            )

    def _tell_silence(self) -> None:
        """Without a worker side nothing is copied, and then a restore would be blocks that nobody wrote."""
        if self._silence_told:
            return
        self._silence_told = True
        logger.warning(
            "%s: no worker of this connector has answered so far: until one does nothing is saved and preempted "
            "requests are recomputed. vLLM keeps the workers' connector of a process until the engine that it was made "
            "for is shut down: where another one was used in this process before, shut that engine down first",
            self._words.connector,
        )

    # Admission

    def matched(self, request: Any, local: int) -> tuple[int | None, bool]:
        """Answer ``get_num_new_matched_tokens``; asked in every step in which the request waits. None: ask again."""
        if len(self.ledger.groups) > 1 and self.ledger.saving(request.request_id):
            return None, False  # a restore that fails would end the engine, where several groups are: first the report
        tokens = self.ledger.restorable(request.request_id, request.num_tokens, local)
        if tokens:
            self._opened.open(request)
        if self.async_from is None or tokens == 0:
            return tokens, False
        blocks = sum(group.blocks(tokens) for group in self.ledger.groups)
        if blocks >= self.async_from:
            self._beside.add(request.request_id)
        else:
            self._beside.discard(request.request_id)
        return tokens, blocks >= self.async_from

    def allocated(self, request: Any, rows: Rows, external: int) -> None:
        """Answer ``update_state_after_alloc``: plan the load, or drop a copy that nothing needs."""
        request_id = request.request_id
        self._requests[request_id] = request
        beside = request_id in self._beside
        self._beside.discard(request_id)
        if external <= 0:
            self._drop(request_id, "superseded")
            return
        transfer = self.ledger.plan_restore(request_id, rows, external, beside)
        if transfer is None:
            return
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

    def finished(self, request_id: str) -> None:
        """Take in the end of a request."""
        self._requests.pop(request_id, None)
        self._beside.discard(request_id)
        self.ledger.forget(request_id)
        self._drop(request_id, "ended")

    def _drop(self, request_id: str, reason: str) -> None:
        """Forget a copy that nobody needs any more, and count it, so that none goes without a word."""
        if self.ledger.drop(request_id):
            self._fell_back(reason)

    # Preemption

    def before_preempt(self, request: Any, rows: Rows, computed: int) -> bool:
        """Answer vllm-ascend's hook, which knows the exact table of a victim while it still holds its blocks.

        True, even where nothing is saved: the request then waits and recomputes here. After False the scheduler would
        end it, and a proxy that does not send it again shows the client a truncated answer.
        """
        request_id = request.request_id
        self._requests.setdefault(request_id, request)
        if not self.ledger.parked_in(request_id):
            self._decided.add(request_id)
            self.ledger.forget(request_id)
            self._park(request_id, rows, computed)
        return True

    def step(self, output: Any) -> Step:
        """Take in one SchedulerOutput and return what the workers do in that step."""
        self._opened.close()
        for request_id in output.preempted_req_ids or ():
            self._preempted(request_id, output)
        if self.saves_late:
            self._revoke_overwritten(output)
        # An identifier may be used again as soon as its request is over: then it is both finished and new.
        for request_id in output.finished_req_ids - {new.req_id for new in output.scheduled_new_reqs}:
            self.finished(request_id)
        scheduled = output.num_scheduled_tokens
        for new in output.scheduled_new_reqs:
            self._track(new.req_id, new.block_ids, new.num_computed_tokens + scheduled[new.req_id])
        cached = output.scheduled_cached_reqs
        for request_id, rows, start in zip(
            cached.req_ids, cached.new_block_ids, cached.num_computed_tokens, strict=True
        ):
            computed = start + scheduled[request_id]
            if request_id in cached.resumed_req_ids:
                self._track(request_id, rows, computed)
            else:
                self.ledger.extend(request_id, rows, computed)
        self._decided.clear()
        self._stale.clear()
        step = self.ledger.advance()
        step.report |= not self._answered
        return step

    def _revoke_overwritten(self, output: Any) -> None:
        """Give up saves of blocks that the runner zeroes, or makes private copies in, before it lets us save."""
        blocks = set(getattr(output, "new_block_ids_to_zero", None) or ())
        blocks |= {copy.dst_block_id for copy in getattr(output, "kv_cache_block_copies", None) or ()}
        if lost := self.ledger.revoke(blocks):
            self._fell_back("overwritten", len(lost))

    def _track(self, request_id: str, rows: Rows, computed: int) -> None:
        if not self._resumable(request_id):
            self.ledger.track(request_id, rows, computed)

    def _resumable(self, request_id: str) -> bool:
        """Whether later input may replace tokens of the request, which makes what was saved stale."""
        return bool(getattr(self._requests.get(request_id), "resumable", False))

    def _preempted(self, request_id: str, output: Any) -> None:
        table = self.ledger.forget(request_id)
        if request_id in self._decided:
            return  # the hook was there first, and what it did is counted
        self._drop(request_id, "superseded")
        if request_id in output.finished_req_ids:
            return  # vLLM does not count it either
        if request_id in self._stale or request_id in output.num_scheduled_tokens:
            self._fell_back("reset_running")  # pressure never lets a victim run again in the same step
        elif table is None:
            self._fell_back("resumable" if self._resumable(request_id) else "untracked")
        elif self._park(request_id, table.rows, table.computed):
            self.lines.info(
                "%s preemption offload enabled for request %s", self._words.feature.capitalize(), request_id
            )

    def _park(self, request_id: str, rows: Rows, computed: int) -> bool:
        if self._resumable(request_id):
            self._fell_back("resumable")
            return False
        if not self._may_save() or not self._let_restore(request_id, computed):
            return False
        parked = self.ledger.park(request_id, rows, computed, self._hashes(request_id, computed))
        if parked.tokens == 0:
            self._tell_skipped(request_id, parked)
            return False
        self.counts.add("parked")
        if parked.tokens < parked.computed:
            self._fell_back("partial")
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
        return True

    def _let_restore(self, request_id: str, computed: int) -> bool:
        """Whether vLLM may take back what is saved.

        It reads no cached KV where the whole prompt must go through the model: for prompt logprobs, and to pool every
        token. A prompt pass that was cut short begins anew. One that is over has delivered, so nothing hinders a
        restore any more.
        """
        request = self._requests.get(request_id)
        if request is None or self._opened.may(request, computed):
            return True
        self._fell_back("prompt_pass")
        return False

    def _tell_skipped(self, request_id: str, parked: Parked) -> None:
        if parked.needed > parked.free:
            reason = "pool_full"
            line = (
                "Skip %s offload for request %s: CPU cache has %d free blocks, but %d are needed; computed_tokens=%d "
                "will be recomputed. Raise cpu_bytes_to_use_per_rank if this happens often"
            )
        else:
            reason = "window"
            line = (
                "Skip %s offload for request %s: CPU cache has %d free blocks and %d would be taken, but blocks that "
                "an attention window looks at were gone; computed_tokens=%d will be recomputed"
            )
        self._fell_back(reason)
        self.lines.flush()  # they keep their order
        logger.warning(
            line,
            self._words.feature,
            request_id,
            parked.free,
            parked.needed,
            parked.computed,
        )

    def _hashes(self, request_id: str, computed: int) -> Hashes | None:
        """Return per group the hashes of the full blocks whose KV is final: no draft may still be in them."""
        request, size = self._requests.get(request_id), self._hash_block_size
        if size is None or request is None:
            return None
        final = min(computed, request.num_tokens - 1)
        out = []
        for group in self.ledger.groups:
            ratio, rest = divmod(group.block_size, size)
            hashes = [] if rest else request.block_hashes[ratio - 1 :: ratio]
            out.append(hashes[: final // group.block_size])
        return out

    # What the workers say

    def worker_output(self, output: Any) -> None:
        """Take in one KVConnectorOutput: reports, failed loads, ends of asynchronous loads."""
        report = output.kv_connector_worker_meta
        if isinstance(report, WorkerReport):
            self._answered = True
            self.ledger.limit(report.capacity)
            self._count_workers(report.totals)
            lost = self.ledger.report(report.done, report.failed)
            if lost:
                self._fell_back("save_failed", len(lost))
        if output.invalid_block_ids and (lost := self.ledger.distrust(set(output.invalid_block_ids))):
            self._fell_back("save_failed", len(lost))
        for request_id in output.finished_recving or ():
            self.ledger.loaded(request_id)

    def _count_workers(self, totals: dict[str, float]) -> None:
        for name, value in totals.items():
            self.counts.add(name, value - self._workers.get(name, 0))
        self._workers = totals

    def stats(self) -> OffloadStats | None:
        """Return counts and gauges, if there is anything new."""
        host = self.ledger.host
        gauges = {
            "pool_blocks_used": host.total - host.free,
            "pool_blocks_total": host.total,
            "oldest_parked_seconds": round(self.ledger.oldest_parked_seconds(), 3),
        }
        counts = self.counts.take()
        if not counts and gauges == self._gauges:
            return None
        self._gauges = gauges
        return OffloadStats(data={"counts": counts, "gauges": dict(gauges)})
