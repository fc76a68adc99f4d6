"""The order of the V2 model runner, which is the default wherever there is Triton: see v2_order.py.

Zeroing is forced, though a cache that needs it is refused with that runner: the guard behind that refusal is tried.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine.harness import Counters, Mode, answer_all, count_all, make_engine, prepared, run, scheduler_side

pytestmark = pytest.mark.engine
PLAIN = Mode()


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


def serve_as_v2(mode: Mode, twice: bool = False, zeroing: bool = False, guarded: bool = True) -> dict[str, Any]:
    from tests.engine.v2_order import install

    runner = install(twice, zeroing)
    counters = Counters()
    counters.install()
    engine = make_engine(mode)
    scheduler_side(engine).saves_late = guarded
    result = answer_all(engine, mode, counters, count_all(engine))
    return {**result, "v2 steps": runner.steps}


@pytest.fixture(scope="module")
def expected() -> list[list[int]]:
    result = run(Mode(connector=None, blocks=400))
    assert result.get("preempted") == 0, result["log"][-4000:]
    return list(result["tokens"])


MODES = {
    "plain": PLAIN,
    "asynchronous restores": Mode(extra={"async_restore_bytes": 0}),
    "async scheduling, prefix caching": Mode(asynchronous=True, prefix_caching=True),
}


@pytest.mark.parametrize(
    ("name", "twice"),
    [
        ("plain", False),
        ("plain", True),
        ("asynchronous restores", True),
        ("async scheduling, prefix caching", False),
    ],
)
def test_the_v2_order_restores_all(name: str, twice: bool, expected: list[list[int]]) -> None:
    result = run(MODES[name], partial(serve_as_v2, twice=twice))
    assert "error" not in result, result["log"][-4000:]
    assert result["v2 steps"] >= result["steps"]
    assert result["counts"]["restored"] >= 3
    assert result["recomputed"] == 0
    assert result["tokens"] == expected


def test_what_is_zeroed_before_it_can_be_saved_is_recomputed(expected: list[list[int]]) -> None:
    result = run(PLAIN, partial(serve_as_v2, zeroing=True))
    assert "error" not in result, result["log"][-4000:]
    assert result["counts"]["fallback.overwritten"] >= 3
    assert result["recomputed"] > 0
    assert result["tokens"] == expected


def test_control_without_the_guard_zeros_are_restored(expected: list[list[int]]) -> None:
    result = run(PLAIN, partial(serve_as_v2, zeroing=True, guarded=False))
    assert "error" not in result, result["log"][-4000:]
    assert result["tokens"] != expected
