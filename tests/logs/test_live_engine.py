"""The verdict on the log of an engine that is run here and now, against counters fed from its scheduler."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

from tests.engine.harness import Mode, prepared, run
from tests.logs.lines import report

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def vllm() -> Iterator[None]:
    with prepared():
        yield


@pytest.mark.parametrize(
    ("mode", "verdict"),
    [
        (Mode(), "healthy"),
        (Mode(blocks=200), "idle"),
        (Mode(host_blocks=3), "fallbacks"),
        (Mode(connector=None), "inactive"),
        (Mode(role="kv_producer"), "errors"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_verdict_and_counts(mode: Mode, verdict: str) -> None:
    result = run(mode)
    found = report(result["log"])
    assert found.verdict == verdict
    assert found.counts is not None and found.recomputed is not None
    if verdict in ("healthy", "fallbacks"):
        assert found.counts.preempted == result["preempted"] > 0
        assert found.counts.restored == result["counts"]["restored"]
        assert found.recomputed.at_most is not None
        assert found.recomputed.at_least <= result["recomputed"] <= found.recomputed.at_most
