"""The contract with later releases of vllm-ascend: their recompute schedulers, over the vLLM that each is for.

The hook is called inside try there, may end a request, and a connector may ask that nothing is preempted as long as
blocks are about to come free.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.cache import cache_root
from tests.ascend.later import LAYOUTS

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[2]
PAIRS = {"0.28.0rc1": "0.28.0", "0.30.0rc2": "0.30.0"}


@pytest.fixture(scope="module", params=PAIRS)
def cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = cache_root() / "releases"
    archives = [folder / f"vllm-{PAIRS[request.param]}.zip", folder / f"vllm-ascend-{request.param}.zip"]
    if not all(map(Path.is_file, archives)):
        pytest.skip("needs their Python files: scripts/release_archives.py --all")
    target = tmp_path_factory.mktemp("later")
    run = [sys.executable, "-m", "tests.ascend.later"]
    subprocess.run([*run, "unpack", target, *archives], cwd=ROOT, check=True)
    more = {"PYTHONPATH": str(target), "VLLM_TARGET_DEVICE": "cpu", "VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run([*run, "serve"], cwd=ROOT, env=os.environ | more, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert Path(answer["vllm"]).is_relative_to(target)
    return {case["name"]: case for case in answer["cases"]}


def test_victims_are_restored_and_nothing_is_held(cases: dict[str, dict[str, Any]]) -> None:
    for layout in LAYOUTS:
        for name in ("sync", "async", "beside"):
            case = cases[f"{layout}: {name}"]
            assert case["preempted"] >= 3, case["name"]
            assert case["tokens"] == cases[f"{layout}: plenty"]["tokens"], case["name"]
            assert case["reasons"] == ["length"], case["name"]
            assert (case["held"], case["device"]) == ([0, 0, 0], 0), case["name"]
            assert name == "beside" or case["recomputed"] == 0, case["name"]


@pytest.mark.parametrize("name", ["caching", "few"])
def test_no_answer_is_cut_short(name: str, cases: dict[str, dict[str, Any]]) -> None:
    case = cases[name]
    assert case["preempted"] >= 3
    assert case["tokens"] == cases["K and V apart: plenty"]["tokens"]
    assert case["reasons"] == ["length"]
    assert (case["held"], case["device"]) == ([0, 0, 0], 0)
    assert (case["recomputed"] > 0) == (name == "few")


def test_control_a_wrong_copy_shows(cases: dict[str, dict[str, Any]]) -> None:
    assert cases["reversed"]["preempted"] >= 3
    assert cases["reversed"]["tokens"] != cases["K and V apart: plenty"]["tokens"]


def test_what_a_hook_that_raises_costs(cases: dict[str, dict[str, Any]]) -> None:
    """Their schedulers go on: the victim goes back to prefill, or ends where that is forbidden. Ours never raises."""
    for name in ("raises", "raises, split"):
        case = cases[name]
        assert set(case["reasons"]) - {"recomputed"} == {"length"}
        assert case["preempted"] == 0
        assert (case["held"], case["device"]) == ([0, 0, 0], 0)
    assert "recomputed" in cases["raises"]["reasons"]
