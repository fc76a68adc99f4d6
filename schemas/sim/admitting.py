"""Who is admitted to a step, and with how many tokens."""

from __future__ import annotations

from pd_launch.schemas.sim.counted import NO_HITS, Hits
from pd_launch.schemas.sim.state import Step
from pd_launch.schemas.sim.undisturbed import Undisturbed
from pd_launch.schemas.sim.work import Request, Status


class Admitting(Undisturbed):
    """A scheduler that admits those who wait, as long as there is room."""

    def _admit(self, step: Step, budget: int, threshold: int) -> None:
        """Admit those who wait, as long as there is room."""
        most = self.engine.max_active_seqs or self.engine.max_num_seqs
        while budget > 0 and self.count < most:
            line = self.waiting.select()
            if line is None:
                return
            request = line.peek()
            if request.status is Status.LOADING and request not in self._loaded:
                self.waiting.skip(line)
                continue
            if request.status is Status.LOADING:
                self._arrive(request)
            if request.stale:
                self.waiting.skip(line)  # tokens of it are still to be delivered
                continue
            hits, local, external, beside = self._found(request)
            if external is None:
                self.waiting.skip(line)
                continue
            computed = request.computed + local + external
            pads = not beside and self._pads(step, request, computed)
            new = 0 if beside else self._first_tokens(request, computed, budget, threshold, pads)
            if new is None or not self._allocate(request, hits, local, external, new, beside):
                self._stuck = self._stays_stuck(beside) and new is not None
                return
            if self.parking is not None:
                self.parking.allocated(request, self.blocks.table(request, request.nulls), external, step.call)
            self._note(request, computed, local)
            request.computed = computed
            if beside:
                request.status = Status.LOADING
                self._prefilling[request] = None
                self.waiting.skip(line)
                continue
            line.pop()
            self._enter(step, request, new)
            if pads:
                step.drafted[request] = self._draft_tokens
                step.padded.add(request)
            budget -= new

    def _note(self, request: Request, computed: int, local: int) -> None:
        """Count what an admission finds, and what it computes again."""
        if request.computed:
            return
        if request.preempted:
            self.recomputed += request.lost - computed
            return
        request.hit = local
        if self.engine.receives is not None:
            self._arriving.append((self.calls - 2 + self.engine.receives, request))

    def _stays_stuck(self, beside: bool) -> bool:
        """Whether the head, which does not fit, cannot fit before blocks are freed.

        Its first tokens may fit in another step, where that has room for fewer of them; its whole length may not. What
        prefills take from an asynchronous restore shrinks by itself.
        """
        return self.engine.reserve_full and self.waiting.none_passed and not (beside and self._prefilling)

    def _arrive(self, request: Request) -> None:
        """A restore beside the steps is over."""
        self._loaded.discard(request)
        self.blocks.commit(request, request.computed)
        if request.computed == request.tokens:
            request.computed = request.tokens - 1
            self.recomputed += bool(request.preempted)
        request.status = Status.WAITING

    def _found(self, request: Request) -> tuple[Hits, int, int | None, bool]:
        """Return the cached blocks of a request, their tokens, those to restore, and whether beside the steps."""
        if request.computed:
            return NO_HITS, 0, 0, False
        hits, local, request.boundary = self.blocks.lookup(request)
        if self.engine.receives is not None and not request.preempted:
            return hits, local, request.tokens - local, True
        if self.parking is None:
            return hits, local, 0, False
        external, beside = self.parking.matched(request, local)
        return hits, local, external, beside

    def _pads(self, step: Step, request: Request, computed: int) -> bool:
        """Whether a request that comes in to decode gets drafts that only fill the step."""
        if not self._draft_tokens or request.tokens - computed != 1 or self._prefill_runs:
            return False
        alone = not self._some_run
        if not self.engine.rules.pads_lone:
            return not alone
        fits = computed + self._draft_tokens + 2 <= self.engine.max_model_len
        return fits and (not alone or computed > 0)

    def _first_tokens(self, request: Request, computed: int, budget: int, threshold: int, pads: bool) -> int | None:
        """Return the tokens to compute in the step of the admission; None where they may not be cut to fit."""
        new = request.tokens - computed
        if pads:
            new += self._draft_tokens
            longest = self.engine.max_model_len
            if new > budget or (not self.engine.rules.pads_lone and computed + new > longest):
                return None
        if 0 < threshold < new:
            new = threshold
        if new > budget and not self.engine.chunked_prefill:
            return None
        return min(new, budget)

    def _allocate(self, request: Request, hits: Hits, local: int, external: int, new: int, beside: bool) -> bool:
        reserved = self._reserved() if beside else 0
        ahead = 0 if beside else self._ahead
        spare = self.engine.watermark_blocks if self.count else 0
        if not self.blocks.admit(
            request,
            hits,
            local,
            external,
            new,
            spare=spare,
            reserved=reserved,
            full=self.engine.reserve_full,
            ahead=ahead,
        ):
            return False
        if self._caches and not beside:
            self.blocks.commit(request, min(request.computed + local + external + new, request.tokens))
        return True

    def _reserved(self) -> int:
        """Return the blocks that a restore beside the steps leaves to those who compute a prompt or are restored."""
        drafts = self._draft_tokens and self.engine.rules.reserves_drafts
        step = 1 + self._draft_tokens + self._ahead if drafts else 0
        own = sum(group.blocks(step) for group in self.engine.groups)
        return own + sum(self.blocks.remaining(other, step) for other in self._prefilling)

    def _enter(self, step: Step, request: Request, new: int) -> None:
        """Let an admitted request run."""
        self.running.append(request)
        request.status = Status.RUNNING
        request.seen_nulls = list(request.nulls)
        step.tokens[request] = new
        if request.computed + new < request.tokens:
            self._prefilling[request] = None
