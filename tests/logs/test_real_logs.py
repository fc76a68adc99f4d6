"""Logs of the real CPU engine, shortened, in every outcome; the true counts come from the engine's own scheduler."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.logs.lines import report

REAL = Path(__file__).parent / "real"
FINE = {"verdict": "healthy", "preempted": 6, "restored": 6, "recomputed": 0}
# recomputed: tokens by a counter fed from SchedulerOutput in the run that wrote the log
TRUTH: dict[str, dict[str, Any]] = {
    "healthy": FINE,
    "async": FINE,
    "multi": FINE,
    "later_name": FINE,
    "two_ranks": FINE,
    "0.27.1-healthy": FINE,
    "0.27.1-two_ranks": FINE,
    "served-decode": FINE,
    "idle": {"verdict": "idle", "preempted": 0},
    "pool_full": {
        "verdict": "fallbacks",
        "codes": ["PD304", "PD304"],
        "fallbacks": {"partial": 3, "pool_full": 3},
        "restored": 3,
        "recomputed": 572,
    },
    "0.27.1-pool_full": {
        "verdict": "fallbacks",
        "codes": ["PD304", "PD304"],
        "fallbacks": {"partial": 3, "pool_full": 3},
        "recomputed": 572,
    },
    "partial": {
        "verdict": "fallbacks",
        "codes": ["PD304"],
        "fallbacks": {"pool_full": 1},
        "restored": 5,
        "recomputed": 224,
    },
    "save_failed": {
        "verdict": "fallbacks",
        "codes": [None],
        "fallbacks": {"save_failed": 1},
        "restored": 5,
        "recomputed": 160,
    },
    "load_failed": {"verdict": "fallbacks", "codes": ["PD221"], "fallbacks": {"load_failed": 1}, "preempted": 4},
    "load_failed_policy": {"verdict": "fallbacks", "codes": ["PD221"], "fallbacks": {"load_failed": 1}},
    "none": {"verdict": "inactive", "codes": [None], "preempted": 0},
    "served-control": {"verdict": "inactive", "codes": [None]},
    "served-prefill": {"verdict": "inactive", "codes": []},
    "producer": {"verdict": "errors", "codes": ["PD105"]},
    "no_block": {"verdict": "errors", "codes": ["PD304"]},
    "bad_option": {"verdict": "errors", "codes": ["PD223"]},
    "bad_bytes": {"verdict": "errors", "codes": ["PD007"]},
    "bad_bool": {"verdict": "errors", "codes": ["PD007"]},
    "unsupported": {"verdict": "errors", "codes": ["PD201"]},
}


def test_every_log_has_its_truth() -> None:
    assert {path.stem for path in REAL.glob("*.log")} == set(TRUTH)


@pytest.mark.parametrize("name", TRUTH)
def test_real_log(name: str) -> None:
    truth = TRUTH[name]
    found = report((REAL / f"{name}.log").read_text())
    assert found.verdict == truth["verdict"]
    assert found.status == (0 if truth["verdict"] in ("healthy", "idle") else 1)
    assert [p.code for p in found.problems] == truth.get("codes", [])
    assert all(p.help for p in found.problems)
    assert found.counts is not None and found.recomputed is not None
    assert found.counts.fallbacks == truth.get("fallbacks", {})
    if "preempted" in truth:
        assert found.counts.preempted == truth["preempted"]
    if "restored" in truth:
        assert found.counts.restored == truth["restored"]
    if "recomputed" in truth:
        assert found.recomputed.at_most is not None
        assert found.recomputed.at_least <= truth["recomputed"] <= found.recomputed.at_most


def test_the_connector_is_described() -> None:
    found = report((REAL / "served-decode.log").read_text())
    connector = found.connector
    assert connector is not None
    assert (found.vllm, found.role) == ("0.32.0", "kv_consumer")
    assert (connector.name, connector.origin, connector.created) == ("RecomputeCPUOffloadConnector", "bundled", True)
    assert (connector.blocks, connector.block_bytes, connector.per_rank_bytes) == (1024, 65536, 64 * 2**20)
    assert connector.blocks_used_most == 4
    assert found.scheduler is not None and found.scheduler.name is None


def test_the_budget_that_would_do_is_said() -> None:
    found = report((REAL / "partial.log").read_text())
    (problem,) = found.problems
    assert "576 KiB" in problem.help and "1048576" in problem.help


def test_a_request_is_told_line_by_line() -> None:
    found = report((REAL / "healthy.log").read_text())
    assert sum(request.preemptions for request in found.requests) == 6
    once = next(request for request in found.requests if request.preemptions == 1)
    assert [moment.event for moment in once.moments] == ["parked", "enabled", "restored"]
    twice = next(request for request in found.requests if request.preemptions == 2)
    assert [moment.event for moment in twice.moments] == ["parked", "enabled", "restored"] * 2


def test_no_trace_of_the_machine() -> None:
    for path in REAL.glob("*.log"):
        text = path.read_text()
        assert "/root" not in text and "/work" not in text and "/tmp/vllm" not in text
        assert path.stat().st_size < 20_000


OLD_LINE = re.compile(r"(Skip recompute offload for request (\S+): .*?are needed; )it will be recomputed\.")


def with_tokens(name: str, computed: dict[str, int]) -> str:
    """Return a log as it is written since the line of a request that was not saved tells its tokens."""
    text = (REAL / f"{name}.log").read_text()
    told = {match[2]: computed[match[2].split("-")[0]] for match in OLD_LINE.finditer(text)}
    assert len(told) == len(computed)
    return OLD_LINE.sub(lambda match: f"{match[1]}computed_tokens={told[match[2]]} will be recomputed.", text)


def test_a_request_that_was_not_saved_is_counted_exactly() -> None:
    found = report(with_tokens("partial", {"2": 224}))
    assert found.recomputed is not None
    assert (found.recomputed.at_least, found.recomputed.at_most) == (224, 224)
    assert found.recomputed.requests_unknown == 0
    assert found.counts is not None and found.counts.fallbacks == {"pool_full": 1}


def test_several_that_were_not_saved_add_up_to_the_partial_ones() -> None:
    old = report((REAL / "pool_full.log").read_text()).recomputed
    assert old is not None and old.requests_unknown == 3
    missing = 572 - old.at_least
    new = report(with_tokens("pool_full", {"3": 100, "2": missing - 250, "6": 150})).recomputed
    assert new is not None and (new.at_least, new.at_most, new.requests_unknown) == (572, 572, 0)


def test_with_prefix_caching_the_device_may_have_kept_some() -> None:
    text = with_tokens("partial", {"2": 224}).replace("'enable_prefix_caching': False, ", "")
    found = report(text).recomputed
    assert found is not None
    assert (found.at_least, found.at_most, found.requests_unknown) == (0, 224, 1)
