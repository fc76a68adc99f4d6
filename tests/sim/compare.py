"""Random engines and workloads, and one of them played by both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.sim.arrivals import Timed
from pd_launch.schemas.sim.drafts import Drafts
from pd_launch.schemas.sim.play import Play
from pd_launch.schemas.sim.shape import EndlessError, Engine, Offload, Rules
from pd_launch.schemas.sim.work import Job

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "vocab_size": 5_000_000,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
RULES = {
    "0.27.1": Rules(
        holding_first=False, victims_wait=False, lone_unlimited=False, pads_lone=False, reserves_drafts=False
    ),
    "0.32.0": Rules(),
    "0.33.0": Rules(self_preempted_goes_on=True, settles_drafts=True),
}


def folder(path: Path) -> str:
    """Write a model's folder without weights."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(CONFIG))
    return str(path)


def rules() -> Rules:
    """Return those of the installed release."""
    from tests.sim.real import release

    return RULES[release()]


def draw(
    random: Random, release: Rules, *, offload: bool, kind: str = "", drafts: bool = False
) -> tuple[Engine, list[Job], Offload | None]:
    """Return one case. ``kind`` fixes the groups: full, window, hybrid, sizes."""
    block = random.choice([8, 16, 32])
    kind = kind or random.choice(["full", "full", "full", "window", "hybrid", "sizes", "three"])
    window = random.choice([block // 2, block, block * 2 + 3, block * 4, 100])
    groups = {
        "full": (Group(block),),
        "window": (Group(block, window),),
        "hybrid": (Group(block), Group(block, window)),
        "sizes": (Group(block * 2), Group(block, window)),
        "three": (Group(block), Group(block, window), Group(block, window)),
    }[kind]
    longest = random.choice([128, 256, 512])
    batched = random.choice([32, 64, 128, 256, 512])
    chunked = random.random() < 0.85
    if not chunked:
        batched = max(batched, longest)
    each = sum(-(-longest // group.block_size) for group in groups)
    blocks = each + 2 + random.randint(0, each * 3)
    seqs = random.choice([2, 4, 8, 16, 32])
    seqs = min(seqs, batched)
    threshold = random.choice([0, 0, 0, 16, 40])
    engine = Engine(
        blocks=blocks,
        groups=groups,
        max_num_seqs=seqs,
        max_num_batched_tokens=batched,
        max_model_len=longest,
        priority=random.random() < 0.3,
        prefix_caching=random.random() < 0.5,
        retention=random.choice([None, 0, 64]) if kind not in ("full",) else None,
        chunked_prefill=chunked,
        long_prefill=threshold if chunked else 0,
        adaptive_long_prefill=bool(threshold) and chunked and release.lone_unlimited and random.random() < 0.3,
        watermark=random.choice([0.0, 0.0, 0.05, 0.2]),
        reserve_full=random.random() < 0.8,
        asynchronous=random.random() < 0.5,
        rules=release,
    )
    if drafts:
        engine = _with_drafts(engine, random)
    if offload and not release.holding_first and len(groups) > 1:
        engine = replace(engine, prefix_caching=False)  # beside a connector 0.27.1 looks hybrid prefixes up otherwise
    jobs = []
    spread = random.choice([0, 50, 300])
    chunk = random.choice([block, 24, 50])
    for _ in range(random.randint(3, 50)):
        prompt = random.randint(1, longest - 2)
        output = random.randint(1, longest - prompt)
        prefix: tuple[object, ...] = ()
        if random.random() < 0.6:
            prefix = tuple(range(family := random.choice([0, 100]), family + random.randint(0, 6)))
        jobs.append(Job(random.randint(0, spread), prompt, output, random.choice([0, 0, 1, 5]), prefix, chunk))
    jobs.sort(key=lambda job: job.arrival)
    parked = None
    if offload:
        host = random.choice([10**4, random.randint(1, 2 * each), random.randint(1, each)])
        parked = Offload(
            host,
            async_from=random.choice([None, None, 0, 3]),
            share=random.random() < 0.3,
            load_steps=random.randint(1, 3),
        )
    return engine, jobs, parked


def _with_drafts(engine: Engine, random: Random) -> Engine:
    """Let an engine speculate; it gets room for the drafts of a longest request."""
    tokens = random.randint(1, 5)
    drafts = Drafts(tokens, random.choice([0.0, 0.3, 0.7, 0.9, 1.0]), random.choice([0, tokens]), random.randint(0, 99))
    more = sum(-(-2 * tokens // group.block_size) + 1 for group in engine.groups)
    batched = max(engine.max_num_batched_tokens, engine.max_num_seqs * (1 + tokens))
    return replace(engine, drafts=drafts, blocks=engine.blocks + more, max_num_batched_tokens=batched)


def played(engine: Engine, jobs: list[Job], offload: Offload | None) -> dict[str, Any]:
    """Return what the simulator says."""
    play = Play(engine, Timed(jobs), offload, exact=True)
    free: list[tuple[int, int]] = []
    scheduled: list[tuple[int, dict[int, int]]] = []
    inner = play.scheduler.schedule

    def noted() -> Any:
        step = inner()
        if step.total:
            free.append((step.call, play.scheduler.blocks.free))
            scheduled.append((step.call, {request.number: n for request, n in step.tokens.items()}))
        return step

    play.scheduler.schedule = noted  # type: ignore[method-assign]
    found = play.run()
    parking = play.scheduler.parking
    return {
        "scheduled": scheduled,
        "preempted": found.events,
        "free": free,
        "steps": found.steps,
        "tokens": found.tokens,
        "parked": parking.parked if parking else 0,
        "restored": parking.restored if parking else 0,
        "fallbacks": dict(parking.fallbacks) if parking else {},
        "peak": parking.peak if parking else 0,
    }


def never_ends(engine: Engine, jobs: list[Job], offload: Offload | None) -> bool:
    """Whether the simulator says that it would go on without an end."""
    try:
        Play(engine, Timed(jobs), offload, exact=True).run()
    except EndlessError:
        return True
    return False


def seen(folder: str, engine: Engine, jobs: list[Job], offload: Offload | None) -> dict[str, Any]:
    """Return what vLLM's scheduler did, and its seconds."""
    from tests.sim.real import Drive

    found = Drive(folder, engine, jobs, offload).run()
    return {
        "scheduled": found.scheduled,
        "preempted": found.preempted,
        "free": found.free,
        "steps": found.steps,
        "tokens": found.tokens,
        "parked": found.parked,
        "restored": found.restored,
        "fallbacks": found.fallbacks,
        "peak": found.peak,
        "seconds": found.seconds,
    }


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Return where the two differ, the first step of each list."""
    out = []
    for name, value in ours.items():
        other = theirs[name]
        if value == other:
            continue
        if isinstance(value, list):
            at = next(
                (i for i, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), min(len(value), len(other))
            )
            value, other = (at, value[at : at + 2]), (at, other[at : at + 2])
        out.append(f"{name}: simulated {value}, vLLM {other}")
    return out
