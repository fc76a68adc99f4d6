"""What the model gave for a step: tokens, drafts that are right, requests that end."""

from __future__ import annotations

from pd_launch.schemas.sim.admitting import Admitting
from pd_launch.schemas.sim.state import Step
from pd_launch.schemas.sim.work import Request, Status


class Delivering(Admitting):
    """A scheduler that takes in the results of a step."""

    def update(self, step: Step) -> list[Request]:
        """Take in the tokens of a step; returns the requests that it finished."""
        if self._defers and step.total:
            self._processed_steps += 1
            while self._deferred and self._deferred[0][0] <= self._processed_steps:
                self.blocks.release(self._deferred.popleft()[1])
                self._stuck = False
        for victim in step.returning:
            self._come_again(victim)
        self.answered += len(self._calm)
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
            self.answered += got
            if self.engine.asynchronous and not stale:
                request.placeholders -= got
            if self._caches_proved and request.status is Status.RUNNING:
                ahead = request.in_flight if self.engine.rules.settles_drafts else request.placeholders
                self.blocks.commit(request, request.computed - ahead)
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
        if self.engine.rules.settles_drafts and not stale:
            request.computed -= 1 + right - got  # right, but after the end
        self.drafted += drafted
        self.accepted += got - 1
        return got

    def _finish(self, request: Request) -> None:
        self._stuck = False
        self._prefilling.pop(request, None)
        if request.status not in (Status.RUNNING, Status.HANDED_BACK):
            self.waiting.remove(request)
        request.status = Status.FINISHED
        if self.parking is not None:
            self.blocks.leave(request, max(0, request.computed - request.in_flight))
            self.parking.finished(request)
        self._free(request)
        self.on_finish(request)
