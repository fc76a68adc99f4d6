"""The bundled connector on the unmodified scheduler of the installed vLLM, against a run without pressure.

Each mode asserts that requests were preempted and restored, that nothing was recomputed, and that the token ids equal
those of the same model with plenty of blocks. The controls show that the assertions can fail.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from importlib.metadata import version
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine.harness import FAULTY, Mode, prepare, run

pytestmark = pytest.mark.engine

# The later requests, who are preempted first, are longer than the window of 128 tokens; the earlier ones still grow.
# vLLM 0.27.1 halves the block of 32 tokens for this model.
SLIDING_BLOCKS = 44 if version("vllm").startswith("0.27.") else 28
SLIDING = {"model": "sliding", "blocks": SLIDING_BLOCKS, "prompt": 30, "longer": 15, "output": 115}
NGRAM = {"model": "mild", "drafts": 3, "repeat": 10}
IDENTICAL = {
    "plain": Mode(),
    "later name": Mode(connector="PreemptOffloadConnector"),
    "prefix caching": Mode(prefix_caching=True),
    "prefix caching, common prompt": Mode(prefix_caching=True, common=64),
    "shared host blocks": Mode(prefix_caching=True, common=64, extra={"enable_offload_prefix_caching": True}),
    "kv_both": Mode(role="kv_both"),
    "below MultiConnector": Mode(multi=True),
    "below MultiConnector, prefix caching": Mode(multi=True, prefix_caching=True),
    "hybrid": Mode(model="hybrid", blocks=22),
    "hybrid, prefix caching": Mode(model="hybrid", blocks=22, prefix_caching=True),
    "sliding window": Mode(**SLIDING),
    "sliding window, async": Mode(**SLIDING, asynchronous=True),
    "async scheduling": Mode(asynchronous=True),
    "async scheduling, kv_both": Mode(asynchronous=True, role="kv_both", prefix_caching=True),
    "async scheduling, hybrid": Mode(asynchronous=True, model="hybrid", blocks=22),
    "chunked prefill": Mode(batched=64),
    "priority": Mode(priority=True),
    "two ranks": Mode(tensor_parallel=2),
    "n-gram drafts": Mode(**NGRAM),
}


@pytest.fixture(scope="module", autouse=True)
def vllm() -> None:
    prepare()


@cache
def reference(model: str, lengths: tuple[int, int, int], common: int, repeat: int) -> list[list[int]]:
    """Tokens of the same prompts with plenty of blocks and no connector."""
    prompt, longer, output = lengths
    plenty = Mode(
        model=model,
        connector=None,
        blocks=400,
        prompt=prompt,
        longer=longer,
        output=output,
        common=common,
        repeat=repeat,
    )
    result = run(plenty)
    assert result.get("preempted") == 0, result["log"][-4000:]
    return result["tokens"]


def answer(mode: Mode) -> dict[str, Any]:
    result = run(mode)
    assert "error" not in result, result["log"][-6000:]
    expected = reference(mode.model, (mode.prompt, mode.longer, mode.output), mode.common, mode.repeat)
    result["identical"] = result["tokens"] == expected
    return result


def series(result: dict[str, Any], name: str) -> float:
    return result["metrics"]["pd_launch:preempt_offload_" + name]


@pytest.mark.parametrize("name", IDENTICAL)
def test_identical_and_nothing_recomputed(name: str) -> None:
    mode = IDENTICAL[name]
    result = answer(mode)
    assert result["preempted"] >= 3
    assert result["counts"]["parked"] == result["preempted"]
    assert result["counts"]["restored"] >= 3
    assert result["again"] == 0
    if not mode.drafts and not mode.common:
        assert result["recomputed"] == 0
    assert result["identical"]
    assert (result["nulls"] > 0) == (mode.model in ("sliding", "hybrid"))
    assert result["distinct"] > (5 if mode.drafts else 90)
    assert result["at_rest"] == {"taken": 0, "copies": 0, "tables": 0}


def test_plain_takes_no_extra_step() -> None:
    assert answer(Mode())["steps"] == answer(Mode(connector=None))["steps"]


@pytest.mark.parametrize("multi", [False, True])
def test_the_series_add_up(multi: bool) -> None:
    result = answer(Mode(multi=multi))
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


def test_the_guides_log_lines_are_there() -> None:
    log = answer(Mode(host_blocks=6))["log"]
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
        assert text in log, text


def test_a_pool_too_small_recomputes() -> None:
    result = answer(Mode(host_blocks=6))
    assert result["identical"]
    assert 0 < result["recomputed"] < 860
    assert series(result, "fallback_total{pool_full}") > 0
    assert series(result, "fallback_total{partial}") > 0
    assert result["at_rest"] == {"taken": 0, "copies": 0, "tables": 0}


def test_control_without_the_connector_recomputes() -> None:
    result = answer(Mode(connector=None))
    assert result["identical"]
    assert result["recomputed"] > 0


@pytest.mark.parametrize("connector", ["ReversedRestoreConnector", "LateSaveConnector"])
def test_control_a_wrong_copy_shows(connector: str) -> None:
    result = answer(Mode(connector=connector, module=FAULTY))
    assert result["counts"]["restored"] >= 3
    assert not result["identical"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"role": "kv_producer"}, "set kv_role to kv_consumer"),
        ({"extra": {"cpu_bytes_per_rank": 1}}, "write 'cpu_bytes_to_use_per_rank' instead"),
        ({"extra": {"enable_offload_prefix_caching": "false"}}, "enable_offload_prefix_caching must be a boolean"),
        ({"extra": {"cpu_bytes_to_use_per_rank": 1000}}, "holds no block"),
    ],
)
def test_refused_at_start(change: dict[str, Any], message: str) -> None:
    result = run(Mode(**change))
    assert message in result["error"]
