"""status beside a real engine: idle, under pressure, paused, hanging, gone."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from demo_engines import Engine, free_ports, wait_until_healthy  # noqa: E402
from demo_traffic import answer_alone, prompts  # noqa: E402

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start the decode engine of cpu-tiny; it computes prompts itself, so that no hand-over makes the test slow."""
    port, side_channel = free_ports(2)
    command = [sys.executable, "-m", "pd_launch", "decode", "--profile", "cpu-tiny"]
    command += ["--set", f"decode.port={port}", "--set", f"decode.env.VLLM_NIXL_SIDE_CHANNEL_PORT={side_channel}"]
    env = {"PYTHONPATH": str(ROOT), "VLLM_SERVER_DEV_MODE": "1"}
    log = tmp_path_factory.mktemp("status") / "decode.log"
    with Engine("decode", command, env, port, log) as started:
        wait_until_healthy([started], lambda _: None)
        yield started


def status(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "pd_launch", "status", *words, "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PD_LAUNCH_LANG": "en"},
    )
    assert not done.stderr, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == found["status"]
    return found


def post(engine: Engine, path: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(engine.url + path, b"", method="POST"), timeout=60):
        pass


def until(engine: Engine, done: Any) -> dict[str, Any]:
    end = time.monotonic() + 120
    while not done(found := status(engine.url)["engines"][0]):
        assert time.monotonic() < end, found
    return found


def parked(engine: Engine) -> bool:
    """Whether a request is parked right now, from the page itself: a moment of a small model is short."""
    with urllib.request.urlopen(f"{engine.url}/metrics", timeout=60) as page:
        found = re.search(rb"^pd_launch:preempt_offload_pool_blocks_used\{[^}]*\} ([\d.]+)", page.read(), re.MULTILINE)
    return found is not None and float(found[1]) > 0


def at_work(engine: Engine) -> threading.Thread:
    """Give the engine the same requests, over again if need be, until one is parked; return who waits for them."""
    for _ in range(30):
        work = threading.Thread(target=answer_alone, args=(engine, prompts()))
        work.start()
        while work.is_alive():
            if parked(engine):
                return work
            time.sleep(0.02)
    raise AssertionError("nothing was parked")


def test_a_real_engine_through_its_life(engine: Engine) -> None:
    found = status(engine.url)
    assert found["verdict"] == "idle" and found["engines"][0]["version"]

    work = at_work(engine)
    first = status(engine.url)["engines"][0]
    assert first["verdict"] == "healthy" and (first["now"]["pool_used"] > 0 or not first["now"]["parked"])
    post(engine, "/pause?mode=keep&clear_cache=false")
    still = status(engine.url)["engines"][0]
    if still["now"]["parked"]:  # a quick engine may have restored it meanwhile
        time.sleep(1.5)
        later = status(engine.url)["engines"][0]["now"]["oldest_parked_seconds"]
        assert later > still["now"]["oldest_parked_seconds"] + 1
    post(engine, "/resume")
    work.join()

    found = until(engine, lambda e: e["now"]["running"] == 0 and e["now"]["parked"] == 0)
    totals = found["totals"]
    assert found["verdict"] == "healthy" and totals["preempted"] >= 3
    assert totals["parked"] == totals["preempted"] == totals["restored"] and totals["fallbacks"] == {}
    assert totals["finished"]["length"] % len(prompts()) == 0
    assert found["latencies"]["itl"]["p50"] > 0

    # A reset preempts what runs and drops what is parked: each has its reason.
    work = at_work(engine)
    post(engine, "/pause?mode=keep&clear_cache=true")
    post(engine, "/resume")
    work.join()
    found = until(engine, lambda e: e["now"]["running"] == 0 and e["now"]["parked"] == 0)
    totals = found["totals"]
    unneeded = totals["unneeded"]
    assert totals["preempted"] == totals["parked"] + unneeded.get("reset_running", 0)
    assert totals["parked"] == totals["restored"] + unneeded.get("reset", 0)
    assert found["verdict"] == "healthy"


def test_one_that_hangs_and_one_that_is_gone(engine: Engine) -> None:
    process = engine._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        found = status(engine.url, "--timeout", "1")
    finally:
        process.send_signal(signal.SIGCONT)
    assert found["engines"][0]["answer"] == "no_answer" and "no answer within" in found["engines"][0]["error"]
    engine.stop()
    found = status(engine.url)
    assert found["engines"][0]["error"] == "nothing listens there" and found["status"] == 1
