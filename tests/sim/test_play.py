"""The simulator by itself: the recorded engine run, sums against single requests, ends and errors."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from pd_launch.launcher.simulate.answer import Case, run
from pd_launch.launcher.simulate.workload import Workload
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.sim.arrivals import Closed, Timed
from pd_launch.schemas.sim.cluster import Cluster, merged
from pd_launch.schemas.sim.play import Play, StepTime
from pd_launch.schemas.sim.shape import EndlessError, Engine, Offload, SimulationError
from pd_launch.schemas.sim.work import Job
from tests.sampling import SEED, size
from tests.sim import compare

RECORDED = Engine(24, (Group(32),), 8, 2048, 1024)
EIGHT = [Job(0, 100, 150)] * 8


def test_the_recorded_run() -> None:
    """What vLLM 0.32.0 did on a CPU: docs/correctness.md has the same figures."""
    played = Play(RECORDED, Timed(EIGHT)).run()
    assert (played.steps, played.preempted, played.recomputed) == (410, 6, 860)
    cached = Play(replace(RECORDED, prefix_caching=True), Timed(EIGHT)).run()
    assert (cached.steps, cached.recomputed) == (410, 508)
    restored = Play(RECORDED, Timed(EIGHT), Offload(200))
    assert (restored.run().recomputed, restored.played.steps) == (0, 410)


def _all(play: Play, jobs: list[Job]) -> dict[str, Any]:
    ends: list[tuple[int, int, int]] = []
    play.scheduler.on_finish = lambda request: ends.append((request.number, request.preempted, request.hit))
    played = play.run()
    assert played.recomputed == played.tokens - sum(j.prompt + j.output - 1 for j in jobs) + played.cached
    parking = play.scheduler.parking
    return {
        "steps": played.steps,
        "tokens": played.tokens,
        "events": played.events,
        "ends": ends,
        "calls": play.scheduler.calls,
        "free": play.scheduler.blocks.free,
        "parking": parking and (parking.parked, parking.restored, parking.fallbacks, parking.peak, parking.uses),
    }


def test_sums_are_what_single_requests_are() -> None:
    """Undisturbed requests are summed up: everything is as if each had been looked at."""
    for seed in range(SEED * 1000, SEED * 1000 + size(80, 20_000)):
        random = Random(seed)
        release = random.choice(list(compare.RULES.values()))
        engine, jobs, offload = compare.draw(random, release, offload=random.random() < 0.5, kind="full")
        if random.random() < 0.3:
            block = engine.groups[0].block_size
            engine = replace(engine, groups=(Group(block), Group(block * 2)), blocks=engine.blocks * 2)
        slow = _all(Play(engine, Timed(jobs), offload, exact=True), jobs)
        assert _all(Play(engine, Timed(jobs), offload), jobs) == slow, (seed, engine, offload)


# Blocks of victims are free after the step under way: until then vLLM 0.27.1 preempts others too (vLLM #49674).
ENDLESS = [100141, 100250]


@pytest.mark.parametrize("seed", ENDLESS)
def test_what_has_no_end_is_said(seed: int) -> None:
    """There the engine itself never answers again (tests/sim/test_exact.py draws such cases too)."""
    engine, jobs, offload = compare.draw(Random(seed), compare.RULES["0.27.1"], offload=True, drafts=True)
    assert offload is not None and compare.never_ends(engine, jobs, offload)
    case = Case(engine, Workload(tuple(jobs), None, ""), StepTime(1.0), async_from=offload.async_from, share=True)
    with pytest.raises(EndlessError, match=r"^with 5 blocks: no request gets a token any more after step "):
        run(case, 5, what="with 5 blocks")
    assert run(replace(case, engine=replace(engine, rules=compare.RULES["0.32.0"])), 5).played.complete


def test_long_prompts_are_no_stillness() -> None:
    """Thirty thousand steps of one prompt, in which nobody gets a token."""
    engine = Engine(5000, (Group(32),), 2, 4, 130_000)
    assert Play(engine, Timed([Job(0, 120_000, 2)])).run().steps == 30_001


def test_a_budget_of_the_peak_is_just_enough() -> None:
    for seed in range(size(15, 1000)):
        engine, jobs, _ = compare.draw(Random(seed), compare.RULES["0.32.0"], offload=False, kind="full")
        endless = Play(engine, Timed(jobs), Offload(1 << 40))
        endless.run()
        assert endless.scheduler.parking is not None
        peak = endless.scheduler.parking.peak
        for blocks, enough in ((peak, True), (peak - 1, False)):
            if blocks < 1:
                continue
            play = Play(engine, Timed(jobs), Offload(blocks))
            play.run()
            assert play.scheduler.parking is not None
            lacking = {"pool_full", "partial"} & set(play.scheduler.parking.fallbacks)
            assert (not lacking) is enough, (seed, blocks)


def test_clients_wait_for_their_answers() -> None:
    play = Play(RECORDED, Closed(EIGHT, 2))
    played = play.run()
    assert (played.peak_running, played.preempted, played.finished) == (2, 0, 8)


def test_times() -> None:
    """One request alone: a step with the prompt, then one for each further token."""
    engine = replace(RECORDED, asynchronous=False)
    played = Play(engine, Timed([Job(5.0, 100, 11)]), times=StepTime(0.5, 0.01)).run()
    assert played.ttft == [pytest.approx(1.5)]
    assert played.tpot == [pytest.approx(0.51)]
    assert played.seconds == pytest.approx(5 + 1.5 + 10 * 0.51)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_times_do_not_depend_on_skipping(asynchronous: bool) -> None:
    engine = replace(RECORDED, asynchronous=asynchronous)
    jobs = [Job(n * 1.7, 40 + n, 60) for n in range(20)]
    runs = [Play(engine, Timed(jobs), times=StepTime(0.1, 0.001), exact=exact).run() for exact in (True, False)]
    assert runs[0].ttft == pytest.approx(runs[1].ttft)
    assert runs[0].tpot == pytest.approx(runs[1].tpot)


def test_two_engines_share_the_work() -> None:
    for policy in ("vllm", "round-robin", "least-requests"):
        cluster = Cluster(RECORDED, 2, policy, Timed(EIGHT))  # type: ignore[arg-type]
        parts = cluster.run()
        assert [part.finished for part in parts] == [4, 4]
        assert merged(parts).finished == 8


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(SimulationError, match="needs 32 blocks"):
        Play(RECORDED, Timed([Job(0, 1000, 500)])).run()
    with pytest.raises(SimulationError, match="leaves no room"):
        Play(RECORDED, Timed([Job(0, 1024, 5)])).run()


def test_an_interruption_gives_what_there_is() -> None:
    play = Play(RECORDED, Timed(EIGHT))

    def stop(_: Play) -> None:
        raise KeyboardInterrupt

    played = play.run(stop, 20)
    assert not played.complete
    assert 0 < played.steps < 410


def test_a_decode_node_computes_no_prompt_but_again() -> None:
    """KV of prompts arrives: only a preemption has one computed here. Blocks are held while it is under way."""
    for asynchronous in (False, True):
        engine = replace(RECORDED, receives=3, asynchronous=asynchronous)
        play = Play(engine, Timed(EIGHT))
        played = play.run()
        assert played.preempted > 0
        assert played.tokens == 8 * 150 + played.recomputed
        assert play.scheduler.blocks.free == 23
        restored = Play(engine, Timed(EIGHT), Offload(1000)).run()
        assert restored.tokens == 8 * 150 + restored.recomputed
        assert restored.recomputed == 0
