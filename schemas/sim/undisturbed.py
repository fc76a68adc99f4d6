"""Requests that decode undisturbed, summed up: their steps need not be gone through one by one."""

from __future__ import annotations

from pd_launch.schemas.sim.preempting import Preempting
from pd_launch.schemas.sim.state import Step


class Undisturbed(Preempting):
    """A scheduler that sums up those in front who only decode, until something disturbs them."""

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
                # The step under way brings it a token, before those after it.
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

    def _calm_down(self) -> None:
        """Sum up those who decode undisturbed from now on: as many as are in front."""
        running, calm, blocks = self.running, self._calm, self.blocks
        count = 0
        while count < len(running) and calm.fits(running[count]) and blocks.is_known(running[count]):
            calm.join(running[count])
            count += 1
        if count:
            del running[:count]
