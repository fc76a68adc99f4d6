"""The bundled connector on the unmodified scheduler of the installed vLLM, against a run without pressure.

Each mode asserts that requests were preempted and restored, that nothing was recomputed, and that the token ids equal
those of the same model with plenty of blocks; then, in the same engine, that both wrong copies show. Each writes its
row of docs/correctness.md when that is asked for. A run takes some of the modes, ``make test-all`` all.
"""

from __future__ import annotations

import gc
import importlib.util
import platform
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine import record
from tests.engine.harness import Counters, Mode, answer_all, count_all, make_engine, prepared, run, serve
from tests.engine.modes import MODES
from tests.sampling import sample

pytestmark = pytest.mark.engine
CONTROLS = ("reversed", "late")
REST = {"taken": 0, "copies": 0, "tables": 0}
ALWAYS = ("plain", "preempted again and again")
ASYNCHRONOUS = [name for name, mode in MODES.items() if mode.asynchronous]
_REST = [name for name in MODES if name not in (*ALWAYS, *ASYNCHRONOUS)]
TAKEN = [*ALWAYS, *ASYNCHRONOUS, *sample(_REST, 0.5, "modes")]


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


ASKED = ("model", "prompt", "longer", "output", "common", "repeat", "kv_dtype", "samples", "requests")
"""What of a mode decides which tokens are right."""


@cache
def reference(asked: tuple[Any, ...]) -> list[list[int]]:
    """Tokens of the same prompts with plenty of blocks and no connector."""
    result = run(Mode(connector=None, blocks=400, **dict(zip(ASKED, asked, strict=True))))
    assert result.get("preempted") == 0, result["log"][-4000:]
    return result["tokens"]


def expected(mode: Mode) -> list[list[int]]:
    return reference(tuple(getattr(mode, name) for name in ASKED))


@cache
def answer(mode_name: str, **change: Any) -> dict[str, Any]:
    """Run a mode once, however many tests look at it."""
    return checked(Mode(**{**MODES[mode_name].__dict__, "faults": CONTROLS, **change}))


def checked(mode: Mode) -> dict[str, Any]:
    result = run(mode)
    assert "error" not in result, result["log"][-6000:]
    for one in (result, *result["faults"].values()):
        one["identical"] = one["tokens"] == expected(mode)
    return result


def series(result: dict[str, Any], name: str) -> float:
    return result["metrics"]["pd_launch:preempt_offload_" + name]


def put_row(name: str, mode: Mode, result: dict[str, Any]) -> None:
    # Drafts and common prompts make the least possible unknown: there positions computed again are counted.
    recomputed = result["again"] if mode.drafts or mode.common else result["recomputed"]
    wrong = ["identical" if result["faults"][f]["identical"] else "differs" for f in CONTROLS]
    counts = [result["preempted"], result["counts"].get("restored", 0), recomputed]
    record.put(record.release(), [name, *(f"{n:.0f}" for n in counts), "yes" if result["identical"] else "no", *wrong])


@pytest.mark.parametrize("name", TAKEN)
def test_identical_nothing_recomputed_and_wrong_copies_show(name: str) -> None:
    mode, result = MODES[name], answer(name)
    put_row(name, mode, result)
    assert result["preempted"] >= 3
    assert result["counts"]["parked"] == result["preempted"]
    assert result["counts"]["restored"] >= 3
    assert result["again"] == 0
    if not mode.drafts and not mode.common:
        assert result["recomputed"] == 0
    assert result["identical"]
    assert (result["nulls"] > 0) == (mode.model in ("sliding", "hybrid"))
    assert (result["shared"] > 0) == ("enable_offload_prefix_caching" in mode.extra)
    assert result["distinct"] > (5 if mode.drafts else 90)
    assert result["at_rest"] == REST
    for fault in CONTROLS:
        wrong = result["faults"][fault]
        assert wrong["preempted"] >= 3
        assert wrong["counts"]["restored"] >= 3
        assert wrong["counts"]["restored_bytes"] > 0  # copied, and not merely planned
        assert not wrong["identical"], fault


def test_async_scheduling_preempts_requests_with_output_in_flight() -> None:
    from vllm.v1.core.sched.scheduler import Scheduler

    assert len(ASYNCHRONOUS) >= 5
    in_flight = sum(answer(name)["in_flight"] for name in ASYNCHRONOUS)
    # Newer releases preempt a consumer's request only when its last step is through.
    waits = hasattr(Scheduler, "_request_blocks_can_be_freed")
    assert in_flight == 0 if waits else in_flight > 0


def test_one_request_is_preempted_several_times() -> None:
    assert answer("preempted again and again")["most_preempted"] >= 3


