"""``pd-launch simulate`` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.schemas.simulation import Simulation

SHAPE = ["--blocks", "24", "--block-size", "32", "--max-num-seqs", "8"]
DEMO = [*SHAPE, "--no-async-scheduling", "--target", "vllm==0.32.0"]
EIGHT = ["--workload", "requests=8,prompt=100,output=150"]


def run(*words: str, status: int = 0) -> str:
    """Run it; any refusal is 2, as the command line makes of click's own 1."""
    result = CliRunner().invoke(cli, ["simulate", *words])
    assert bool(result.exit_code) is bool(status), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.output


def test_the_demo_is_predicted() -> None:
    found = Simulation.model_validate_json(
        run(*DEMO, *EIGHT, "--no-prefix-caching", "--budget", "3blocks,200blocks", "--format", "json")
    )
    assert (found.without.steps, found.without.preempted, found.without.recomputed) == (410, 6, 860)
    least, small, large = found.with_
    assert (least.recomputed, least.fallbacks, least.budget_blocks) == (0, {}, found.least_budget_blocks)
    assert small.recomputed > 0 and small.fallbacks
    assert (large.parked, large.restored) == (least.parked, least.restored)
    assert found.least_budget_bytes is None
    assert "attention" in found.not_modelled[0]
    assert found.complete


def test_bytes_need_a_size_of_a_block() -> None:
    assert "--bytes-per-block" in run(*DEMO, *EIGHT, "--budget", "1GiB", status=2)
    found = json.loads(run(*DEMO, *EIGHT, "--budget", "1GiB", "--bytes-per-block", "1MiB", "--format", "json"))
    assert found["with"][1]["budget_blocks"] == 1024
    assert found["least_budget_bytes"] == found["least_budget_blocks"] * 2**20


def test_text_in_both_languages() -> None:
    text = run(*DEMO, *EIGHT, "--over", "max-num-seqs=2,8", "--plot", "--lang", "en")
    assert "It preempts: 6 preemptions of 5 requests (of 8)." in text
    assert "--max-num-seqs" in text and "█" in text
    assert "会抢占" in run(*DEMO, *EIGHT, "--lang", "zh")
    assert "No preemption" in run(*DEMO, "--workload", "requests=2,prompt=100,output=150", "--lang", "en")


def test_the_same_seed_gives_the_same() -> None:
    drawn = ["--workload", "requests=30,prompt=20-200,output=30-150", "--format", "json"]
    assert run(*DEMO, *drawn) == run(*DEMO, *drawn)
    assert run(*DEMO, *drawn, "--seed", "2") != run(*DEMO, *drawn)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (EIGHT, "engine's size is not known"),
        ([*DEMO, "--workload", "nothing.json"], "nothing.json"),
        ([*DEMO, "--workload", "requests=8,prompt=100,output=150,rate=2"], "--step-time"),
        ([*DEMO, *EIGHT, "--step-time", "soon"], "BASE"),
        ([*DEMO, *EIGHT, "--over", "colour=1"], "NAME=VALUE"),
        ([*DEMO, *EIGHT, "--over", "watermark=2"], "watermark cannot be 2"),
        ([*DEMO, *EIGHT, "--concurrency", "2", "--rate", "3"], "cannot be combined"),
        ([*DEMO, "--workload", "requests=8,prompt=5000,output=150"], "needs"),
        ([*DEMO, *EIGHT, "--budget", "much"], "much"),
        ([*DEMO, *EIGHT, "--budget", "0blocks"], "no block"),
    ],
)
def test_wrong_calls(words: list[str], said: str) -> None:
    assert said in run(*words, status=2)


def test_a_log_gives_size_and_options(tmp_path: Path) -> None:
    log = tmp_path / "decode.log"
    log.write_text(
        "INFO 11-30 10:00:01 [core.py:93] Initializing a V1 LLM engine (v0.27.1) with config: x\n"
        "INFO 11-30 10:00:01 [a.py:2] non-default args: {'block_size': 32, 'max_num_seqs': 8, 'max_model_len': 1024, "
        "'enable_prefix_caching': False, 'async_scheduling': False, 'scheduling_policy': 'priority'}\n"
        "INFO 11-30 10:00:40 [kv_cache_utils.py:1300] GPU KV cache size: 768 tokens\n" + "x" * 200_000 + "\n"
    )
    found = json.loads(run("--log", str(log), *EIGHT, "--format", "json"))
    engine = found["engine"]
    assert (engine["blocks"], engine["block_size"], engine["max_num_seqs"], engine["policy"]) == (24, 32, 8, "priority")
    assert found["target"] == "vLLM 0.27.1"


def test_a_profile_and_several_engines() -> None:
    workload = ["--workload", "requests=20,prompt=3000,output=500"]
    words = ["--profile", "a3-dp2tp8", "--memory", "4GiB", "--dp", "2", *workload]
    found = json.loads(run(*words, "--budget", "8GiB", "--format", "json"))
    assert found["engine"]["block_bytes"] and found["engine"]["data_parallel"] == 2
    assert found["without"]["finished"] == 20
    assert any("arriv" in text for text in found["assumed"])


def test_a_refusal_is_status_2() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pd_launch", "simulate", *EIGHT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: the engine's size")


def test_size_points_here() -> None:
    result = CliRunner().invoke(cli, ["size", "--workload", "w.json", "--profile", "a3-dp2tp8"])
    assert result.exit_code == 2
    assert "pd-launch simulate --workload w.json" in result.output
