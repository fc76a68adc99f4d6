"""vLLM's V1 scheduler: who computes how many tokens in a step, who is preempted, and who is admitted.

One call of :meth:`Scheduler.schedule` is one step. :meth:`Scheduler.update` takes in what the model gave for it; with
asynchronous scheduling one more step is scheduled before that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pd_launch.schemas.sim.calm import Calm
from pd_launch.schemas.sim.counted import NO_HITS, CountedBlocks, Hits
from pd_launch.schemas.sim.hashed import HashedBlocks
from pd_launch.schemas.sim.parking import Parking
from pd_launch.schemas.sim.queues import Waiting
from pd_launch.schemas.sim.shape import Engine, Offload
from pd_launch.schemas.sim.work import Request, Status


@dataclass
class Step:
    """What one call scheduled.

    Attributes:
        call: number of the call, from 0.
        tokens: scheduled tokens of each request, in the engine's order.
        sampled: those of the requests that get a token of it.
        preempted: the victims, in their order, those that are handed back included.
        drafted: how many of the scheduled tokens of a request are drafts.
        padded: those whose drafts only fill the step: none of them is right.
        returning: those that come again, as the proxy sends them once it has the step's answers.
        total: all scheduled tokens, those of undisturbed requests included.
    """

    call: int
    tokens: dict[Request, int] = field(default_factory=dict)
    sampled: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)
    drafted: dict[Request, int] = field(default_factory=dict)
    padded: set[Request] = field(default_factory=set)
    returning: list[Request] = field(default_factory=list)
    total: int = 0


class Scheduler:
    """One engine's scheduler.

    Args:
        engine: its limits.
        offload: the connector beside it; None for none.
        exact: go through every request in every step, as vLLM does; else those that decode undisturbed are summed up,
            which gives the same.
    """

    def __init__(self, engine: Engine, offload: Offload | None = None, exact: bool = False) -> None:
        self.engine = engine
        self.blocks: CountedBlocks = HashedBlocks(engine) if engine.prefix_caching else CountedBlocks(engine)
        self._drafts = engine.drafts
        self._draft_tokens = engine.drafts.tokens if engine.drafts is not None else 0
        self._ahead = engine.drafts.lookahead if engine.drafts is not None else 0
        self.parking = Parking(engine.groups, offload, self._draft_tokens) if offload is not None else None
        self._keeps = offload is not None and not offload.whole
        self.waiting = Waiting(engine.priority, engine.rules.holding_first)
        self.running: list[Request] = []
        self.calls = 0
        self.preemptions = 0
        self.recomputed = 0  # tokens that were computed before and are again
        self.handed_back = 0
        self.handed_tokens = 0  # tokens of those handed back, which a prefill node computes again
        self.drafted = self.accepted = 0
        self._prefill_runs = False  # a request that computes its prompt is in this step
        self._some_run = False  # a request that ran before is in this step
        self._begun: list[Request] = []  # those that have their first token since it was asked last
        self._caches = engine.prefix_caching
        self.on_finish: Callable[[Request], None] = _ignore
        self._prefilling: dict[Request, None] = {}  # admitted, and not through the prompt
        self._loaded: set[Request] = set()
        self._arriving: list[tuple[int, Request]] = []  # the call with which the KV of a prompt is there
        # A connector may fill freed blocks at once, so blocks that a step under way writes are freed after it.
        self._defers = offload is not None and engine.asynchronous and engine.rules.defers_frees
        self._scheduled_steps = 0
        self._processed_steps = 0
        self._deferred: deque[tuple[int, list[int]]] = deque()
        self._calm = Calm([group.block_size for group in engine.groups], engine.asynchronous)
        self._sums_up = not exact and engine.drafts is None and all(group.window is None for group in engine.groups)
        self._squeezes = not (
            engine.priority or engine.hands_back or self._defers or (engine.prefix_caching and len(engine.groups) > 1)
        )
        self._under_way: Step | None = None  # the last step, while its tokens are not there
        self._stuck = False  # the next to be admitted does not fit, and nothing was freed since
        self._parked_now: list[tuple[Request, list[list[int]], int]] = []

    def add(self, request: Request) -> None:
        """Take in a request."""
        self.waiting.entered.add(request)
        self._stuck &= not self.engine.priority

    @property
    def count(self) -> int:
        """How many run."""
        return len(self._calm) + len(self.running)

    @property
    def is_idle(self) -> bool:
        """Whether nobody runs or waits."""
        return not self.running and not len(self._calm) and not len(self.waiting)

    @property
    def is_jammed(self) -> bool:
        """Whether those who wait wait for nothing: nobody runs, and nothing is under way."""
        busy = self.parking is not None and self.parking.is_busy
        return (
            not self.count
            and bool(len(self.waiting))
            and not busy
            and not self._deferred
            and not self._loaded
            and not self._arriving
        )

    # Scheduling

    def schedule(self) -> Step:
        """Schedule the next step."""
        step = Step(self.calls)
        self.calls += 1
        self._stuck &= not self.running  # those who compute prompts may make what is looked for known
        threshold = self._threshold()
        budget = self.engine.max_num_batched_tokens
        if len(self._calm):
            budget -= self._run_calm(step, budget)
        budget = self._run(step, budget, threshold)
        self._some_run = bool(step.tokens) or step.total > 0
        if not step.preempted and not self._stuck:
            self._admit(step, budget, threshold)
            self.waiting.end_step()
        self._settle(step)
        self._under_way = step
        return step

    def _run_calm(self, step: Step, budget: int) -> int:
        """Schedule the undisturbed ones at once; returns their tokens. Where that may not do, they are let go."""
        count, need = self._calm.begin()
        short = need > self.blocks.free
        if count > budget or (self.engine.priority and self.running) or (short and not self._squeezes):
            self._wake()
            return 0
        if short:
            count, need = self._squeeze(step, count, need)
        if need:
            self.blocks.take(need)
        self._calm.round += 1
        step.total = count
        return count

    def _squeeze(self, step: Step, count: int, need: int) -> tuple[int, int]:
        """Preempt the last ones until the others have room; returns how many get a token, and the blocks they lack.

        Those in front have what was free before the last one has to go, so that goes first.
        """
        calm = self._calm
        while need > self.blocks.free:
            need -= self.blocks.free
            self.blocks.take(self.blocks.free)
            if self.running:
                self._preempt(self.running.pop(), step)
                continue
            before = calm.need()
            victim, counted = calm.drop_last()
            need -= before - calm.need()
            count -= counted
            self.blocks.catch_up(victim, victim.computed - self.engine.asynchronous)
            if self.engine.asynchronous and self._under_way is not None:
                # The step under way brings it a token, before those behind it.
                under_way = self._under_way
                under_way.tokens = {victim: 1, **{r: n for r, n in under_way.tokens.items() if r is not victim}}
                under_way.sampled = [victim, *(r for r in under_way.sampled if r is not victim)]
            self._preempt(victim, step)
        return count, need

    def _wake(self) -> None:
        """Look at every request again."""
        self._stuck = False
        woken = list(self._calm.wake())
        for request in woken:
            self.blocks.catch_up(request, request.computed - self.engine.asynchronous)
            request.step = self._scheduled_steps
        self.running = woken + self.running
        if self.engine.asynchronous and self._under_way is not None:
            step = self._under_way
            # The step under way brings a token to each of them.
            known = step.tokens
            step.tokens = {request: known.get(request, 1) for request in woken}
            step.tokens.update(known)
            step.sampled = [*woken, *(request for request in step.sampled if request not in set(woken))]

    def skip(self, most: int) -> tuple[int, int]:
        """Go through up to ``most`` steps in which nobody comes, ends, waits for room or lacks it.

        Returns how many, and the tokens of each.
        """
        calm = self._calm
        count = len(calm)
        if not count or self.running or count > self.engine.max_num_batched_tokens or not self._nobody_enters():
            return 0, 0
        step = self._under_way
        if self.engine.asynchronous and (step is None or any(r not in calm.members for r in step.tokens)):
            return 0, 0
        if self._arriving or self._loaded or (self.parking is not None and self.parking.is_busy):
            return 0, 0
        steps, blocks = 0, self.blocks
        while steps < most and calm.is_quiet():
            need = calm.need()
            if need:
                if need > blocks.free:
                    break
                blocks.take(need)
            calm.round += 1
            steps += 1
        self.calls += steps
        if steps and self.engine.asynchronous and step is not None:
            step.call, step.tokens, step.sampled, step.total = self.calls - 1, {}, [], count
        if self._defers:
            self._scheduled_steps += steps
            self._processed_steps += steps
        return steps, count

    def _nobody_enters(self) -> bool:
        most = self.engine.max_active_seqs or self.engine.max_num_seqs
        full = self.count >= most or self.count >= self.engine.max_num_batched_tokens
        return full or self._stuck or not len(self.waiting)

    def _threshold(self) -> int:
        """Return the most tokens of a long prompt in this step; 0 for no limit."""
        engine, threshold = self.engine, self.engine.long_prefill
        if not threshold:
            return 0
        eligible = self.count + len(self.waiting)
        if engine.rules.lone_unlimited and eligible <= 1:
            return 0
        if engine.adaptive_long_prefill:
            threshold = max(threshold, engine.max_num_batched_tokens // max(1, eligible))
        return threshold

    def _run(self, step: Step, budget: int, threshold: int) -> int:
        """Schedule those who run; returns the tokens that are left."""
        running, scheduled, grow, ahead = self.running, step.tokens, self.blocks.grow, self._ahead
        self._prefill_runs = False
        longest = self.engine.max_model_len - 1
        i = 0
        while i < len(running) and budget > 0:
            request = running[i]
            placeholders = request.placeholders
            if placeholders and request.computed + 2 - placeholders >= request.end:
                i += 1  # the step under way brings its last token
                continue
            new = request.tokens + request.drafts + placeholders - request.computed
            if 0 < threshold < new:
                new = threshold
            new = min(new, budget, longest - request.computed)
            if new <= 0:
                i += 1
                continue
            room = True
            while not grow(request, new, ahead):
                victim = self._victim()
                if self.engine.rules.victims_wait and not self._can_free(victim):
                    room = False
                    break
                at = self._remove_victim(victim, step)
                returned = scheduled.pop(victim, 0)
                step.drafted.pop(victim, None)
                budget += returned
                if self.engine.rules.victims_wait:
                    i -= at < i
                else:
                    i -= returned > 0
                self._preempt(victim, step)
                if victim is request:
                    room = False
                    break
            if room:
                if self._caches:
                    self.blocks.commit(request, min(request.computed + new, request.tokens))
                scheduled[request] = new
                budget -= new
                self._prefill_runs |= request.is_prefill
                if request.drafts:
                    self._schedule_drafts(step, request, new)
                i += 1
            elif not (self._goes_on and request.status is Status.WAITING):
                break
        return budget

    @property
    def _goes_on(self) -> bool:
        return self.engine.priority and self.engine.rules.self_preempted_goes_on

    def _victim(self) -> Request:
        if self.engine.priority:
            return max(self.running, key=_by_order)
        return self.running[-1]

    def _remove_victim(self, victim: Request, step: Step) -> int:
        """Take a victim out of those who run; returns its place."""
        if not self.engine.priority:
            self.running.pop()
            return len(self.running)
        at = self.running.index(victim)
        del self.running[at]
        return at

    def _can_free(self, request: Request) -> bool:
        """Whether no step under way writes the request's blocks."""
        return not self._defers or request.step <= self._processed_steps

    @staticmethod
    def _schedule_drafts(step: Step, request: Request, new: int) -> None:
        drafted = min(request.drafts, new + request.computed - request.tokens - request.placeholders)
        if drafted > 0:
            step.drafted[request] = drafted
        request.drafts = 0

    def _preempt(self, victim: Request, step: Step) -> None:
        step.preempted.append(victim)
        self.preemptions += 1
        self._stuck = False
        if self.engine.hands_back and not self._is_saved(victim):
            step.returning.append(self._handed_back(victim))
            return
        if self.parking is not None and not self.engine.hands_back:
            # What the connector saw: the table as of the admission, lengthened since.
            table = self.blocks.table(victim, victim.seen_nulls)
            told = victim.computed if self._drafts is None else victim.tracked
            self._parked_now.append((victim, table, told))
        self._free(victim)
        self._prefilling.pop(victim, None)
        victim.status = Status.WAITING
        victim.lost = victim.computed - max(0, victim.placeholders - 1)  # without drafts that are not proved
        victim.computed = 0
        victim.stale = victim.in_flight
        victim.placeholders = 0
        victim.drafts = 0
        victim.preempted += 1
        self.waiting.entered.put_back(victim)

    def _is_saved(self, victim: Request) -> bool:
        """Ask the connector's hook, which sees a victim's table before it is freed; whether the victim stays."""
        if self.parking is None:
            return False
        saved = self.parking.preempted(victim, self.blocks.table(victim, victim.nulls), victim.computed)
        return saved or self._keeps

    def _handed_back(self, victim: Request) -> Request:
        """End a victim; returns it as the proxy sends it again, with what was generated as part of its prompt."""
        self._prefilling.pop(victim, None)
        victim.status = Status.FINISHED
        victim.handed += 1
        if self.parking is not None:
            self.parking.finished(victim)
        self._free(victim)
        self.handed_back += 1
        self.handed_tokens += victim.computed
        again = victim.again()
        if self.engine.receives is None:
            again.preempted, again.lost = victim.preempted + 1, victim.computed
        return again

    def _free(self, request: Request) -> None:
        if self._can_free(request):
            self.blocks.drop(request)
        else:
            self._deferred.append((self._scheduled_steps, self.blocks.held(request)))

    # Admission

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
        reserved = sum(self.blocks.remaining(other) for other in self._prefilling) if beside else 0
        if beside and self._draft_tokens and self.engine.rules.reserves_drafts:
            reserved += sum(group.blocks(1 + self._draft_tokens + self._ahead) for group in self.engine.groups)
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

    def _enter(self, step: Step, request: Request, new: int) -> None:
        """Let an admitted request run."""
        self.running.append(request)
        request.status = Status.RUNNING
        request.seen_nulls = list(request.nulls)
        step.tokens[request] = new
        if request.computed + new < request.tokens:
            self._prefilling[request] = None

    # After scheduling

    def _settle(self, step: Step) -> None:
        """Count what is scheduled as computed, and let the connector plan its copies."""
        step.total += sum(step.tokens.values())
        if self.parking is not None:
            for victim, table, computed in self._parked_now:
                self.parking.preempted(victim, table, computed)
            self._parked_now.clear()
            self.parking.advance(step.call)
        if self._defers and step.total:
            self._scheduled_steps += 1
        asynchronous = self.engine.asynchronous
        for request, new in step.tokens.items():
            request.computed += new
            request.tracked = request.computed
            request.in_flight += new
            request.step = self._scheduled_steps
            if request.computed < request.tokens + request.placeholders:
                request.is_prefill = True
                continue
            request.is_prefill = False
            step.sampled.append(request)
            if asynchronous:
                request.placeholders += 1 + step.drafted.get(request, 0)
                request.drafts = self._draft_tokens
            if self._prefilling:
                self._prefilling.pop(request, None)

    # Results

    def update(self, step: Step) -> list[Request]:
        """Take in the tokens of a step; returns the requests that it finished."""
        if self._defers and step.total:
            self._processed_steps += 1
            while self._deferred and self._deferred[0][0] <= self._processed_steps:
                self.blocks.release(self._deferred.popleft()[1])
                self._stuck = False
        for request in step.returning:
            self.add(request)
        done = self._calm.end()
        for request in done:
            self.blocks.catch_up(request, request.computed)
            request.step = self._processed_steps
            self._finish(request)
        ended = self._deliver(step)
        if ended:
            gone = set(ended)
            self.running = [request for request in self.running if request not in gone]
        if self.parking is not None and (loaded := self.parking.over(step.call)):
            self._loaded.update(loaded)
            self._stuck = False
        if self._arriving:
            self._loaded.update(request for end, request in self._arriving if end <= step.call)
            self._arriving = [(end, request) for end, request in self._arriving if end > step.call]
            self._stuck = False
        if self._sums_up:
            self._calm_down()
        return done + ended if ended else done

    def take_begun(self) -> list[Request]:
        """Return those that have their first token since this was asked last."""
        begun, self._begun = self._begun, []
        return begun

    def _calm_down(self) -> None:
        """Sum up those who decode undisturbed from now on: as many as stand in front."""
        running, calm, blocks = self.running, self._calm, self.blocks
        count = 0
        while count < len(running) and calm.fits(running[count]) and blocks.is_known(running[count]):
            calm.join(running[count])
            count += 1
        if count:
            del running[:count]

    def _deliver(self, step: Step) -> list[Request]:
        sampled, done, calm = set(step.sampled), [], self._calm.members
        for request, new in step.tokens.items():
            if request in calm:
                continue  # counted there
            request.in_flight -= new
            stale = request.stale > 0
            if stale:
                request.stale -= new
            if request not in sampled or request.status is Status.FINISHED:
                continue
            if request.tokens == request.job.prompt:
                self._begun.append(request)
            got = 1 if self._drafts is None else self._prove(step, request, stale)
            request.tokens += got
            if self.engine.asynchronous:
                if not stale:
                    request.placeholders -= got
                if self._caches and request.status is Status.RUNNING:
                    self.blocks.commit(request, request.computed - request.placeholders)
            if request.tokens >= request.end:
                done.append(request)
                self._finish(request)
        return done

    def _prove(self, step: Step, request: Request, stale: bool) -> int:
        """Return the tokens that a step gives a request: its own, and the drafts that are right."""
        assert self._drafts is not None
        drafted = step.drafted.get(request, 0)
        right = 0 if request in step.padded else self._drafts.accepted(request.number, request.tokens, drafted)
        if not stale:
            if request.computed:
                request.computed -= drafted - right
            if request.placeholders:
                request.placeholders -= drafted - right
            if not self.engine.asynchronous:
                request.drafts = self._draft_tokens
        got = min(1 + right, request.end - request.tokens)
        self.drafted += drafted
        self.accepted += got - 1
        return got

    def _finish(self, request: Request) -> None:
        self._stuck = False
        self._prefilling.pop(request, None)
        if request.status is not Status.RUNNING:
            self.waiting.remove(request)
        request.status = Status.FINISHED
        if self.parking is not None:
            self.blocks.leave(request, max(0, request.computed - request.in_flight))
            self.parking.finished(request)
        self._free(request)
        self.on_finish(request)


def _by_order(request: Request) -> tuple[int, int]:
    return request.order


def _ignore(request: Request) -> None:
    return None
