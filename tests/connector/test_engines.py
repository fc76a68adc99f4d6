"""Several engines in one process, to all of which vLLM hands one worker side of the connector."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("vllm.distributed.kv_transfer.kv_connector.v1.base")

from pd_launch.connector import connector as module  # noqa: E402
from pd_launch.connector.connector import SIDES, RecomputeCPUOffloadConnector  # noqa: E402
from pd_launch.connector.engines import RepeatedError, Siblings, Sides, own_transfer  # noqa: E402
from pd_launch.connector.metadata import StepMetadata  # noqa: E402
from pd_launch.schemas.offload.ledger import Step, Transfer  # noqa: E402

OURS = "RecomputeCPUOffloadConnector"


class Side:
    pass


def test_each_engine_has_the_worker_side_made_before_it() -> None:
    sides: Sides[Side] = Sides()
    assert sides.of("none yet") is None
    first, second = Side(), Side()
    sides.add(first)
    assert sides.of("a") is first
    assert sides.of("b") is None
    sides.add(second)
    assert sides.of("a") is first
    assert sides.of("b") is second
    del first
    gc.collect()
    assert sides.of("a") is None
    assert sides.of("b") is second


def test_an_engine_that_never_came_to_be_leaves_its_side_to_nobody() -> None:
    sides: Sides[Side] = Sides()
    sides.add(Side())
    gc.collect()
    assert sides.of("a") is None
    failed, second = Side(), Side()
    sides.add(failed)
    sides.add(second)
    assert sides.of("b") is second


@pytest.mark.parametrize(
    ("transfer", "found"),
    [
        (None, None),
        (("NixlConnector", {}), None),
        ((OURS, {"cpu_bytes_to_use": 5}), ("kv_both", {"cpu_bytes_to_use": 5})),
        (("MultiConnector", {"connectors": [{"kv_connector": "NixlConnector"}]}), None),
        (
            ("MultiConnector", {"connectors": [{"kv_connector": "NixlConnector"}, {"kv_connector": OURS}]}),
            ("kv_both", {}),
        ),
        (
            ("MultiConnector", {"connectors": [{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer"}]}),
            ("kv_consumer", {}),
        ),
    ],
)
def test_options_of_an_engine(transfer: Any, found: Any) -> None:
    config = transfer and SimpleNamespace(
        kv_connector=transfer[0], kv_connector_extra_config=transfer[1], kv_role="kv_both"
    )
    assert own_transfer(config) == found


def config(blocks: int, budget: int | None) -> Any:
    """What vLLM knows of an engine with so many device blocks; no budget: without this connector."""
    transfer = SimpleNamespace(
        kv_connector=OURS, kv_role="kv_consumer", kv_connector_extra_config={"cpu_bytes_to_use_per_rank": budget}
    )
    return SimpleNamespace(
        kv_transfer_config=transfer if budget else None,
        cache_config=SimpleNamespace(num_gpu_blocks=blocks),
        parallel_config=SimpleNamespace(tensor_parallel_size=1, pipeline_parallel_size=1),
    )


def cache(blocks: int) -> Any:
    return torch.arange(blocks * 256, dtype=torch.float32).view(blocks, 2, 8, 16)


def handed(first: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The worker's connector that was made for an engine, and what vLLM's current configuration is set by."""
    made: Any = object.__new__(RecomputeCPUOffloadConnector)
    made._cache_config, made._ranks, made._step = first.cache_config, 1, None
    budget = first.kv_transfer_config.kv_connector_extra_config["cpu_bytes_to_use_per_rank"]
    made.worker = made.make_worker(
        budget,
        first.cache_config.num_gpu_blocks,
        SimpleNamespace(pin_host_memory=False, copy_backend="auto", touch_host_memory=False),
    )
    made._worker_here = None
    SIDES.add(made.worker)
    monkeypatch.setattr(module, "get_current_vllm_config_or_none", lambda: made.current)
    made.current = first
    return made


def test_a_start_after_one_that_failed_has_its_own_budget_and_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    made = handed(config(8, 1000), monkeypatch)
    with pytest.raises(ValueError, match="holds no block"):
        made.register_kv_caches({"layer": cache(8)})
    made.current = config(12, 4096)
    made.register_kv_caches({"layer": cache(12)})
    metadata = StepMetadata(Step(1, report=True), "the second")
    made.handle_preemptions(metadata)
    made._step = metadata.step
    assert made.build_connector_worker_meta().capacity == 4


def test_engines_in_turns_keep_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = handed(config(8, 4096), monkeypatch)
    caches = [cache(8), cache(12) + 7]
    made.register_kv_caches({"layer": caches[0]})
    first = SIDES.of("first")  # as the scheduler side of an engine in this process does
    made.current = config(12, 8192)
    made.register_kv_caches({"layer": caches[1]})
    second = SIDES.of("second")
    assert first is not second
    made.current = config(20, None)
    made.register_kv_caches({"layer": cache(20)})  # an engine without a connector
    for number in (1, 2):
        for name, tensor in zip(("first", "second"), caches, strict=True):
            before = tensor[3].clone()
            save = Step(2 * number - 1, saves=[Transfer("r", [3], [0])])
            made.handle_preemptions(StepMetadata(save, name))
            tensor[3] = 0
            made.handle_preemptions(StepMetadata(Step(2 * number), name))
            made.worker.load(Step(2 * number, loads=[Transfer("r", [5], [0])]))
            assert torch.equal(tensor[5], before)
            tensor[3] = before
    made.handle_preemptions(StepMetadata(Step(0)))  # of a scheduler side that does nothing
    made.handle_preemptions(None)
    with pytest.raises(RuntimeError, match="never registered in this process"):
        made.handle_preemptions(StepMetadata(Step(1), "third"))


class Child:
    def __init__(self, name: str = OURS) -> None:
        self.default_name = name


def test_two_children_of_one_engine_are_refused_by_name() -> None:
    siblings, cache, other_cache = Siblings(), object(), object()
    first = Child()
    siblings.add(first, "worker", cache)
    siblings.add(first, "worker", cache)
    siblings.add(Child(), "scheduler", cache)
    siblings.add(Child(), "worker", other_cache)
    with pytest.raises(RepeatedError, match=f"PreemptOffloadConnector and {OURS} are children of one MultiConnector"):
        siblings.add(Child("PreemptOffloadConnector"), "worker", cache)


@pytest.mark.parametrize("end", ["shut down", "gone"])
def test_an_engine_that_starts_once_more_may_have_another(end: str) -> None:
    siblings, cache = Siblings(), object()
    first = Child()
    siblings.add(first, "worker", cache)
    if end == "shut down":
        siblings.remove(first)
    else:
        del first
        gc.collect()
    siblings.add(Child(), "worker", cache)
