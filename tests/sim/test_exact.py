"""The simulator against vLLM's own scheduler: the same steps, victims, order, tokens and blocks."""

from __future__ import annotations

from random import Random

import pytest

from pd_launch.schemas.offload.groups import Group
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


def _different(folder: str, seed: int, offload: bool) -> str:
    engine, jobs, parked = compare.draw(Random(seed), compare.rules(), offload=offload)
    found = compare.differences(compare.played(engine, jobs, parked), compare.seen(folder, engine, jobs, parked))
    return f"seed {seed}: {engine} {parked}\n" + "\n".join(found) if found else ""


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
