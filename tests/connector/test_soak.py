"""The books of the soak, bench/soak.py, which itself is run by hand."""

from __future__ import annotations

import time
from itertools import islice

import pytest

from bench.soak_figures import LONGEST_GROWTH, Clock, Figures, reasons_of, slope
from bench.soak_rounds import MODELS, ORDER, SERVER, describe, reference, rounds
from tests.engine.harness import Mode


def drawn(seed: int, count: int) -> list[tuple[str, Mode]]:
    return list(islice(rounds(seed), count))


def test_a_seed_draws_the_same_rounds_again() -> None:
    assert drawn(5, 12) == drawn(5, 12) != drawn(6, 12)


@pytest.mark.parametrize("seed", range(8))
def test_a_dozen_rounds_have_every_model_and_both_ways_of_scheduling(seed: int) -> None:
    found = drawn(seed, 2 * len(ORDER))
    assert {what for what, _ in found} == {*MODELS, SERVER}
    for model in ("chaotic", "hybrid", "sliding"):
        assert {mode.asynchronous for what, mode in found if what == model} == {True, False}
    assert any(mode.drafts for _, mode in found)
    assert all("async" not in describe(what, mode).split(", ") for what, mode in found if what == SERVER)


@pytest.mark.parametrize("model", MODELS)
def test_references_are_undisturbed(model: str) -> None:
    mode = reference(model)
    assert mode.connector is None
    assert not mode.drafts
    assert mode.blocks * 32 > mode.requests * 230


def good() -> Figures:
    reasons = {"pool_full": 2, "partial": 3, "reset_running": 1, "reset": 4, "ended": 1, "superseded": 2}
    return Figures(seconds=60, rounds=1, answered=9, preempted=23, parked=20, restored=13, reasons=reasons)


def test_every_preemption_and_every_copy_must_be_counted() -> None:
    figures = good()
    figures.balance()
    assert figures.faults() == []
    figures.preempted += 2
    figures.restored -= 1
    figures.balance()
    assert figures.faults() == ["uncounted preemptions: 2", "uncounted copies: 1"]


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("different", 1, "different: 1"),
        ("held_host_blocks", 3, "held host blocks: 3"),
        ("held_device_blocks", 1, "held device blocks: 1"),
        ("remembered", 2, "remembered: 2"),
        ("descriptor_growth", 4, "file descriptors more: 4"),
        ("memory_growth", LONGEST_GROWTH + 1, "memory: 24 MiB more, 0 KiB a minute"),
        ("errors", ["it died"], "it died"),
    ],
)
def test_what_is_wrong_is_said(name: str, value: object, fault: str) -> None:
    figures = good()
    setattr(figures, name, value)
    assert figures.faults() == [fault]


def test_rounds_are_summed_and_of_memory_the_worst_counts() -> None:
    total, worse = good(), good()
    total.memory_growth, worse.memory_growth, worse.memory_slope = 5, 7, -1.0
    total.add(worse)
    assert (total.rounds, total.answered, total.seconds) == (2, 18, 120)
    assert (total.memory_growth, total.memory_slope) == (7, 0.0)
    assert total.reasons["reset"] == 8


def test_the_time_for_which_it_was_stopped_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = Clock()
    now[0] += 1
    assert clock.look() == 1
    now[0] += 720
    assert clock.look() == 6


def test_a_slope_is_that_of_the_line_through_the_samples() -> None:
    assert slope([(0, 10), (1, 12), (2, 14)]) == 2
    assert slope([(0, 10), (1, 14), (2, 10)]) == 0
    assert slope([(3, 10)]) == slope([]) == 0


def test_reasons_are_those_of_the_connectors_counts() -> None:
    assert reasons_of({"parked": 3.0, "fallback.ended": 2.0}) == {"ended": 2}
