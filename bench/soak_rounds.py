"""Which engines a soak drives, one after the other: drawn with a seed. No vLLM is imported here."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.engine.harness import Mode, block_bytes
from tests.engine.modes import SLIDING_BLOCKS

PROMPTS = 64
OUTPUT = 150
COMMON: dict[str, Any] = {"requests": PROMPTS, "output": OUTPUT, "prompt": 16, "longer": 1}
# model → what it needs beside the common, and how few blocks make it preempt
MODELS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "chaotic": ({}, (18, 22, 26)),
    "hybrid": ({}, (20, 24)),
    "mild": ({"drafts": 3, "repeat": 10}, (20, 24)),
    "sliding": ({}, (SLIDING_BLOCKS, SLIDING_BLOCKS + 4)),
}
ORDER = ("chaotic", "hybrid", "server", "mild", "chaotic", "sliding")
SERVER = "server"


def reference(model: str) -> Mode:
    """Return the engine that answers a model's prompts undisturbed."""
    more = {name: value for name, value in MODELS[model][0].items() if name != "drafts"}
    return Mode(model=model, connector=None, blocks=600, **COMMON, **more)


def rounds(seed: int) -> Iterator[tuple[str, Mode]]:
    """Return what to drive, without end: (what, its engine). ``what`` is a model's name, or that of two API servers.

    Synchronous and asynchronous scheduling alternate for each model; all else is drawn.
    """
    draw = random.Random(seed)
    asynchronous = {model: draw.random() < 0.5 for model in MODELS}
    while True:
        for what in ORDER:
            model = "chaotic" if what == SERVER else what
            asynchronous[model] = not asynchronous[model]
            yield what, _mode(draw, model, asynchronous[model] and what != SERVER)


def _mode(draw: random.Random, model: str, asynchronous: bool) -> Mode:
    needs, blocks = MODELS[model]
    caching = draw.random() < 0.6
    extra: dict[str, Any] = {}
    if caching and draw.random() < 0.6:
        extra["enable_offload_prefix_caching"] = True
    if beside := draw.choice([0, 0, 0, 1, 4]):
        extra["async_restore_bytes"] = (beside - 1) * block_bytes(Mode(model=model))
    return Mode(
        model=model,
        connector=draw.choice(["RecomputeCPUOffloadConnector", "PreemptOffloadConnector"]),
        role=draw.choice(["kv_consumer", "kv_consumer", "kv_both"]),
        multi=draw.random() < 0.35,
        blocks=draw.choice(blocks),
        host_blocks=draw.choice([24, 48, 200]),  # few: some victims fit in part only
        batched=draw.choice([0, 0, 64, 96]),
        priority=draw.random() < 0.6,
        prefix_caching=caching,
        asynchronous=asynchronous and not needs.get("drafts"),
        extra=extra,
        **COMMON,
        **needs,
    )


def describe(what: str, mode: Mode) -> str:
    """Return a round in a few words."""
    words = [f"model {mode.model}", f"{mode.blocks} blocks", f"{mode.host_blocks} host blocks", mode.role]
    words += ["two API servers"] * (what == SERVER) + ["async"] * mode.asynchronous
    words += [f"{mode.drafts} drafts"] * bool(mode.drafts) + [f"{mode.batched} tokens a step"] * bool(mode.batched)
    words += ["priority"] * mode.priority + ["MultiConnector"] * mode.multi + ["prefix caching"] * mode.prefix_caching
    words += ["shared host blocks"] * ("enable_offload_prefix_caching" in mode.extra)
    beside = mode.extra.get("async_restore_bytes")
    words += [f"restores beside steps from {beside} bytes"] * (beside is not None)
    return ", ".join(words)
