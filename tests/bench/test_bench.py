"""Each measurement runs in its short form. Times are not judged here: the figures of a smoke run mean nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("vllm") is None:
    pytest.skip("the measurements need torch and vLLM", allow_module_level=True)


def smoke(name: str, folder: Path, *options: str, status: int = 0) -> tuple[dict[str, Any], str]:
    """Run a measurement in its short form; return its figures and what it said."""
    file = folder / "figures.json"
    command = [sys.executable, "-m", f"bench.{name}", "--smoke", "--json", str(file), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    return (json.loads(file.read_text()) if file.exists() else {}), done.stdout + done.stderr


def test_copies_compares_both_directions(tmp_path: Path) -> None:
    figures, text = smoke("copies", tmp_path)
    assert {row["order"] for row in figures["rows"]} == {"contiguous", "random"}
    assert all(
        row[f"{way}/{other} cpu"] > 0
        for row in figures["rows"]
        for way in ("save", "load")
        for other in ("bound", "memcpy", "numpy", "loop")
    )
    assert "times the loop, small blocks (goal: 2.5)" in text


def test_copies_takes_no_more_memory_than_it_may(tmp_path: Path) -> None:
    figures, text = smoke("copies", tmp_path, "--limit-gib", "0.000001")
    assert figures["rows"] == [] and "left out" in text


def test_stall_compares_a_step_with_its_copy(tmp_path: Path) -> None:
    figures, _ = smoke("stall", tmp_path)
    steps = [row for row in figures["rows"] if "blocks" in row]
    assert [row["blocks"] for row in steps] == [1, 4]
    assert all(row["added_ms"] > 0 and row["copy_ms"] > 0 for row in steps)
    bursts = {row["burst"]: row for row in figures["rows"] if "burst" in row}
    assert bursts.keys() == {"touched", "reserve", "neither"}
    assert all(row["worst_ms"] >= row["median_ms"] > 0 for row in bursts.values())


def test_scheduler_steps_cover_up_to_ten_thousand_parked_requests(tmp_path: Path) -> None:
    figures, _ = smoke("scheduler_steps", tmp_path)
    assert [(row["change"], row["parked"]) for row in figures["rows"]] == [
        (change, parked) for change in (False, True) for parked in (0, 100, 1_000, 10_000)
    ]


def test_residency_stays_within_the_budget(tmp_path: Path) -> None:
    figures, _ = smoke("residency", tmp_path)
    (row,) = figures["rows"]
    small = 1 << 20  # what Python itself takes shows in a small budget
    assert row["nothing_preempted"] <= small
    assert row["used"] <= row["with_reserve"] <= row["used"] + row["reserve_at_most"] + small
    assert row["idle"] <= 2 * small
    assert row["touched"] >= 0.95


def test_the_device_script_ends_clearly_without_a_device(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a device here")
    figures, text = smoke("device", tmp_path, status=3)
    assert figures == {} and "nothing was measured" in text


@pytest.mark.engine
def test_overhead_is_measured_without_preemption(tmp_path: Path) -> None:
    figures, _ = smoke("overhead", tmp_path)
    (row,) = figures["rows"]
    assert row["preempted"] == 0 and row["calls"] > row["steps"] and 0 < row["share"] < 1


@pytest.mark.engine
def test_under_pressure_nothing_is_computed_twice_and_no_step_is_added(tmp_path: Path) -> None:
    figures, text = smoke("pressure", tmp_path)
    rows = {row["engine"]: row for row in figures["rows"]}
    assert set(rows) == {
        "ours", "ours aside", "ours again", "free", "recompute", "offloading", "simple", "loop", "lowered",
    }, text  # fmt: skip
    assert rows["ours"]["preempted"] > 0
    assert rows["ours"]["above_minimum"] == rows["free"]["above_minimum"] == [0]
    assert rows["ours"]["steps_all"] == rows["free"]["steps_all"]
    assert rows["ours"]["steps"] <= rows["loop"]["steps"]
    assert rows["recompute"]["above_minimum"][0] > 0
    assert rows["lowered"]["preempted"] == 0


@pytest.mark.engine
def test_on_a_decode_node_only_ours_computes_nothing_again(tmp_path: Path) -> None:
    figures, text = smoke("decode_node", tmp_path)
    rows = {row["engine"]: row for row in figures["rows"]}
    assert set(rows) == {"ours", "recompute", "prefixes", "offloading", "simple", "ours again"}, text
    assert rows["ours"]["preempted"] >= 4
    assert rows["ours"]["above_minimum"] == rows["ours again"]["above_minimum"] == [0]
    assert rows["recompute"]["above_minimum"][0] > rows["prefixes"]["above_minimum"][0] > 0
    assert text.count("ours over recomputing") == 2  # both goals are answered


@pytest.mark.engine
def test_predicted_seconds_are_compared_with_measured_ones(tmp_path: Path) -> None:
    figures, text = smoke("simulate_seconds", tmp_path)
    rows = {row["engine"]: row for row in figures["rows"]}
    assert set(rows) == {"fitted", "recompute", "ours"}, text
    for row in rows.values():
        assert (row["predicted_steps"], row["predicted_preempted"]) == (
            row["measured_steps"],
            row["measured_preempted"],
        )
        assert all(row[f"off_{key}"] > -1 for key in ("seconds", "ttft", "itl"))
