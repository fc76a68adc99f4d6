"""The JSON contract of ``pd-launch logs`` (format version 1)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["healthy", "idle", "inactive", "fallbacks", "errors", "not_an_engine"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(_Model):
    """Something to change, with the rule that explains it where there is one."""

    code: str | None
    severity: Literal["error", "warning", "info"]
    message: str
    help: str
    line: int | None = None
    count: int = 1
    text: str = ""
    """What the log says, shortened and masked."""


class SchedulerReport(_Model):
    """Which scheduler the engine ended up with. ``name`` is None for vLLM's own."""

    name: str | None
    recompute: bool
    switched_on: bool


class ConnectorReport(_Model):
    """The offload connector. None: the log does not say."""

    created: bool
    name: str | None
    origin: Literal["bundled", "builtin"] | None
    configured: bool
    per_rank_bytes: int | None
    world_size: int | None
    blocks: int | None
    block_bytes: int | None
    blocks_used_most: int | None


class CountsReport(_Model):
    """Preempted requests and what became of them; ``parked_now`` were neither restored nor lost when the log ends."""

    preempted: int
    parked: int
    restored: int
    fallbacks: dict[str, int]
    handed_back: int
    aborted: int = 0
    """Requests that were ended without their answer."""
    parked_now: int
    engine_preemptions: int
    """Preemptions by the engine's own statistics, which not every log has."""


class RecomputedReport(_Model):
    """Tokens computed again: ``at_least`` those that are certain; ``at_most`` None where there is no upper bound."""

    at_least: int
    at_most: int | None
    requests_unknown: int


class MomentReport(_Model):
    """One line about a request."""

    line: int
    time: str
    event: str
    text: str


class RequestReport(_Model):
    """One request that was preempted."""

    id: str
    preemptions: int
    restored: int
    fallbacks: list[str]
    handed_back: bool
    aborted: bool = False
    moments: list[MomentReport]


class EngineReport(_Model):
    """One engine of a log. ``stream`` is the mark in front of its lines, where the log holds several engines."""

    file: str
    stream: str
    verdict: Verdict
    status: Literal[0, 1, 2]
    reason: str
    vllm: str | None = None
    role: str | None = None
    ascend: bool = False
    starts: int = 0
    first_line: int = 1
    scheduler: SchedulerReport | None = None
    connector: ConnectorReport | None = None
    counts: CountsReport | None = None
    recomputed: RecomputedReport | None = None
    problems: list[Problem] = Field(default_factory=list)
    benign: list[Problem] = Field(default_factory=list)
    requests: list[RequestReport] = Field(default_factory=list)
    requests_left_out: int = 0


class LogsReport(_Model):
    """What all files of a call say. ``status`` is the exit status."""

    format_version: Literal[1] = 1
    verdict: Verdict
    status: Literal[0, 1, 2]
    engines: list[EngineReport]
