"""One request alone that preempts itself, and a device cache that is zeroed after every save.

In bfloat16 "the tokens of a run with plenty of blocks" cannot be asked: other batches round otherwise. Alone, each step
has the same batch with and without preemptions, so the tokens of the same engine undisturbed must come, of any model
and type; and all that is not brought back is zero, so loads that do nothing must show.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine import record
from tests.engine.harness import Counters, Mode, answer_all, count_all, make_engine, prepared, run
from tests.engine.modes import ALONE, FURTHER, NOT_SERVED

pytestmark = pytest.mark.engine
REFUSED_AT = (110, 130, 170, 215)  # computed tokens at which the request gets no block


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


def refuse_blocks(left: list[int]) -> None:
    """Let no block be had for a running request at these numbers of computed tokens, once each."""
    from vllm.v1.core.kv_cache_manager import KVCacheManager

    allocate = KVCacheManager.allocate_slots

    def refusing(manager: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        if left and request.status.name == "RUNNING" and request.num_computed_tokens >= left[0]:
            left.pop(0)
            return None
        return allocate(manager, request, *args, **kwargs)

    KVCacheManager.allocate_slots = refusing


def zero_after_saves(loads: list[bool]) -> None:
    """Zero the whole device cache after every save; loads do nothing unless ``loads`` says so."""
    from pd_launch.connector.worker import OffloadWorker

    register, save, load = OffloadWorker.register, OffloadWorker.save, OffloadWorker._load

    def registering(worker: Any, caches: Any) -> None:
        worker.device_caches = list(caches.values())
        register(worker, caches)

    def saving(worker: Any, step: Any) -> None:
        save(worker, step)
        for cache in worker.device_caches if step.saves else ():
            cache.zero_()

    def loading(worker: Any, *args: Any) -> None:
        if loads[0]:
            load(worker, *args)

    OffloadWorker.register = registering  # type: ignore[method-assign]
    OffloadWorker.save = saving  # type: ignore[method-assign]
    OffloadWorker._load = loading  # type: ignore[method-assign]


def alone(mode: Mode) -> dict[str, Any]:
    left: list[int] = []
    loads = [True]
    refuse_blocks(left)
    zero_after_saves(loads)
    counters = Counters()
    counters.install()
    engine = make_engine(mode)
    counts = count_all(engine)
    undisturbed = answer_all(engine, mode, counters, counts)
    left[:] = REFUSED_AT
    result = answer_all(engine, mode, counters, counts)
    left[:], loads[0] = REFUSED_AT, False
    control = answer_all(engine, mode, counters, counts)
    return {"undisturbed": undisturbed, "result": result, "control": control}


@pytest.mark.parametrize("name", [*FURTHER, *ALONE])
def test_a_request_that_preempts_itself_goes_on_where_it_was(name: str) -> None:
    if reason := NOT_SERVED.get(record.release(), {}).get(name):
        pytest.skip(reason)
    found = run((ALONE | FURTHER)[name], alone)
    assert "error" not in found, found["log"][-6000:]
    undisturbed, result, control = found["undisturbed"], found["result"], found["control"]
    same, shows = result["tokens"] == undisturbed["tokens"], control["tokens"] != undisturbed["tokens"]
    restored = result["counts"].get("restored", 0)
    row = [name, f"{result['preempted']}", f"{restored:.0f}", f"{result['recomputed']}"]
    rows = record.FURTHER if name in FURTHER else record.ALONE
    record.put(record.release() + rows, [*row, "yes" if same else "no", "differs" if shows else "identical"])
    assert undisturbed["preempted"] == 0
    assert result["preempted"] == result["counts"]["parked"] == restored == len(REFUSED_AT)
    assert result["recomputed"] == 0
    assert same
    assert control["counts"]["restored"] == len(REFUSED_AT)
    assert shows
    assert result["at_rest"] == {"taken": 0, "copies": 0, "tables": 0}
