"""The demo's two instruments in a real engine: the counter counts right, the wrong restore is noticed."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine.harness import Mode, prepared, run

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict]:  # type: ignore[type-arg]
    """An engine under pressure with nothing but the step counter: what it returned, what the counter wrote."""
    file: Path = tmp_path_factory.mktemp("counter") / "counts.json"
    result = run(Mode(connector="StepCounter", module="bench.step_counter", extra={"file": str(file)}))
    assert "error" not in result, result["log"][-2000:]
    return result, json.loads(file.read_text())


def test_counter_agrees_with_the_scheduler(counted: tuple[dict, dict]) -> None:  # type: ignore[type-arg]
    result, counts = counted
    assert result["preempted"] >= 3
    assert counts["preempted"] == result["preempted"]
    # The harness sends one more request of 100 + 2 tokens after its own counts are taken.
    assert counts["scheduled_tokens"] == result["scheduled"] + 101
    assert result["recomputed"] > 0
    assert 0 < counts["preemption_seconds"] < 60  # computing again takes time


def test_the_clock_takes_steps_that_overlap_and_only_what_is_beyond_the_others() -> None:
    from bench.step_counter import StepClock

    clock = StepClock()
    clock.plan(0.0, False)
    clock.plan(0.5, True)  # planned while the first one runs
    clock.end(1.0)  # one second
    clock.end(4.0)  # three, since the end of the first
    clock.plan(10.0, False)  # nothing ran in between
    clock.end(12.0)
    clock.plan(12.0, False)
    clock.end(13.0)
    assert clock.beyond() == 2.0  # less one median of 1, 2, 1
    clock.end(20.0)  # an output that belongs to no planned step
    assert clock.beyond() == 2.0


def test_reversed_restore_is_noticed(counted: tuple[dict, dict]) -> None:  # type: ignore[type-arg]
    """Recomputing answers right; restoring the right blocks to the wrong places does not."""
    wrong = run(Mode(module="bench.reversed_restore"))
    assert "error" not in wrong, wrong["log"][-2000:]
    assert wrong["metrics"]["pd_launch:preempt_offload_restored_total"] >= 3
    assert wrong["recomputed"] == 0
    assert wrong["tokens"] != counted[0]["tokens"]
    right = run(Mode())
    assert right["tokens"] == counted[0]["tokens"]
