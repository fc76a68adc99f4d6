"""Whoever answers: huge, endless, slow, binary, redirecting and lying pages cost bounded time and memory."""

from __future__ import annotations

import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli
from pd_launch.launcher.status.fetch import MAX_PAGE, parse_address
from pd_launch.launcher.status.look import see
from pd_launch.launcher.status.page import NotMetrics, read_page
from pd_launch.launcher.wording.width import shows_all
from tests.linear.growth import MOST, ratio
from tests.status.served import page, send, served


def status(*words: str) -> Result:
    done = CliRunner().invoke(cli, ["status", *words], env={"PD_LAUNCH_LANG": "en"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def endless(handler: Any) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"vllm:num_requests_running 1\n" * 4096)


def slow(handler: Any) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"#")
        handler.wfile.flush()
        time.sleep(0.05)


def slow_headers(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-A: b\r\n")
        handler.wfile.flush()
        time.sleep(0.05)


def silent(handler: Any) -> None:
    time.sleep(3)


def elsewhere(handler: Any) -> None:
    send(handler, b"", 302, Location="http://127.0.0.1:1/secret")


def round_and_round(handler: Any) -> None:
    send(handler, b"", 307, Location=handler.path)


def squeezed(handler: Any) -> None:
    send(handler, b"\x1f\x8b" + b"\0" * 1000, 200, Content_Encoding="gzip")


def short(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"vllm:num_requests_running 1\n")


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        (endless, 2, "larger than 8192 KiB"),
        (slow, 1, "no answer within 0.5 s"),
        (slow_headers, 1, "no answer within 0.5 s"),
        (silent, 1, "no answer within 0.5 s"),
        (elsewhere, 2, "redirects are not followed"),
        (round_and_round, 2, "redirects are not followed"),
        (squeezed, 2, "compressed"),
        (short, 1, "before the page was complete"),
        (lambda handler: send(handler, b"no", 404), 2, "HTTP 404"),
        (lambda handler: send(handler, b"no", 503), 1, "HTTP 503"),
        (lambda handler: send(handler, b"\0\xff" * 1000), 2, "not text"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_hostile_answers_end_soon_and_are_said(answer: Callable[[Any], None], code: int, told: str) -> None:
    with served("idle-decode") as (engine,):
        engine.answer = answer
        begun = time.monotonic()
        done = status(engine.url, "--timeout", "5" if answer is endless else "0.5")
        assert time.monotonic() - begun < 30  # of a busy machine
    assert done.exit_code == code and told in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_what_speaks_no_http_and_what_accepts_only_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            taken, _ = server.accept()
            taken.sendall(b"SSH-2.0-x\r\n")
            taken.close()

        threading.Thread(target=speak, daemon=True).start()
        done = status(f"127.0.0.1:{server.getsockname()[1]}", "--timeout", "0.5")
        assert done.exit_code == 1 and "not speak HTTP" in done.stdout
        done = status(f"127.0.0.1:{server.getsockname()[1]}", "--timeout", "0.5")
        assert done.exit_code == 1 and "no answer within" in done.stdout


def test_one_that_hangs_does_not_hold_the_others() -> None:
    with served("after-decode", "idle-decode") as (good, bad):
        bad.answer = silent
        done = status(good.url, bad.url, "--timeout", "0.5", "--format", "json")
    found = json.loads(done.stdout)
    assert [e["answer"] for e in found["engines"]] == ["answers", "no_answer"] and found["verdict"] == "healthy"


def test_a_page_as_large_as_may_be_takes_bounded_memory() -> None:
    line = b'vllm:num_preemptions_total{engine="%d",model_name="m"} 1\n'
    body = b"".join(line % (i % 5000) for i in range(8_000)) + page("after-decode")
    assert len(body) < MAX_PAGE
    tracemalloc.start()
    found = read_page(body)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.ranks) <= 1024 and most < 20 << 20


def test_too_many_samples_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pd_launch.launcher.status.page.MAX_SAMPLES", 1000)
    with pytest.raises(NotMetrics, match="more than 1000 samples"):
        read_page(b'vllm:num_requests_running{engine="0"} 1\n' * 1001)


@pytest.mark.parametrize(
    "line",
    [
        b'vllm:request_success_total{engine="0",finished_reason="%d"} 1\n',
        b'vllm:num_requests_running{engine="%d"} 1\n',
        b'vllm:e2e_request_latency_seconds_bucket{engine="0",le="%d"} 1\n',
        b'vllm:num_requests_running{engine="0",x="%d} 1\n',
    ],
)
def test_work_grows_with_the_page_alone(line: bytes) -> None:
    def work(size: int) -> None:
        body = page("idle-prefill") + b"".join(line % i for i in range(size))
        read_page(body)

    found, size = ratio(work, 250, 0.03, 8_000)
    assert found < MOST, size


def test_nothing_that_a_terminal_acts_on_is_printed(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    text = page("dp2-decode").decode().replace('engine="1"', f'engine="{evil}"')
    text += f'pd_launch:preempt_offload_fallback_total{{engine="0",reason="{evil}"}} 3\n'
    text += f'vllm:request_success_total{{engine="0",finished_reason="{evil}"}} 3\n'
    with served(text.encode()) as (engine,):
        engine.version = evil.replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
        done = status(engine.url)
        line = status(engine.url, "--watch", "0.2", "--count", "1").stdout
    assert done.exit_code == 1 and shows_all(done.stdout)
    assert "\x1b" not in line


def test_every_damaged_page_is_read_or_refused() -> None:
    import random

    source = random.Random(7)
    whole = page("after-decode")
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(60):
            data[source.randrange(len(data))] = source.randrange(1, 256)
        try:
            read_page(bytes(data))
        except NotMetrics:
            continue


def test_other_pages_may_lie_as_they_like() -> None:
    with served("after-decode") as (engine,):
        for version in ('"}', "1" * 100_000, '\\"', "\\u0000"):
            engine.version = version
            seen = see(parse_address(engine.url), 2)
            assert seen.answer == "answers" and (seen.version is None or len(seen.version) <= 60)


@pytest.mark.parametrize("value", ["NaN", "-5", "+Inf", "1e300"])
def test_a_value_that_is_left_out_is_said_and_is_no_missing_offload(value: str) -> None:
    parked = b'preempt_offload_parked_total{engine="0",model_name="cpu-tiny"} '
    text = page("pressed-decode").replace(parked + b"5.0", parked + value.encode())
    assert text != page("pressed-decode")
    with served(text) as (engine,):
        done, told = status(engine.url), json.loads(status(engine.url, "--format", "json").stdout)
    assert "what the offload did cannot be read" in done.output
    assert "without an offload connector" not in done.output and "no offload" not in done.output
    assert "no number: pd_launch:preempt_offload_parked_total" in done.output
    problem = told["engines"][0]["problems"][0]
    assert problem["severity"] == "warning" and "pd_launch:preempt_offload_parked_total" in problem["message"]
    assert told["engines"][0]["verdict"] is None
