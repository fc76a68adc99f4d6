"""What vllm-ascend's schedulers and wrappers of connectors ask of a connector, release by release, played by hand.

tests/ascend runs the real ones of 0.23.0. Between 0.23.0 and 0.28.0rc1 they differ in who calls what, how often and
when.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("vllm.distributed.kv_transfer.kv_connector.v1.base")

from pd_launch.connector import connector as module
from pd_launch.connector.connector import PreemptOffloadConnector, RecomputeCPUOffloadConnector
from tests.connector.test_sides import Pool, output, request, scheduler


def connector(kind: Any = RecomputeCPUOffloadConnector) -> Any:
    """The scheduler side of a connector, without an engine's configuration."""
    made = object.__new__(kind)
    made.scheduler, made.worker, made._step, made._engine = scheduler(), None, None, None
    return made


def park(made: Any, rid: str = "a", rows: Any = ([1, 2, 3],), computed: int = 9) -> None:
    made.update_state_after_alloc(request(rid), SimpleNamespace(get_block_ids=lambda: rows), 0)
    assert made.update_state_before_preempt(request(rid), rows, computed) is True
    made.build_connector_meta(output(preempted={rid}))


@pytest.mark.parametrize("kind", [RecomputeCPUOffloadConnector, PreemptOffloadConnector])
def test_every_member_is_there(kind: Any) -> None:
    for name in (
        "update_state_before_preempt",
        "has_preempted_request",
        "bind_gpu_block_pool",
        "request_finished_all_groups",
        "handle_preemptions",
    ):
        assert callable(getattr(kind, name)), name
    assert kind.requires_full_blocks_on_update_after_alloc is False


def test_the_hook_may_be_called_twice_in_a_step() -> None:
    """0.23 … 0.27: the wrapper calls it for every child; a nested one calls it again."""
    made = connector()
    made.update_state_before_preempt(request(), ([1, 2, 3],), 9)
    made.update_state_before_preempt(request(), ([1, 2, 3],), 9)
    step = made.build_connector_meta(output(preempted={"a"})).step
    assert [t.device for t in step.saves] == [[1, 2, 3]]


def test_asking_whether_a_request_is_parked_changes_nothing() -> None:
    made = connector()
    assert not made.has_preempted_request("a")
    park(made)
    free = made.scheduler.ledger.host.free
    for _ in range(31):
        assert made.has_preempted_request("a")
        assert made.get_num_new_matched_tokens(request(), 0) == (9, False)
    assert made.scheduler.ledger.host.free == free
    made.request_finished_all_groups(request(), ([],))
    assert not made.has_preempted_request("a")


def test_a_child_that_was_not_chosen_gets_no_blocks_and_0_tokens() -> None:
    """Another child restores the request, or the device's own cache has it all: the copy goes, nothing is loaded."""
    made = connector()
    park(made)
    made.update_state_after_alloc(request(), SimpleNamespace(get_block_ids=lambda: ([],)), 0)
    assert not made.has_preempted_request("a")
    assert made.build_connector_meta(output()).step.loads == []


def test_victims_of_a_reset_are_named_in_preempted_req_ids() -> None:
    """≥ 0.25: everything preempted since the last step, resets included, which preempt without calling the hook."""
    made, pool = connector(), Pool()
    made.bind_gpu_block_pool(pool)
    made.build_connector_meta(output(new={"r": ([[5, 6]], 0)}, scheduled={"r": 8}))
    park(made)
    pool.reset_prefix_cache()
    step = made.build_connector_meta(output(preempted={"a", "r"})).step
    assert step.saves == []
    assert made.get_num_new_matched_tokens(request(), 0) == (0, False)


def test_the_block_pool_may_come_through_the_manager() -> None:
    """vLLM 0.32 binds the manager of the cache, which hands its pool on."""
    made, pool = connector(), Pool()
    base = getattr(RecomputeCPUOffloadConnector, "bind_kv_cache_manager", None)
    if base is None:
        pytest.skip("this vLLM binds the pool directly")
    park(made)
    base(made, SimpleNamespace(block_pool=pool))
    pool.reset_prefix_cache()
    assert not made.has_preempted_request("a")


def test_a_finished_request_asks_for_no_parameters() -> None:
    """At most one child may return kv_transfer_params, and that is the P/D connector."""
    made = connector()
    park(made)
    assert made.request_finished_all_groups(request(), ([1, 2, 3],)) == (False, None)


@pytest.mark.parametrize("role", ["kv_both", "kv_producer"])
def test_an_inert_connector_answers_every_member(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "current_platform", SimpleNamespace(device_type="npu"))
    made = object.__new__(RecomputeCPUOffloadConnector)
    assert not made._active(role, module.KVConnectorRole.SCHEDULER)
    made.scheduler = made.worker = made._step = None
    made.bind_gpu_block_pool(Pool())
    assert made.update_state_before_preempt(request(), ([1],), 4) is False
    assert not made.has_preempted_request("a")
    assert made.get_num_new_matched_tokens(request(), 0) == (0, False)
    made.update_state_after_alloc(request(), None, 0)
    meta = made.build_connector_meta(output())
    assert (meta.step.saves, meta.step.loads) == ([], [])
    made.register_kv_caches({})
    made.handle_preemptions(meta)
    made.bind_connector_metadata(meta)
    made.start_load_kv(None)
    assert made.build_connector_worker_meta() is None
    assert made.get_block_ids_with_load_errors() == set()
    assert made.get_kv_connector_stats() is None
    assert made.reset_cache() is True


def test_the_connector_chooses_no_victim() -> None:
    """Which request is preempted is the scheduler's business: every victim that it names is saved, and nobody else."""
    made = connector()
    for rid, rows in (("a", [[1, 2]]), ("b", [[3, 4]]), ("c", [[5, 6]])):
        made.build_connector_meta(output(new={rid: (rows, 0)}, scheduled={rid: 8}))
    made.scheduler.wrap_reset(Pool())
    step = made.build_connector_meta(output(preempted={"b"})).step
    assert [(t.request_id, t.device) for t in step.saves] == [("b", [3, 4])]
