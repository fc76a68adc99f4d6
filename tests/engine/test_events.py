"""Resets, weight updates and aborts on the real engine, stepped by hand."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine.harness import (
    Counters,
    Mode,
    at_rest,
    count_all,
    ledger,
    make_engine,
    metrics,
    prepared,
    prompts,
    run,
)

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


def begin(mode: Mode) -> Any:
    """Start an engine and give it all requests."""
    from vllm import SamplingParams

    engine = make_engine(mode).llm_engine
    sampling = SamplingParams(temperature=0, max_tokens=mode.output, ignore_eos=True, detokenize=False)
    for i, prompt in enumerate(prompts(mode)):
        engine.add_request(f"request-{i}", prompt, sampling)
    return engine


def step_until(engine: Any, condition: Any) -> dict[str, list[int]]:
    tokens: dict[str, list[int]] = {}
    for _ in range(3000):
        if condition():
            return tokens
        for answer in engine.step():
            tokens[answer.request_id] = list(answer.outputs[0].token_ids)
    raise AssertionError("it never came to that")


class Holder:
    """The part of LLM that the harness looks at."""

    def __init__(self, engine: Any) -> None:
        self.llm_engine = engine


def drain(engine: Any) -> dict[str, list[int]]:
    tokens = step_until(engine, lambda: not engine.has_unfinished_requests())
    engine.step()
    return tokens


def reset_while_parked(mode: Mode) -> dict[str, Any]:
    engine = begin(mode)
    book = ledger(Holder(engine))
    step_until(engine, lambda: book.copies)
    before = {"copies": len(book.copies), "tables": len(book.tables)}
    done = engine.reset_prefix_cache(reset_running_requests=True)
    after = {"copies": len(book.copies), "tables": len(book.tables)}
    engine.step()  # everything was preempted: nothing of it may be saved
    saved = len(book.copies)
    tokens = drain(engine)
    return {"before": before, "done": done, "after": after, "saved": saved, "tokens": tokens, "series": metrics()}


def abort_while_parked(mode: Mode) -> dict[str, Any]:
    engine = begin(mode)
    book = ledger(Holder(engine))
    step_until(engine, lambda: book.copies)
    parked = next(iter(book.copies))
    name = next(f"request-{i}" for i in range(mode.requests) if parked.startswith(f"request-{i}"))
    engine.abort_request([name])
    gone = parked not in book.copies
    tokens = drain(engine)
    return {"gone": gone, "answered": len(tokens), "tokens": tokens, "rest": at_rest(Holder(engine))}


def heavier_norms(network: Any) -> None:
    """A weight update: on a CPU linear weights are kept in another form, so changing them in place has no effect."""
    for name, weight in network.named_parameters():
        if "norm" in name:
            weight.data.mul_(1.25)


def update_weights(at: int | None, watched: bool = True) -> Any:
    """Return a task that updates the weights after ``at`` steps, or once a request is parked."""

    def task(mode: Mode) -> dict[str, Any]:
        from pd_launch.connector.scheduler import OffloadScheduler

        if not watched:
            OffloadScheduler.reset = lambda self: True  # type: ignore[method-assign]
        engine = begin(mode)
        book = ledger(Holder(engine))
        steps = 0
        while steps < at if at is not None else not book.copies:
            engine.step()
            steps += 1
        engine.apply_model(heavier_norms)
        done = engine.reset_prefix_cache(reset_running_requests=True)
        return {"done": done, "steps": steps, "tokens": drain(engine)}

    return task


def report_late() -> None:
    """Let the worker tell the ends of its loads only at every fourth question."""
    from pd_launch.connector.worker import OffloadWorker

    take, held, asked = OffloadWorker.take_loaded, set(), [0]

    def late(worker: Any) -> set[str]:
        held.update(take(worker))
        asked[0] += 1
        if asked[0] % 4:
            return set()
        out = set(held)
        held.clear()
        return out

    OffloadWorker.take_loaded = late  # type: ignore[method-assign]


def abort_while_loading(mode: Mode) -> dict[str, Any]:
    from pd_launch.schemas.offload.steps import State

    report_late()
    engine = begin(mode)
    book = ledger(Holder(engine))

    def loading() -> list[str]:
        return [rid for rid, copy in book.copies.items() if copy.state is State.RESTORING]

    before = step_until(engine, loading)
    rid = loading()[0]
    engine.abort_request([next(f"request-{i}" for i in range(mode.requests) if rid.startswith(f"request-{i}"))])
    kept = rid in book.copies
    tokens = before | drain(engine)
    return {"kept": kept, "answered": len(tokens), "rest": at_rest(Holder(engine))}


def resets_that_are_refused(mode: Mode) -> dict[str, Any]:
    """Ask for resets while requests run, as benchmark scripts and routers do."""
    counters = Counters()
    counters.install()
    engine = begin(mode)
    counts = count_all(Holder(engine))
    asked, tokens = [], {}
    for number in range(3000):
        if not engine.has_unfinished_requests():
            break
        if number in (20, 60, 120):
            asked.append(engine.reset_prefix_cache())
        for answer in engine.step():
            tokens[answer.request_id] = list(answer.outputs[0].token_ids)
    least = sum(mode.prompt + len(t) - 1 for t in tokens.values())
    return {
        "asked": asked,
        "tokens": tokens,
        "recomputed": counters.values["scheduled"] - least,
        "preempted": counters.values["preempted"],
        "counts": counts,
    }


def test_resets_that_vllm_refuses_cost_nothing() -> None:
    result = run(Mode(prefix_caching=True), resets_that_are_refused)
    assert "error" not in result, result["log"][-4000:]
    assert result["asked"] == [False] * 3
    assert result["preempted"] >= 3
    assert result["recomputed"] == 0
    assert not {"fallback.reset", "fallback.untracked"} & result["counts"].keys()
    undisturbed = run(Mode(connector=None, blocks=400), resets_that_are_refused)
    assert result["tokens"] == undisturbed["tokens"]


def test_after_a_weight_update_nothing_stale_is_restored() -> None:
    result = run(Mode(), update_weights(None))
    assert "error" not in result, result["log"][-4000:]
    assert result["done"] is True
    expected = run(Mode(connector=None), update_weights(result["steps"]))
    assert result["tokens"] == expected["tokens"]
    control = run(Mode(), update_weights(None, watched=False))
    assert control["steps"] == result["steps"]
    assert control["tokens"] != expected["tokens"]


def test_an_abort_during_an_asynchronous_restore_frees_everything() -> None:
    result = run(Mode(extra={"async_restore_bytes": 0}), abort_while_loading)
    assert "error" not in result, result["log"][-4000:]
    assert result["kept"]  # what a worker may still read is not given to anybody
    assert result["answered"] >= 7
    assert result["rest"] == {"taken": 0, "copies": 0, "tables": 0}


@pytest.mark.parametrize("multi", [False, True])
def test_a_reset_drops_what_is_parked_and_saves_nothing_stale(multi: bool) -> None:
    result = run(Mode(multi=multi), reset_while_parked)
    assert "error" not in result, result["log"][-4000:]
    assert result["before"]["copies"] > 0
    assert result["before"]["tables"] > 0
    assert result["done"] is True
    assert result["after"] == {"copies": 0, "tables": 0}
    assert result["saved"] == 0
    series = result["series"]
    assert series["pd_launch:preempt_offload_fallback_total{reset}"] > 0
    assert series["pd_launch:preempt_offload_fallback_total{reset_running}"] > 0
    assert len(result["tokens"]) == 8
    assert all(len(tokens) == 150 for tokens in result["tokens"].values())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_abort_while_parked_frees_everything(asynchronous: bool) -> None:
    result = run(Mode(asynchronous=asynchronous), abort_while_parked)
    assert "error" not in result, result["log"][-4000:]
    assert result["gone"]
    assert result["answered"] >= 7
    assert result["rest"] == {"taken": 0, "copies": 0, "tables": 0}
