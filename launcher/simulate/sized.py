"""What a call gives of an engine, what was found of it, and how the answer shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.stepping import (
    DEFERS_FREES,
    HOLDING_FIRST,
    LONE_UNLIMITED,
    PADS_LONE,
    RESERVES_DRAFTS,
    SELF_PREEMPTED_GOES_ON,
    SETTLES_DRAFTS,
    VICTIMS_WAIT,
)
from pd_launch.schemas.sim.shape import Engine, Rules


@dataclass(frozen=True)
class Given:
    """Options of the call; None: not given. ``memory`` is the KV cache of one rank, in bytes."""

    blocks: int | None = None
    memory: int | None = None
    block_size: int | None = None
    bytes_per_block: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    max_model_len: int | None = None
    long_prefill_token_threshold: int | None = None
    watermark: float | None = None
    priority: bool | None = None
    prefix_caching: bool | None = None
    async_scheduling: bool | None = None
    arrival_steps: int | None = None
    draft_tokens: int | None = None
    acceptance: float | None = None
    seed: int = 1


@dataclass
class Sized:
    """The engine, and how far it is known.

    Attributes:
        engine: what is played.
        target: the release.
        block_bytes: bytes of a block on one rank; None: unknown.
        budget: host bytes per rank that the launch asks for; None: no offload there, or unknown.
        share: whether parked requests share host blocks.
        async_from: host blocks from which on a restore runs beside the others' steps; None: no restore does.
        whole: the launch names vllm-ascend's own connector, which saves a victim whole or not at all.
        assumed: values that nothing says.
        not_modelled: what of the input is not played.
    """

    engine: Engine
    target: Target
    block_bytes: int | None
    budget: int | None = None
    share: bool = False
    async_from: int | None = None
    whole: bool = False
    assumed: list[Msg] = field(default_factory=list)
    not_modelled: list[Msg] = field(default_factory=list)


def rules_of(target: Target) -> Rules:
    """Return the rules of a release."""
    return Rules(
        holding_first=HOLDING_FIRST.holds(target),
        victims_wait=VICTIMS_WAIT.holds(target),
        lone_unlimited=LONE_UNLIMITED.holds(target),
        self_preempted_goes_on=SELF_PREEMPTED_GOES_ON.holds(target),
        pads_lone=PADS_LONE.holds(target),
        reserves_drafts=RESERVES_DRAFTS.holds(target),
        settles_drafts=SETTLES_DRAFTS.holds(target),
        defers_frees=DEFERS_FREES.holds(target),
    )


def describe(engine: Engine) -> Mapping[str, Any]:
    """Return the engine as the JSON answer shows it."""
    return {
        "blocks": engine.blocks,
        "block_size": engine.groups[0].block_size,
        "groups": [{"block_size": group.block_size, "window": group.window} for group in engine.groups],
        "max_num_seqs": engine.max_num_seqs,
        "max_num_batched_tokens": engine.max_num_batched_tokens,
        "max_model_len": engine.max_model_len if engine.max_model_len < 2**31 else None,
        "prefix_caching": engine.prefix_caching,
        "policy": "priority" if engine.priority else "fcfs",
        "async_scheduling": engine.asynchronous,
        "watermark": engine.watermark,
        "draft_tokens": engine.drafts.tokens if engine.drafts is not None else 0,
        "hands_back": engine.hands_back,
    }
