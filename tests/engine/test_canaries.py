"""Canaries, for each installed release: what the connector reads with a harmless default is there and means the same.

A rename in vLLM would not fail the other tests, which feed such names by stand-ins, and would mean wrong tokens: KV
that is saved after it was zeroed, streaming sessions that are restored where they are stale.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the Python code of vLLM", allow_module_level=True)

from pd_launch.connector import canaries
from pd_launch.connector.metadata import WorkerReport
from pd_launch.connector.scheduler import OffloadScheduler
from pd_launch.connector.wording import WORDING
from pd_launch.schemas.engine.budget import OLD_NAME
from pd_launch.schemas.offload.groups import Group
from tests.engine.record import release

pytestmark = pytest.mark.engine
NEWER = tuple(map(int, release().split(".")[:2])) >= (0, 26)
"""Releases that copy blocks on write."""


@pytest.mark.parametrize("read", canaries.READ, ids=lambda read: f"{read.where[1]}.{read.name}")
def test_the_engine_has_what_is_read(read: canaries.Read) -> None:
    assert canaries.is_there(read)
    if NEWER or read.if_any is None:
        found = canaries._class(read.where)
        assert found is not None, "not by absence"
        assert canaries.has(found, read.name)


@pytest.mark.parametrize("read", canaries.READ, ids=lambda read: f"{read.where[1]}.{read.name}")
def test_a_renamed_one_would_be_missed(read: canaries.Read, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = canaries.Read(read.where, read.name + "_of_old", read.late)
    monkeypatch.setattr(canaries, "READ", (renamed,))
    if canaries._class(read.where) is None and not NEWER:
        pytest.skip("this release has no such thing")
    assert canaries.missing(late=True) == [f"{read.where[1]}.{read.name}_of_old"]
    assert canaries.missing(late=False) == ([] if read.late else [f"{read.where[1]}.{read.name}_of_old"])


def a_request(**fields: Any) -> Any:
    from vllm import SamplingParams
    from vllm.v1.request import Request

    return Request("a", [1, 2, 3], SamplingParams(max_tokens=2), None, **fields)


def test_a_request_says_whether_later_input_may_replace_its_tokens() -> None:
    assert a_request(resumable=True).resumable is True
    assert a_request().resumable is False


def test_a_request_says_whether_it_may_read_cached_kv() -> None:
    from vllm import SamplingParams
    from vllm.v1.request import Request

    asks = Request("a", [1, 2, 3], SamplingParams(max_tokens=2, prompt_logprobs=1), None)
    assert (a_request().skip_reading_prefix_cache, asks.skip_reading_prefix_cache) == (False, True)
    assert (asks.num_tokens, asks.num_prompt_tokens) == (3, 3)


def test_a_cache_of_two_precisions_says_that_new_blocks_are_zeroed() -> None:
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

    def config(*kinds: torch.dtype) -> Any:
        specs = [FullAttentionSpec(block_size=32, num_kv_heads=1, head_size=32, dtype=kind) for kind in kinds]
        groups = [KVCacheGroupSpec([f"layer{i}"], spec) for i, spec in enumerate(specs)]
        return KVCacheConfig(num_blocks=4, kv_cache_tensors=[], kv_cache_groups=groups)

    assert not config(torch.float16, torch.float16).needs_kv_cache_zeroing
    mixed = config(torch.float16, torch.float32).needs_kv_cache_zeroing
    assert mixed == (release() != "0.23.0")  # there only Mamba asks for it


def test_the_scheduler_tells_what_is_zeroed_and_copied() -> None:
    """Both are handed over where the step is made, so they are the names that the runner reads as well."""
    from vllm.v1.core.sched import scheduler
    from vllm.v1.worker.gpu import model_runner

    made, run = inspect.getsource(scheduler.Scheduler.schedule), inspect.getsource(model_runner.GPUModelRunner)
    names = ["new_block_ids_to_zero", "kv_cache_block_copies"][: 2 if NEWER else 1]
    for name in names:
        assert re.search(rf"\b{name}=", made), name
        assert f"scheduler_output.{name}" in run, name
    others = set(re.findall(r"scheduler_output\.(\w*(?:zero|cop(?:y|ies))\w*)", run)) - set(names)
    assert not others, "the runner writes into blocks by names that are not looked at"


def test_the_pool_is_reset_by_the_method_that_is_watched() -> None:
    """By the manager itself, or by the coordinator that it asks (newer releases)."""
    from vllm.v1.core.kv_cache_coordinator import KVCacheCoordinator
    from vllm.v1.core.kv_cache_manager import KVCacheManager

    owner = KVCacheCoordinator if hasattr(KVCacheCoordinator, "reset_prefix_cache") else KVCacheManager
    source = inspect.getsource(owner.reset_prefix_cache)
    assert re.search(r"\bpool\.reset_prefix_cache\(|block_pool\.reset_prefix_cache\(", source), source


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    from pd_launch.connector import telling

    told: list[str] = []
    monkeypatch.setattr(telling.logger, "warning", lambda line, *words: told.append(line % words))
    return told


def test_without_one_that_matters_nothing_is_saved_and_it_is_told_once(lines: list[str]) -> None:
    side = OffloadScheduler([Group(4)], 10, WORDING[OLD_NAME])
    side.lacks = ["SchedulerOutput.new_block_ids_to_zero"]
    side.wrap_reset(SimpleNamespace(reset_prefix_cache=lambda: True))
    side.worker_output(
        SimpleNamespace(kv_connector_worker_meta=WorkerReport(0, 100), invalid_block_ids=set(), finished_recving=set())
    )
    for _ in range(2):
        side.ledger.track("a", ([1, 2],), 8)
        side._preempted("a", SimpleNamespace(finished_req_ids=set(), num_scheduled_tokens={}))
    assert side.counts.take() == {"fallback.unknown_engine": 2}
    assert len(lines) == 1 and "SchedulerOutput.new_block_ids_to_zero" in lines[0]
