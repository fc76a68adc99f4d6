"""The contract with vllm-ascend: its real scheduler and wrapper of connectors, with both sides of ours.

Upstream's own connector answers the same requests beside it, and is the reference where it is right.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from tests.ascend.stand_in import OFFLOAD, SCHEDULER, WRAPPER, ascend, why_not

if reason := why_not():
    pytest.skip(reason, allow_module_level=True)

ascend(SCHEDULER)
from tests.ascend.engine import LAYOUTS, Engine, Outcome, Work  # noqa: E402

BUDGET = 1 << 22
SMALL = 6  # host blocks that are too few


def ours(budget: int = BUDGET, **extra: Any) -> dict[str, Any]:
    return {
        "kv_connector": "RecomputeCPUOffloadConnector",
        "kv_connector_module_path": "pd_launch.connector",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": budget, **extra},
    }


def upstream(budget: int = BUDGET, **extra: Any) -> dict[str, Any]:
    return {
        **ours(budget, **extra),
        "kv_connector": "RecomputeCPUOffloadConnectorV1",
        "kv_connector_module_path": OFFLOAD,
    }


def below_the_wrapper(order: str) -> dict[str, Any]:
    child = {**ours(), "kv_role": "kv_consumer"}
    other = {
        "kv_connector": "BystanderConnector",
        "kv_connector_module_path": "tests.engine.faulty",
        "kv_role": "kv_consumer",
    }
    return {
        "kv_connector": "AscendMultiConnector",
        "kv_connector_module_path": WRAPPER,
        "kv_connector_extra_config": {"connectors": [other, child] if order == "after" else [child, other]},
    }


@pytest.fixture(autouse=True)
def on_an_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connector takes the platform for an NPU; host memory is not pinned, since there is nothing to pin it for."""
    import torch

    from pd_launch.connector import connector

    monkeypatch.setattr(connector, "current_platform", SimpleNamespace(device_type="npu"))
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *a, **k: zeros(*a, **{n: v for n, v in k.items() if n != "pin_memory"}))


def serve(work: Work) -> Outcome:
    name = "AsyncRecomputeScheduler" if work.asynchronous else "RecomputeScheduler"
    return Engine(work, getattr(ascend(SCHEDULER), name)).serve()


@cache
def expected(layout: str, common: int) -> dict[str, list[int]]:
    """Tokens of the same requests with plenty of blocks."""
    outcome = serve(Work(layout=layout, common=common, blocks=200))
    assert outcome.preempted == 0
    return outcome.tokens


def check_whole(outcome: Outcome, work: Work) -> None:
    assert set(outcome.reasons.values()) == {"length"}
    assert outcome.tokens == expected(work.layout, work.common)


def at_rest(outcome: Outcome) -> None:
    children = getattr(outcome.connector, "_connectors", [outcome.connector])
    ledger = next(c.scheduler.ledger for c in children if getattr(c, "scheduler", None))
    assert (ledger.copies, ledger.tables) == ({}, {})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_preempted_requests_are_restored_under_its_scheduler(layout: str) -> None:
    work = Work(layout=layout, connector=ours())
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.preempted >= 3
    assert outcome.recomputed(work) == 0
    at_rest(outcome)
    reference = serve(Work(layout=layout, connector=upstream()))
    assert reference.tokens == outcome.tokens
    assert reference.recomputed(work) == 0
    assert outcome.steps <= reference.steps


@pytest.mark.parametrize("sharing", [False, True])
def test_with_prefix_caching_nothing_is_recomputed(sharing: bool) -> None:
    work = Work(prefix_caching=True, connector=ours(enable_offload_prefix_caching=sharing))
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.preempted >= 3
    assert outcome.recomputed(work) == 0


def test_shared_prompts_with_prefix_caching() -> None:
    work = Work(prefix_caching=True, common=64, connector=ours(enable_offload_prefix_caching=True))
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.preempted >= 3
    at_rest(outcome)


def test_async_scheduling_where_upstream_cannot() -> None:
    work = Work(asynchronous=True, connector=ours())
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.preempted >= 3
    at_rest(outcome)


@pytest.mark.parametrize(
    ("layout", "asynchronous"), [("K and V apart", False), ("K and V apart", True), ("hybrid", False)]
)
def test_restores_beside_the_others_steps(layout: str, asynchronous: bool) -> None:
    work = Work(layout=layout, asynchronous=asynchronous, connector=ours(async_restore_bytes=0))
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.preempted >= 3
    at_rest(outcome)


@pytest.mark.parametrize("order", ["before", "after"])
def test_below_its_wrapper_of_connectors(order: str) -> None:
    work = Work(connector=below_the_wrapper(order))
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.preempted >= 3
    assert outcome.recomputed(work) == 0
    at_rest(outcome)


def test_a_pool_too_small_truncates_no_answer() -> None:
    budget = SMALL * 2 * 2 * 32 * 2 * 32 * 2
    work = Work(connector=ours(budget))
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.recomputed(work) > 0
    reference = serve(Work(connector=upstream(budget)))
    assert "recomputed" in reference.reasons.values()  # upstream hands them back, and answers are cut short


def test_control_without_a_connector_requests_are_preempted_and_recomputed() -> None:
    work = Work()
    outcome = serve(work)
    check_whole(outcome, work)
    assert outcome.preempted >= 3
    assert outcome.recomputed(work) > 0


@pytest.mark.parametrize("name", ["ReversedRestoreConnector", "LateSaveConnector"])
def test_control_a_wrong_copy_shows(name: str) -> None:
    module = "tests.engine.faulty"
    work = Work(connector={**ours(), "kv_connector": name, "kv_connector_module_path": module})
    outcome = serve(work)
    assert outcome.preempted >= 3
    assert outcome.tokens != expected(work.layout, 0)


@pytest.mark.parametrize("role", ["kv_both", "kv_producer"])
def test_under_another_role_it_does_nothing_and_says_so(role: str, caplog: pytest.LogCaptureFixture) -> None:
    work = Work(connector=ours())
    engine = Engine(work, ascend(SCHEDULER).RecomputeScheduler)
    engine.config.kv_transfer_config.kv_role = role
    connector = engine.scheduler.connector
    with caplog.at_level("WARNING"):
        inert = type(connector)(engine.config, connector.role, engine.cache_config)
    assert inert.scheduler is None and inert.worker is None
    assert inert.update_state_before_preempt(SimpleNamespace(request_id="a"), ([1],), 4) is False
    assert not inert.has_preempted_request("a")