def past_the_caches(mode: Mode) -> dict[str, Any]:
    """Serve with all copies as only large ones are made, and count them."""
    from pd_launch.connector.copying import streaming

    streaming.LEAST_BYTES = 0
    copy, copied = streaming.StreamingCopy.copy, [0]

    def counted(way: Any, *rows: Any) -> None:
        copied[0] += 1
        copy(way, *rows)

    streaming.StreamingCopy.copy = counted  # type: ignore[method-assign]
    return {**serve(mode), "copied": copied[0]}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 only")
@pytest.mark.parametrize("change", [{}, {"model": "hybrid", "blocks": 22}, {"extra": {"async_restore_bytes": 0}}])
def test_copies_past_the_caches_bring_the_same_back(change: dict[str, Any]) -> None:
    mode = Mode(**change)
    result = run(mode, past_the_caches)
    assert "error" not in result, result["log"][-4000:]
    assert result["copied"] == result["preempted"] + result["counts"]["restored"] >= 6
    assert result["recomputed"] == 0
    assert result["tokens"] == expected(mode)


def two_engines(mode: Mode, first: str) -> dict[str, Any]:
    """Serve with an engine, then with another one in the same process, then with the first again if it stays."""
    counters = Counters()
    counters.install()
    before: list[Any] = []
    if first == "fails":
        with pytest.raises(ValueError, match="holds no block"):
            make_engine(replace(mode, extra={"cpu_bytes_to_use_per_rank": 1000}, blocks=30))
    else:
        engine = make_engine(mode)
        before.append(answer_all(engine, mode, counters, {})["tokens"])
    if first == "ends":
        engine.llm_engine.engine_core.shutdown()
        del engine
        gc.collect()
    second = make_engine(mode)
    counts = count_all(second)
    result = answer_all(second, mode, counters, counts)
    if first == "stays":
        before.append(answer_all(engine, mode, counters, {})["tokens"])
    return {**result, "before": before}


@pytest.mark.parametrize("first", ["ends", "stays", "fails"])
def test_a_second_engine_in_the_process_works_as_the_first(first: str) -> None:
    """Unless the first has ended, vLLM hands its worker side of the connector to the second."""
    result = run(Mode(), partial(two_engines, first=first))
    assert "error" not in result, result["log"][-4000:]
    assert result["counts"]["restored"] == result["preempted"] >= 3
    assert result["counts"]["saved_bytes"] == result["counts"]["restored_bytes"]
    assert result["recomputed"] == 0
    assert result["before"] == [expected(Mode())] * {"ends": 1, "stays": 2, "fails": 0}[first]
    assert result["tokens"] == expected(Mode())


def test_plain_takes_no_extra_step() -> None:
    assert answer("plain")["steps"] == checked(Mode(connector=None))["steps"]


def test_control_without_the_connector_recomputes() -> None:
    result = checked(Mode(connector=None))
    assert result["identical"]
    assert result["recomputed"] > 0


@pytest.mark.parametrize("name", ["plain", "below MultiConnector"])
def test_the_series_add_up(name: str) -> None:
    result = answer(name)
    assert series(result, "parked_total") == series(result, "restored_total") == result["preempted"]
    saved, restored = series(result, "saved_bytes_total"), series(result, "restored_bytes_total")
    assert saved == restored > 0
    assert saved % 65536 == 0
    assert series(result, "save_seconds_total") > 0
    assert series(result, "restore_seconds_total") > 0
    assert series(result, "pool_blocks_total") == 200
    assert series(result, "pool_blocks_used") == 0
    assert series(result, "oldest_parked_seconds") == 0
    assert series(result, "fallback_total{pool_full}") == 0


def test_a_pool_too_small_recomputes_and_the_guides_log_lines_are_there() -> None:
    result = checked(Mode(host_blocks=6))
    assert result["identical"]
    assert 0 < result["recomputed"] < 860
    assert series(result, "fallback_total{pool_full}") > 0
    assert series(result, "fallback_total{partial}") > 0
    assert result["at_rest"] == REST
    for text in (
        "RecomputeCPUOffloadConnector: role=SCHEDULER per_rank=0.00 GB world_size=1",
        "RecomputeCPUOffloadConnector: role=WORKER",
        "RecomputeCPUOffloadScheduler: allocating 6 CPU blocks",
        "RecomputeCPUOffloadWorker scaffold registered",
        "Recompute preemption offload enabled for request ",
        "Created recompute offload state for request ",
        "Prepared recompute offload H2D load for request ",
        "Skip recompute offload for request ",
    ):
        assert text in result["log"], text
