"""Who has to go where room is lacking, and what becomes of it."""

from __future__ import annotations

from pd_launch.schemas.sim.state import State, Step
from pd_launch.schemas.sim.work import Request, Status


class Preempting(State):
    """A scheduler that preempts: victims wait to come again, or are handed back to the proxy."""

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

    def _preempt(self, victim: Request, step: Step) -> None:
        step.preempted.append(victim)
        self.preemptions += 1
        self._stuck = False
        if self.engine.hands_back and not self._is_saved(victim):
            self._hand_back(victim)
            step.returning.append(victim)
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

    def _hand_back(self, victim: Request) -> None:
        """End a victim. With asynchronous scheduling the step under way still brings a token of it."""
        self._prefilling.pop(victim, None)
        victim.status = Status.HANDED_BACK
        victim.lost = victim.computed
        victim.handed += 1
        if self.parking is not None:
            self.parking.finished(victim)
        self._free(victim)

    def _come_again(self, victim: Request) -> None:
        """Take a victim in as the proxy sends it again, with what was generated as part of its prompt."""
        if victim.status is Status.FINISHED:
            return  # the step that was under way brought its last token
        self.handed_back += 1
        self.handed_tokens += victim.lost
        again = victim.again()
        if self.engine.receives is None:
            again.preempted, again.lost = victim.preempted + 1, victim.lost
        victim.status = Status.FINISHED
        self.add(again)


def _by_order(request: Request) -> tuple[int, int]:
    return request.order
