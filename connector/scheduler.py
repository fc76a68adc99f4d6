"""Scheduler side: translates what vLLM's scheduler does into the ledger's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.connector.metadata import WorkerReport
from pd_launch.connector.metrics import Counts, OffloadStats
from pd_launch.connector.requests import Opened, final_hashes, is_running, watch_resets
from pd_launch.connector.telling import NO_POOL, NO_WORKER, UNKNOWN_ENGINE, Telling
from pd_launch.connector.wording import Wording
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.ledger import Ledger, Rows, Step
from pd_launch.schemas.offload.turns import OneByOne


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
        self._tell = Telling(words)
        self._hash_block_size = hash_block_size
        self._requests: dict[str, Any] = {}  # admitted and not finished
        self.async_from: int | None = None  # restores of at least so many blocks run beside the others' steps
        self._beside: set[str] = set()  # requests that were told so at their last question
        self.turns = OneByOne(needed=False)  # restores beside the steps that could wait for each other
        self.lacks: list[str] = []  # names that this engine does not have, without which no save is safe
        self.saves_late = False  # this engine's runner zeroes and copies blocks before it lets us save
        self._answered = False  # a worker side of this connector has reported
        self._decided: set[str] = set()  # victims of this step of which the hook has decided
        self._stale: set[str] = set()  # requests that were under way at a reset since the last step
        self._opened = Opened()
        self._reset_seen = False

    @property
    def counts(self) -> Counts:
        """What was counted since the last collection."""
        return self._tell.counts

    def close(self) -> None:
        """Write the lines that are still waiting."""
        self._tell.lines.close()

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
            self._tell.fell_back("reset", dropped)
        return True

    def _goes_on(self) -> bool:
        """Whether a request that is followed is still running: a reset that vLLM means preempts all of them first."""
        return any(is_running(self._requests.get(request_id)) for request_id in self.ledger.tables)

    def _may_save(self) -> bool:
        if self.lacks:
            self._tell.unsaved("unknown_engine", UNKNOWN_ENGINE, ", ".join(self.lacks))
        elif not self._answered:
            self._tell.unsaved("no_worker", NO_WORKER)
        elif not self._reset_seen:
            self._tell.unsaved("no_pool", NO_POOL)
        else:
            return True
        return False

    # Admission

    def matched(self, request: Any, local: int) -> tuple[int | None, bool]:
        """Answer ``get_num_new_matched_tokens``; asked in every step in which the request waits. None: ask again."""
        if self.turns.must_wait(request.request_id, request.request_id in self.ledger.copies):
            return None, False
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
        if transfer is not None:
            self._tell.restored(request_id, external, transfer)
            if beside:
                self.turns.begins(request_id)

    def finished(self, request_id: str) -> None:
        """Take in the end of a request."""
        self._requests.pop(request_id, None)
        self._beside.discard(request_id)
        self.turns.ran(request_id)
        self.ledger.forget(request_id)
        self._drop(request_id, "ended")

    def _drop(self, request_id: str, reason: str) -> None:
        """Forget a copy that nobody needs any more, and count it, so that none goes without a word."""
        if self.ledger.drop(request_id):
            self._tell.fell_back(reason)

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
        self.turns.ran(*scheduled)
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
            self._tell.fell_back("overwritten", len(lost))

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
            self._tell.fell_back("reset_running")  # pressure never lets a victim run again in the same step
        elif table is None:
            self._tell.fell_back("resumable" if self._resumable(request_id) else "untracked")
        elif self._park(request_id, table.rows, table.computed):
            self._tell.enabled(request_id)

    def _park(self, request_id: str, rows: Rows, computed: int) -> bool:
        if self._resumable(request_id):
            self._tell.fell_back("resumable")
            return False
        if not self._may_save() or not self._let_restore(request_id, computed):
            return False
        hashes = None
        if self._hash_block_size is not None and (request := self._requests.get(request_id)) is not None:
            hashes = final_hashes(request, self.ledger.groups, self._hash_block_size, computed)
        parked = self.ledger.park(request_id, rows, computed, hashes)
        if parked.tokens == 0:
            self._tell.skipped(request_id, parked)
            return False
        self._tell.parked(request_id, parked)
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
        self._tell.fell_back("prompt_pass")
        return False

    # What the workers say

    def worker_output(self, output: Any) -> None:
        """Take in one KVConnectorOutput: reports, failed loads, ends of asynchronous loads."""
        report = output.kv_connector_worker_meta
        if isinstance(report, WorkerReport):
            self._answered = True
            self.ledger.limit(report.capacity)
            self._tell.workers(report.totals)
            lost = self.ledger.report(report.done, report.failed)
            if lost:
                self._tell.fell_back("save_failed", len(lost))
        if output.invalid_block_ids and (lost := self.ledger.distrust(set(output.invalid_block_ids))):
            self._tell.fell_back("save_failed", len(lost))
        for request_id in output.finished_recving or ():
            self.ledger.loaded(request_id)
            self.turns.over(request_id)

    def stats(self) -> OffloadStats | None:
        """Return counts and gauges, if there is anything new."""
        return self._tell.stats(self.ledger)
