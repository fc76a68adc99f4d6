"""The JSON contract of ``pd-launch status`` (format version 1). What an engine does not tell is null."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pd_launch.schemas.logs import Problem, Verdict

Role = Literal["decode", "prefill", "unknown"]
Answer = Literal["answers", "no_answer", "not_an_engine"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Counts(_Model):
    """What was counted since the engine's start, or between two readings. ``preempted`` counts events."""

    preempted: int | None = None
    parked: int | None = None
    restored: int | None = None
    fallbacks: dict[str, int] = Field(default_factory=dict, description="Not saved and restored in full, by reason")
    unneeded: dict[str, int] = Field(
        default_factory=dict, description="Copies that nobody needed, and what a reset dropped, by reason"
    )
    handed_back: int | None = Field(
        default=None, description="Ended with stop_reason recomputed; no release exports it"
    )
    recomputed_tokens: int | None = Field(default=None, description="Tokens computed again; no release exports it")
    saved_bytes: int | None = None
    restored_bytes: int | None = None
    prompt_tokens: int | None = None
    generated_tokens: int | None = None
    finished: dict[str, int] = Field(default_factory=dict, description="Requests that ended, by reason")


class Now(_Model):
    """What holds at the reading."""

    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = Field(default=None, description="Share of the device's KV cache in use, 0 to 1")
    pool_used: int | None = Field(default=None, description="Host blocks in use")
    pool_total: int | None = None
    oldest_parked_seconds: float | None = None
    parked: int | None = Field(
        default=None, description="Copies that are neither restored nor lost nor unneeded so far"
    )


class Transfer(_Model):
    """What one connector moved between nodes, or to and from a store; null where it does not count that."""

    name: str
    done: int | None = None
    bytes: int | None = None
    failed: int | None = None
    expired: int | None = None
    p50_seconds: float | None = None
    p99_seconds: float | None = None


class Store(_Model):
    """Another offload of KV: it keeps prompts and gives no verdict. Values by the names of its series."""

    name: str
    values: dict[str, float]


class Spread(_Model):
    """A histogram in two numbers, interpolated within its buckets; ``since`` says over which time."""

    count: int
    p50: float | None
    p99: float | None
    since: Literal["start", "last"]


class Rank(_Model):
    """One data-parallel engine at the address."""

    rank: str
    totals: Counts
    now: Now


class Difference(_Model):
    """What runs otherwise than the profile says."""

    what: str
    profile: str
    running: str


class EngineStatus(_Model):
    """One address. ``totals`` since its start, ``last`` since the reading before, of all its ranks together."""

    url: str
    name: str
    role: Role = "unknown"
    role_from: Literal["profile", "series", "unknown"] = "unknown"
    answer: Answer
    error: str = ""
    health: bool | None = None
    version: str | None = None
    verdict: Verdict | None = Field(
        default=None, description="null where the engine has no offload connector that it shows"
    )
    status: Literal[0, 1, 2] = 0
    reason: str = ""
    restarted: bool = False
    totals: Counts | None = None
    last: Counts | None = None
    seconds: float | None = Field(
        default=None, description="Over which last was counted: since the reading before of this engine"
    )
    now: Now | None = None
    transfers: list[Transfer] = Field(default_factory=list)
    stores: list[Store] = Field(default_factory=list)
    latencies: dict[str, Spread] = Field(default_factory=dict, description="ttft, itl, queue, e2e: seconds")
    ranks: list[Rank] = Field(default_factory=list)
    cache: dict[str, str] = Field(default_factory=dict, description="What the engine says of its KV cache")
    problems: list[Problem] = Field(default_factory=list)
    differences: list[Difference] = Field(default_factory=list)


class StatusReport(_Model):
    """One reading of all engines. ``status`` is the exit status."""

    format_version: Literal[1] = 1
    verdict: Verdict | None
    status: Literal[0, 1, 2]
    time: float = Field(description="Unix time of the reading")
    seconds: float | None = Field(default=None, description="Since the reading before")
    profile: str | None = None
    engines: list[EngineStatus]
