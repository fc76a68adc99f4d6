"""A built-in offload connector under another release's name: its name and its budget are reported in one run."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

OLD, NEW = "RecomputeCPUOffloadConnector", "PreemptOffloadConnector"
GIB = 1 << 30
BUDGET = {"PD007", "PD301", "PD303", "PD304", "PD305"}


def codes(name: str, target: str, extra: dict[str, Any], host: dict[str, Any] | None = None) -> set[str]:
    config = {"kv_connector": name, "kv_role": "kv_consumer", "kv_connector_extra_config": extra}
    script = f"vllm serve Qwen/Qwen3-32B -tp 4 --kv-transfer-config {shlex.quote(json.dumps(config))}\n"
    return {f.code for f in check(read_texts({"d.sh": script}, target, host))}


@pytest.mark.parametrize(("name", "target"), [(OLD, "0.28.0rc1"), (NEW, "0.25.1rc1")])
@pytest.mark.parametrize(
    ("extra", "host", "code"),
    [
        ({"cpu_bytes_to_use": 16 * GIB}, None, "PD301"),
        ({"cpu_bytes_to_use": 16 * GIB, "cpu_bytes_to_use_per_rank": 16 * GIB}, None, "PD303"),
        ({"cpu_bytes_to_use_per_rank": 1 << 20}, None, "PD304"),
        ({"cpu_bytes_to_use_per_rank": 16 * GIB}, {"mem_available": GIB}, "PD305"),
        ({"cpu_bytes_to_use_per_rank": "16GiB"}, None, "PD007"),
    ],
)
def test_both_are_said(name: str, target: str, extra: dict[str, Any], host: dict[str, Any] | None, code: str) -> None:
    found = codes(name, target, extra, host)
    assert {"PD201", code} <= found
    right = codes(NEW if name == OLD else OLD, target, extra, host)
    assert right & BUDGET == found & BUDGET, "what is left when the name is right"
    assert "PD201" not in right


def test_a_budget_that_no_connector_reads_is_not_judged() -> None:
    extra = {"cpu_bytes_to_use": 16 * GIB}
    assert not codes(OLD, "0.22.1rc1", extra) & BUDGET
    assert not codes("CPUOffloadingConnector", "vllm:0.32.0", extra) & BUDGET
    assert not codes("RecomputeCPUOffloadConector", "0.28.0rc1", extra) & BUDGET
