"""vLLM's V1 scheduler: who computes how many tokens in a step, who is preempted, and who is admitted.

One call of :meth:`Scheduler.schedule` is one step. :meth:`Scheduler.update` takes in what the model gave for it; with
asynchronous scheduling one more step is scheduled before that.
"""

from __future__ import annotations

from pd_launch.schemas.sim.delivering import Delivering
from pd_launch.schemas.sim.state import Step
from pd_launch.schemas.sim.work import Request, Status


class Scheduler(Delivering):
    """One engine's scheduler: a step is scheduled here; :class:`~pd_launch.schemas.sim.state.State` has the arguments.

    What it consists of is in files of its own, each built on the one before: state, preempting, undisturbed, admitting,
    delivering.
    """

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

    @staticmethod
    def _schedule_drafts(step: Step, request: Request, new: int) -> None:
        drafted = min(request.drafts, new + request.computed - request.tokens - request.placeholders)
        if drafted > 0:
            step.drafted[request] = drafted
        request.drafts = 0

    def _settle(self, step: Step) -> None:
        """Count what is scheduled as computed, and let the connector plan its copies."""
        step.total += sum(step.tokens.values())
        if self.parking is not None:
            for victim, table, computed in self._parked_now:
                self.parking.preempted(victim, table, computed)
            self._parked_now.clear()
            self.parking.advance(step.call, step.tokens)
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
