"""The simulator against vLLM's own scheduler: the same steps, victims, order, tokens and blocks."""

from __future__ import annotations

from random import Random

import pytest

from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.sim.arrivals import Timed
from pd_launch.schemas.sim.drafts import Drafts, chance_of
from pd_launch.schemas.sim.play import Play
from pd_launch.schemas.sim.shape import Engine, Offload
from pd_launch.schemas.sim.work import Job
from tests.sampling import SEED, size
from tests.sim import compare, real

pytestmark = pytest.mark.engine
CASES = size(24, 2000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    real.prepare()
    return compare.folder(tmp_path_factory.mktemp("model"))


def _different(folder: str, seed: int, offload: bool, drafts: bool = False) -> str:
    """Return how the two differ; where vLLM goes on forever (#49674, before 0.30.0), the simulator must say so."""
    engine, jobs, parked = compare.draw(Random(seed), compare.rules(), offload=offload, drafts=drafts)
    case = f"seed {seed}: {engine} {parked}\n"
    try:
        theirs = compare.seen(folder, engine, jobs, parked)
    except real.NoEndError:
        return "" if compare.never_ends(engine, jobs, parked) else f"{case}vLLM never ends"
    found = compare.differences(compare.played(engine, jobs, parked), theirs)
    return case + "\n".join(found) if found else ""


@pytest.mark.parametrize("offload", [False, True], ids=["alone", "with the connector"])
def test_the_same_as_vllm(folder: str, offload: bool) -> None:
    """Every step's tokens, every victim, the free blocks after every step; of the connector all counts and the peak."""
    wrong = [text for n in range(CASES) if (text := _different(folder, SEED * 100_000 + n, offload))]
    assert not wrong, f"{len(wrong)} of {CASES} differ\n" + "\n".join(wrong[:3])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_preemption_happens_in_these(folder: str, asynchronous: bool) -> None:
    """A control: where vLLM preempts and restores, the comparison sees it; with one block more it differs."""
    engine = Engine(24, (Group(32),), 8, 512, 512, asynchronous=asynchronous, rules=compare.rules())
    jobs = [Job(0, 100, 150) for _ in range(8)]
    theirs = compare.seen(folder, engine, jobs, Offload(200))
    assert theirs["preempted"] and theirs["restored"]
    assert not compare.differences(compare.played(engine, jobs, Offload(200)), theirs)
    more = Engine(25, (Group(32),), 8, 512, 512, asynchronous=asynchronous, rules=compare.rules())
    assert compare.differences(compare.played(more, jobs, Offload(200)), theirs)
    assert compare.differences(compare.played(engine, jobs, Offload(3)), theirs)


@pytest.mark.parametrize("offload", [False, True], ids=["alone", "with the connector"])
def test_the_same_with_drafts(folder: str, offload: bool) -> None:
    """Both are told of every draft whether it is right: then they agree step by step."""
    seeds = [SEED * 100_000 + n for n in range(CASES // 3)]
    wrong = [text for seed in seeds if (text := _different(folder, seed, offload, drafts=True))]
    assert not wrong, f"{len(wrong)} of {CASES // 3} differ\n" + "\n".join(wrong[:3])


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        (100096, "window"),  # restores beside the steps leave room for the drafts of all who compute a prompt
        (100032, ""),
        (100042, ""),  # from 0.33.0 on what drafts prove is cached with the results of its step
        (100201, ""),  # before 0.31.0 two restores beside the steps held all blocks and waited for each other
        (100330, ""),  # a request in front of a restored one did not fit, and nobody looked at the restored one
    ],
)
def test_drafts_beside_restores_and_prefixes(folder: str, seed: int, kind: str) -> None:
    """Cases that once differed."""
    engine, jobs, parked = compare.draw(Random(seed), compare.rules(), offload=True, drafts=True, kind=kind)
    for offload in (parked, None):
        theirs = compare.seen(folder, engine, jobs, offload)
        assert not compare.differences(compare.played(engine, jobs, offload), theirs), (engine, offload)


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_drafts_by_distribution(folder: str, rate: float) -> None:
    """vLLM is told by dice of its own, as a real drafter's luck is: means of steps and preemptions agree."""
    tokens, runs = 3, size(8, 100)
    chance = chance_of(rate, tokens)
    jobs = [Job(0, 100, 150)] * 8
    mean = {"steps": [0.0, 0.0], "preempted": [0.0, 0.0], "accepted": [0.0, 0.0]}
    for seed in range(runs):
        engine = Engine(24, (Group(32),), 8, 512, 512, drafts=Drafts(tokens, chance, 0, seed), rules=compare.rules())
        play = Play(engine, Timed(jobs))
        played = play.run()
        dice, lucky = Random(seed), [0, 0]

        def throw(number: int, position: int, drafted: int, dice: Random = dice, lucky: list[int] = lucky) -> int:
            right = next((k for k in range(drafted) if dice.random() >= chance), drafted)
            lucky[0] += right
            lucky[1] += drafted
            return right

        drive = real.Drive(folder, engine, jobs)
        drive.accepted = throw
        seen = drive.run()
        for name, pair in (
            ("steps", (played.steps, seen.steps)),
            ("preempted", (played.preempted, len(seen.preempted))),
            ("accepted", (played.accepted / played.drafted, lucky[0] / lucky[1])),
        ):
            for side in (0, 1):
                mean[name][side] += pair[side] / runs
    assert mean["accepted"] == pytest.approx([rate, rate], abs=0.05)
    assert mean["steps"][0] == pytest.approx(mean["steps"][1], rel=0.05)
    assert mean["preempted"][0] == pytest.approx(mean["preempted"][1], rel=0.2, abs=0.5)
