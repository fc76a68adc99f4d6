"""Failures, injected into the real engine: memory, copies, a worker, and what is refused at start."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine.harness import FAULTY, Mode, make_engine, prepared, prompts, run
from tests.engine.test_engine import REST, checked
from tests.shared_memory import SHARED_MEMORY, left_since, present

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        ({"role": "kv_producer"}, ["set kv_role to kv_consumer"]),
        ({"extra": {"cpu_bytes_per_rank": 1}}, ["write 'cpu_bytes_to_use_per_rank' instead"]),
        ({"extra": {"enable_offload_prefix_caching": "false"}}, ["enable_offload_prefix_caching must be a boolean"]),
        ({"extra": {"cpu_bytes_to_use_per_rank": 1000}}, ["holds no block"]),
        (
            {"extra": {"cpu_bytes_to_use_per_rank": 1 << 50}},
            ["1125899906842624 bytes", "1024 TiB", "for 1 rank of", "memory of this host", "Lower cpu_bytes_to_use"],
        ),
    ],
)
def test_refused_at_start(change: dict[str, Any], messages: list[str]) -> None:
    result = run(Mode(**change))
    for message in messages:
        assert message in result["error"]


def named_twice(mode: Mode) -> dict[str, Any]:
    """Both names in a copied configuration."""
    from tests.engine import harness

    one = harness.transfer_config(mode)
    two = {**one, "kv_connector": "PreemptOffloadConnector"}
    both = {"kv_connector": "MultiConnector", "kv_role": mode.role}
    both["kv_connector_extra_config"] = {"connectors": [one, two]}  # type: ignore[assignment]
    harness.transfer_config = lambda _: both  # type: ignore[assignment]
    make_engine(mode)
    return {}


def test_two_children_of_this_connector_are_refused_at_start() -> None:
    error = run(Mode(), named_twice)["error"]
    assert "PreemptOffloadConnector and RecomputeCPUOffloadConnector are children of one MultiConnector" in error


def no_memory(mode: Mode) -> dict[str, Any]:
    """The budget is below the machine's memory, and the kernel refuses the mapping all the same."""
    import mmap

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    mmap.mmap = refuse  # type: ignore[misc, assignment]
    make_engine(mode)
    return {}


def test_memory_that_cannot_be_mapped_is_told_at_start() -> None:
    error = run(Mode(), no_memory)["error"]
    for message in ("13107200 bytes of host memory per rank", "Cannot allocate memory", "Limits: memory of this host"):
        assert message in error


def test_a_save_that_fails_is_recomputed() -> None:
    result = checked(Mode(faults=("save raises", "")))
    failed, after = result["faults"]["save raises"], result["faults"][""]
    assert failed["counts"]["fallback.save_failed"] == 1
    assert failed["again"] > 0
    assert failed["identical"]
    assert "Saving request" in result["log"] and "injected: save raises" in result["log"]
    assert after["identical"] and after["again"] == 0
    assert failed["at_rest"] == after["at_rest"] == REST


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"multi": True},
        {"asynchronous": True},
        {"extra": {"async_restore_bytes": 0}},
        {"tensor_parallel": 2, "module": FAULTY, "faults": ("load raises rank 1", "")},
    ],
)
def test_a_load_that_fails_is_recomputed(change: dict[str, Any]) -> None:
    mode = Mode(**{"policy": "recompute", "faults": ("load raises", ""), **change})
    result = checked(mode)
    failed, after = result["faults"][mode.faults[0]], result["faults"][""]
    assert failed["counts"]["fallback.load_failed"] == 1
    assert failed["recomputed"] > 0
    assert failed["identical"]
    assert after["identical"] and after["again"] == 0
    assert failed["at_rest"] == after["at_rest"] == REST


@pytest.mark.parametrize("change", [{}, {"asynchronous": True}, {"extra": {"async_restore_bytes": 0}}])
def test_a_load_that_fails_ends_that_request_alone(change: dict[str, Any]) -> None:
    result = checked(Mode(policy="fail", faults=("load raises", ""), **change))
    failed, after = result["faults"]["load raises"], result["faults"][""]
    assert sorted(failed["finished"]) == ["error"] + ["length"] * 7
    ended = failed["finished"].index("error")
    whole = [tokens for i, tokens in enumerate(failed["tokens"]) if i != ended]
    assert whole == [tokens for i, tokens in enumerate(after["tokens"]) if i != ended]
    assert after["identical"]
    assert failed["at_rest"] == after["at_rest"] == REST


def worker_dies(mode: Mode) -> dict[str, Any]:
    import multiprocessing

    from vllm import SamplingParams

    llm = make_engine(mode)
    engine = llm.llm_engine
    sampling = SamplingParams(temperature=0, max_tokens=mode.output, ignore_eos=True, detokenize=False)
    for i, prompt in enumerate(prompts(mode)):
        engine.add_request(f"request-{i}", prompt, sampling)
    for _ in range(130):
        engine.step()
    workers = multiprocessing.active_children()
    workers[-1].kill()
    begin, error = time.monotonic(), ""
    try:
        while time.monotonic() < begin + 60:
            engine.step()
    except Exception as caught:  # noqa: BLE001  which one is vLLM's business
        error = type(caught).__name__
    for worker in workers:
        worker.join(30)
    return {"found": len(workers), "ended_by": error, "alive": sum(w.is_alive() for w in workers)}


@pytest.mark.skipif(not SHARED_MEMORY.exists(), reason="no /dev/shm")
def test_a_worker_that_dies_ends_the_engine_and_leaves_nothing() -> None:
    before = present()
    result = run(Mode(tensor_parallel=2), worker_dies)
    assert "error" not in result, result["error"] + result["log"][-3000:]
    assert result["found"] >= 2, result["log"][-3000:]
    assert result["ended_by"]
    assert result["alive"] == 0
    left = left_since(before)
    vllms = {path for path in left if "-cpushm_" in path.name}  # its CPU ranks' own, with any connector or none
    for path in vllms:
        path.unlink()
    assert left == vllms
