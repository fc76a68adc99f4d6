"""A real P/D pair, NixlConnector before and after ours below MultiConnector on the decode engine, and its /metrics.

While KV of some requests is on its way, others are preempted, others are aborted by their clients, and others end.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("nixl") is None:
    pytest.skip("needs the CPU build of vLLM and nixl", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from demo_engines import DemoError, Engine, free_ports, wait_until_healthy  # noqa: E402
from demo_traffic import ASK_FOR_KV, metrics  # noqa: E402

from tests.engine.harness import Mode  # noqa: E402
from tests.engine.harness import prompts as make_prompts  # noqa: E402

pytestmark = pytest.mark.engine
WORK = Mode(requests=14)
OUTPUT = 150
ABORTED = (3, 9)  # their clients go away in the middle
SHORT = (5, 11)  # end while others wait for their KV
NIXL = {
    "kv_connector": "NixlConnector",
    "kv_role": "kv_consumer",
    "kv_buffer_device": "cpu",
    "kv_connector_extra_config": {"kv_lease_duration": 600},
}
OURS = {
    "kv_connector": "RecomputeCPUOffloadConnector",
    "kv_connector_module_path": "pd_launch.connector",
    "kv_role": "kv_consumer",
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 64 << 20},
}
COUNTERS = (
    "parked_total",
    "restored_total",
    "fallback_total",
    "saved_bytes_total",
    "restored_bytes_total",
    "save_seconds_total",
    "restore_seconds_total",
    "pool_blocks_used",
    "pool_blocks_total",
    "oldest_parked_seconds",
)


@contextmanager
def engine(side: str, folder: Path, *extra: str) -> Iterator[Engine]:
    port, channel = free_ports(2)
    command = [sys.executable, "-m", "pd_launch", side, "--profile", "cpu-tiny"]
    command += ["--set", f"{side}.port={port}", "--set", f"{side}.env.VLLM_NIXL_SIDE_CHANNEL_PORT={channel}"]
    command += ["--", *extra] if extra else []
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with Engine(side, command, {"PYTHONPATH": path}, port, folder / f"{side}.log") as started:
        wait_until_healthy([started], lambda text: None)
        yield started


@pytest.fixture(scope="module")
def prefill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine("prefill", tmp_path_factory.mktemp("prefill")) as started:
        yield started


def post(server: Engine, prompt: list[int], tokens: int, **more: Any) -> Any:
    body = {"model": "cpu-tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
    data = json.dumps(body | {"return_token_ids": True} | more).encode()
    request = urllib.request.Request(f"{server.url}/v1/completions", data, {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=240)


def complete(server: Engine, prompt: list[int], tokens: int, **more: Any) -> dict[str, Any]:
    with post(server, prompt, tokens, **more) as answer:
        return dict(json.load(answer))


def token_ids(answer: dict[str, Any]) -> list[int]:
    return list(answer["choices"][0]["token_ids"])


def prefilled(prefill: Engine, prompt: list[int]) -> dict[str, Any]:
    """Return what a proxy hands to the decode engine."""
    return dict(complete(prefill, prompt, 1, kv_transfer_params=ASK_FOR_KV)["kv_transfer_params"])


def decoded(decode: Engine, i: int, prompt: list[int], params: dict[str, Any]) -> list[int] | None:
    """Send one prefilled request on; None for those whose client goes away."""
    if i in ABORTED:
        with post(decode, prompt, 2 * OUTPUT, stream=True, kv_transfer_params=params) as answer:
            answer.readline()  # it is under way; then the connection is closed
        return None
    return token_ids(complete(decode, prompt, 4 if i in SHORT else OUTPUT, kv_transfer_params=params))


def first_hand_over(prefill: Engine, decode: Engine, prompt: list[int]) -> None:
    """The engines' first handshake has five seconds, not always enough on a busy machine."""
    for left in reversed(range(3)):
        try:
            complete(decode, prompt, 4, kv_transfer_params=prefilled(prefill, prompt))
            return
        except (urllib.error.HTTPError, DemoError):
            if not left:
                raise


def settled(decode: Engine) -> dict[str, float]:
    """Return the series once nothing runs any more."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        now = metrics(decode)
        if not now.get("vllm:num_requests_running") and not now.get("vllm:num_requests_waiting"):
            complete(decode, [5, 6, 7], 3)  # one more request takes the last reports in
            time.sleep(0.5)
            return metrics(decode)
        time.sleep(0.5)
    raise AssertionError("requests are still running")


@pytest.mark.parametrize("order", ["nixl, ours", "ours, nixl"])
def test_a_pair_under_pressure(order: str, prefill: Engine, tmp_path: Path) -> None:
    children = [NIXL, OURS] if order == "nixl, ours" else [OURS, NIXL]
    config = {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"connectors": children},
    }
    work = [prompt["prompt_token_ids"] for prompt in make_prompts(WORK)]
    with engine("decode", tmp_path, "--kv-transfer-config", json.dumps(config)) as decode:
        first_hand_over(prefill, decode, work[0])
        # All prompts are prefilled before the first is sent on. Sent as they come from a busy machine's prefill engine,
        # they would find room on the decode engine one after the other, and hardly any would be preempted.
        handed = [prefilled(prefill, prompt) for prompt in work]
        with ThreadPoolExecutor(len(work)) as pool:
            answers = list(pool.map(lambda i: decoded(decode, i, work[i], handed[i]), range(len(work))))
        with ThreadPoolExecutor(len(work)) as pool:
            alone = list(pool.map(lambda p: token_ids(complete(prefill, p, OUTPUT)), work))
        series = settled(decode)
        text = decode.log.read_text(errors="replace")
    for i, (answer, whole) in enumerate(zip(answers, alone, strict=True)):
        if i not in ABORTED:
            assert answer == whole[: len(answer or [])]
            assert len(answer or []) == (4 if i in SHORT else OUTPUT)
    assert series["vllm:num_preemptions_total"] >= 3
    assert series["pd_launch:preempt_offload_restored_total"] >= 3
    assert series["pd_launch:preempt_offload_saved_bytes_total"] > 0
    assert series["pd_launch:preempt_offload_pool_blocks_used"] == 0
    assert {f"pd_launch:preempt_offload_{name}" for name in COUNTERS} <= series.keys()
    assert "Traceback" not in text
