"""The JSON contract of ``pd-launch simulate`` (format version 1)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class GroupReport(_Model):
    """A KV cache group: tokens of a block, and of the attention window (None: full attention)."""

    block_size: int
    window: int | None


class EngineReport(_Model):
    """The engine that was played. ``blocks`` is its num_gpu_blocks, the null block included."""

    blocks: int
    block_size: int
    groups: list[GroupReport]
    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int | None
    prefix_caching: bool
    policy: Literal["fcfs", "priority"]
    async_scheduling: bool
    watermark: float
    draft_tokens: int = 0
    hands_back: bool = False
    """Whether a victim that nothing saved ends here and comes again through the proxy."""
    block_bytes: int | None
    """Bytes of a block on one rank; None: unknown, and then all bytes are."""
    data_parallel: int
    router: str | None


class WorkloadReport(_Model):
    """The requests. Tokens are sums over all of them."""

    what: str
    requests: int
    prompt_tokens: int
    output_tokens: int
    concurrency: int | None


class Spread(_Model):
    """The median and the 99th percentile, in seconds."""

    p50: float
    p99: float


class TimeReport(_Model):
    """Seconds, where the time of a step is known. ``ttft`` is to the first token, ``itl`` between further ones."""

    seconds: float
    tokens_per_second: float
    ttft: Spread | None
    itl: Spread | None


class RunReport(_Model):
    """One run.

    ``steps`` are those that computed something; ``preempted`` counts events, ``preempted_requests`` those hit at least
    once; ``recomputed`` are tokens whose KV had been computed before; ``cached`` were found in the prefix cache when a
    request was admitted first. ``handed_back`` are preemptions that ended a request here, which a proxy sends again;
    they count in ``preempted`` too, and a prefill node computes ``handed_back_tokens`` again. ``accepted`` of the
    ``drafted`` tokens were right.
    """

    steps: int
    tokens: int
    preempted: int
    preempted_requests: int
    recomputed: int
    handed_back: int = 0
    handed_back_tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    cached: int
    finished: int
    peak_running: int
    time: TimeReport | None


class OffloadReport(RunReport):
    """One run with the offload. Budgets, blocks and bytes are those of one rank."""

    budget: str
    budget_blocks: int
    budget_bytes: int | None
    parked: int
    restored: int
    fallbacks: dict[str, int]
    peak_parked_blocks: int
    peak_parked_bytes: int | None
    peak_parked_requests: int


class OtherReport(RunReport):
    """A run without offload under another setting."""

    setting: str


class StepTimeReport(_Model):
    """Seconds of a step: ``base``, and ``per_token`` for each scheduled token. ``missed``: the fit's median error."""

    base: float
    per_token: float
    source: Literal["given", "log"]
    missed: float | None


class ChoiceReport(_Model):
    """One row of ``--over``."""

    choice: str
    error: str | None = None
    without: RunReport | None = None
    least_budget_blocks: int | None = None
    least_budget_bytes: int | None = None


class Simulation(_Model):
    """What a workload does to an engine."""

    format_version: Literal[1] = 1
    target: str
    seed: int
    engine: EngineReport
    workload: WorkloadReport
    step_time: StepTimeReport | None
    without: RunReport
    with_: list[OffloadReport] = Field(alias="with")
    """The first is with a budget that is just enough, then one for each budget asked for."""
    least_budget_blocks: int | None
    least_budget_bytes: int | None
    """The least budget per rank with which nothing falls back."""
    p99_budget_blocks: int | None
    p99_budget_bytes: int | None
    """What was in use after at most 99 of 100 saves."""
    instead: list[OtherReport]
    over: str | None
    choices: list[ChoiceReport]
    assumed: list[str]
    not_modelled: list[str]
    complete: bool
    """Whether all was played; False after an interruption."""
