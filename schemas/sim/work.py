"""Requests as they come, and what a scheduler knows of one while it lives."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum

from pd_launch.schemas.core.record import dataclass

LATER = 1 << 40
Content = tuple[object, int]
"""The content of a prefix: who wrote it, and its length in tokens."""


@dataclass(frozen=True)
class Job:
    """One request.

    Attributes:
        arrival: seconds, or a number of steps where the run counts in steps.
        prompt: tokens of the prompt, at least 1.
        output: tokens that it generates, at least 1.
        priority: lower is served first, where the policy looks at it.
        prefix: what the prompt begins with, in chunks of ``chunk`` tokens; equal chunks at equal places, with equal
            ones before them, are equal text.
        chunk: tokens of each of those chunks.
    """

    arrival: float
    prompt: int
    output: int
    priority: int = 0
    prefix: tuple[object, ...] = ()
    chunk: int = 0

    @property
    def shared(self) -> int:
        """Tokens at the start that others may have too."""
        return min(len(self.prefix) * self.chunk, self.prompt)


class Status(IntEnum):
    """Where a request is."""

    WAITING = 0
    LOADING = 1
    RUNNING = 2
    FINISHED = 3
    HANDED_BACK = 4


class Request:
    """A request in the scheduler. ``computed`` counts tokens that are scheduled too, as vLLM counts them."""

    __slots__ = (
        "blocks",
        "boundary",
        "cached",
        "computed",
        "drafts",
        "end",
        "finished",
        "first",
        "handed",
        "hit",
        "in_flight",
        "is_prefill",
        "job",
        "key",
        "lost",
        "nulls",
        "number",
        "order",
        "origin",
        "placeholders",
        "preempted",
        "rows",
        "seen_nulls",
        "stale",
        "start",
        "status",
        "step",
        "tokens",
        "tracked",
    )

    def __init__(self, number: int, job: Job, groups: int, order: int) -> None:
        self.number = number
        self.key = str(number)
        self.job = job
        self.order = (job.priority, order)
        self.tokens = job.prompt
        self.end = job.prompt + job.output
        self.computed = 0
        self.origin = job  # what was asked for first, where it comes again
        self.handed = 0  # how often it was handed back
        self.placeholders = 0  # tokens that steps under way will deliver
        self.drafts = 0  # tokens drafted for its next step
        self.tracked = 0  # computed tokens as of its last step, drafts included that were wrong
        self.in_flight = 0
        self.lost = 0  # tokens that were computed when it was preempted last
        self.stale = 0
        self.status = Status.WAITING
        self.is_prefill = False
        self.preempted = 0
        self.hit = 0  # tokens found in the prefix cache when it was admitted first
        self.step = 0  # the last non-empty step that it was scheduled in
        self.boundary = 0  # where other groups found a longer prefix than this admission could use
        self.rows = [0] * groups  # blocks in each group's table, null ones included
        self.nulls = [0] * groups  # leading null blocks
        self.seen_nulls = [0] * groups  # those a connector saw at the admission
        self.blocks: list[list[Block | None]] = []  # the same tables with prefix caching
        self.cached: list[int] = []  # positions of each table that were offered to the prefix cache
        self.start = 0.0  # when it arrived
        self.first = -1.0  # when its first token was there
        self.finished = -1.0

    def again(self) -> Request:
        """Return the request as a proxy sends it once more: what was generated belongs to its prompt."""
        job = replace(self.job, prompt=self.tokens, output=self.end - self.tokens)
        out = Request(self.number, job, len(self.rows), self.order[1] + LATER)
        out.origin, out.handed, out.hit = self.origin, self.handed, self.hit
        out.start, out.first = self.start, self.first
        return out

    def content(self, tokens: int) -> Content:
        """Return what the first ``tokens`` of it are."""
        job = self.job
        if tokens <= job.shared:
            return job.prefix[(tokens - 1) // job.chunk], tokens
        return self, tokens


class Block:
    """A device block with a place in the prefix cache."""

    __slots__ = ("key", "refs")

    def __init__(self) -> None:
        self.key: tuple[int, Content] | None = None
        self.refs = 1
