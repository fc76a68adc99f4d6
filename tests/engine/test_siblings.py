"""Other connectors that keep KV in host memory, beside ours below one MultiConnector.

vLLM's own refuse the CPU or need CUDA streams, so bench/peers.py gives them copies; nothing else of them is changed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine import harness
from tests.engine.harness import Counters, Mode, answer_all, at_rest, count_all, prepared, run

pytestmark = pytest.mark.engine
PREFIXES = Mode(prefix_caching=True, common=32, multi=True)
ROOM = {"cpu_bytes_to_use": 200 * 65536}
SIBLINGS: dict[str, dict[str, Any]] = {
    "OffloadingConnector": ROOM
    | {"spec_name": "CpuSpec", "spec_module_path": "bench.peers", "offload_prompt_only": False},
    "SimpleCPUOffloadConnector": ROOM,
}


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


@cache
def expected() -> list[list[int]]:
    result = run(Mode(connector=None, blocks=400, common=32))
    assert result.get("preempted") == 0, result["log"][-4000:]
    return list(result["tokens"])


def beside(mode: Mode, sibling: str, first: bool) -> dict[str, Any]:
    """Serve with a sibling behind ours, or before it, the same requests twice: the second time prefixes are known."""
    if sibling == "SimpleCPUOffloadConnector":
        from bench.peers import simple_on_cpu

        simple_on_cpu()
    usual = harness.transfer_config

    def config(mode: Mode) -> dict[str, Any]:
        made = usual(mode)
        ours = made["kv_connector_extra_config"]["connectors"][-1]
        other = {"kv_connector": sibling, "kv_role": "kv_both", "kv_connector_extra_config": SIBLINGS[sibling]}
        made["kv_connector_extra_config"]["connectors"] = [ours, other] if first else [other, ours]
        return made

    harness.transfer_config = config
    counters = Counters()
    counters.install()
    engine = harness.make_engine(mode)
    counts = count_all(engine)
    once = answer_all(engine, mode, counters, counts)
    again = answer_all(engine, mode, counters, counts)
    return {**once, "second": again, "rest": at_rest(engine)}


def _served(sibling: str) -> None:
    if sibling == "OffloadingConnector" and version("vllm").startswith("0.27."):
        pytest.skip("below MultiConnector, this vLLM cannot read OffloadingConnector's own statistics")


def _right(result: dict[str, Any]) -> None:
    assert "error" not in result, result["log"][-4000:]
    for one in (result, result["second"]):
        assert one["tokens"] == expected()
        assert one["preempted"] >= 3
    assert result["rest"] == {"taken": 0, "copies": 0, "tables": 0}


@pytest.mark.parametrize("sibling", SIBLINGS)
def test_before_a_sibling_ours_restores_all_and_answers_are_right(sibling: str) -> None:
    _served(sibling)
    result = run(PREFIXES, partial(beside, sibling=sibling, first=True))
    _right(result)
    for one in (result, result["second"]):
        assert one["counts"]["restored"] >= 3
        assert one["again"] == 0


@pytest.mark.parametrize("sibling", SIBLINGS)
def test_behind_a_sibling_answers_are_right_and_copies_that_it_makes_needless_are_counted(sibling: str) -> None:
    """The sibling offers what it has of the prefix, and vLLM takes the first offer: the rest is computed again."""
    _served(sibling)
    result = run(PREFIXES, partial(beside, sibling=sibling, first=False))
    _right(result)
    for one in (result, result["second"]):
        counts = one["counts"]
        assert counts["parked"] == one["preempted"]
        assert counts.get("restored", 0) + counts.get("fallback.superseded", 0) == counts["parked"]
        assert counts["fallback.superseded"] >= 3
