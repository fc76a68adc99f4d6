"""``pd-launch status`` as people call it, against engines that serve recorded pages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli
from pd_launch.launcher.commands.rules import schema_text
from pd_launch.launcher.status.lengths import lengths_page
from pd_launch.launcher.status.page import read_page
from pd_launch.launcher.status.record import read_record
from tests.status.served import page, served


def status(*words: str, lang: str = "en") -> Result:
    done = CliRunner().invoke(cli, ["status", *words], env={"PD_LAUNCH_LANG": lang})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def report(*words: str) -> dict[str, Any]:
    done = status(*words, "--format", "json")
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, json.loads(schema_text("status")))
    assert found["status"] == done.exit_code
    return found


@pytest.mark.parametrize(
    ("pages", "code", "word"),
    [
        (["after-prefill", "after-decode"], 0, "HEALTHY: preemption offload is active: 10 times parked"),
        (["idle-decode"], 0, "ACTIVE, IDLE"),
        (["idle-decode", "after-decode"], 0, "HEALTHY"),
        (["after-decode", "small-decode"], 1, "FALLBACKS: preemption offload is active, but 2 of 5"),
        (["after-prefill"], 0, "ANSWERS: no engine here shows an offload connector"),
    ],
)
def test_verdict_and_exit_status(pages: Sequence[str], code: int, word: str) -> None:
    with served(*pages) as engines:
        done = status(*(engine.url for engine in engines))
    assert done.exit_code == code and done.stdout.startswith(word)


def test_both_sides_stand_beside_each_other() -> None:
    with served("after-prefill", "after-decode") as (prefill, decode):
        lines = status(prefill.url, decode.url).stdout.splitlines()
        chinese = status(decode.url, lang="zh").stdout
    head = next(line for line in lines if "prefill 127" in line)
    column = head.index("decode 127")
    rows = {line[:20].strip(): line for line in lines}
    assert rows["parked"][column:].strip() == "10" and rows["KV transfers"][column:].startswith("NIXL 8")
    assert rows["offload"][column:].strip() == "HEALTHY"
    assert all(len(line) <= 100 for line in lines)
    assert chinese.startswith("正常") and "恢复" in chinese


def test_one_that_does_not_answer_is_a_row_of_its_own() -> None:
    with served("after-decode") as (engine,):
        gone = "http://127.0.0.1:9"
        found = report(engine.url, gone)
        text = status(engine.url, gone).stdout
    assert found["status"] == 1 and found["verdict"] == "healthy"
    assert [e["answer"] for e in found["engines"]] == ["answers", "no_answer"]
    assert found["engines"][1]["error"] == "nothing listens there"
    assert "no answer from 1 of 2 engines" in text and "NO ANSWER" in text


def test_an_engine_that_says_it_is_not_healthy_is_not() -> None:
    with served("after-decode") as (engine,):
        engine.healthy = False
        found = report(engine.url)
    assert found["verdict"] == "errors" and found["engines"][0]["health"] is False


def test_other_programs_are_no_engines() -> None:
    with served(b"python_info 1\n", b"go_gc 1\n") as (one, other):
        other.metrics = b"\0\1\2" * 100
        found = report(one.url, other.url)
    assert found["status"] == 2 and {e["answer"] for e in found["engines"]} == {"not_an_engine"}


def test_ranks_are_shown_apart() -> None:
    with served("dp2-decode") as (engine,):
        text = status(engine.url).stdout
        found = report(engine.url)["engines"][0]
    assert len(re.findall(r"rank [01]: running 0", text)) == 2
    assert sum(rank["totals"]["preempted"] for rank in found["ranks"]) == found["totals"]["preempted"] == 7


def test_watching_gives_a_json_line_a_reading() -> None:
    with served("pressed-decode") as (engine,):
        pages = iter(["pressed-decode", "after-decode", "restarted-decode"])

        def next_page(handler: Any) -> None:
            if handler.path == "/metrics":
                engine.metrics = page(next(pages))
            engine.answer = None
            engine.serve(handler)
            engine.answer = next_page

        engine.answer = next_page
        done = status("--watch", "0.2", "--count", "3", engine.url)
    first, second, third = (json.loads(line)["engines"][0] for line in done.stdout.splitlines())
    assert first["last"] is None
    assert second["last"]["restored"] == 6 and second["restarted"] is False
    assert second["latencies"]["itl"]["since"] == "last"
    assert third["restarted"] is True and third["problems"][0]["message"].startswith("it has restarted")
    assert done.exit_code == 0


@pytest.mark.parametrize("number", ["nan", "inf", "1e999", "1e9", "0"])
def test_watch_takes_every_number_for_its_seconds(number: str) -> None:
    """Else ``nan`` is an engine's address, and is looked at every five seconds without end."""
    done = status("--watch", number, "http://127.0.0.1:9")
    assert done.exit_code == 2 and "Invalid value for '--watch'" in done.stderr


def test_watch_takes_no_address_for_its_seconds() -> None:
    with served("idle-decode") as (engine,):
        done = status("--watch", engine.url, "--count", "1")
    assert json.loads(done.stdout)["verdict"] == "idle"


def test_an_engine_with_work_that_does_none_is_said(tmp_path: Path) -> None:
    file = tmp_path / "looks.jsonl"
    with served("pressed-decode") as (engine,):
        status(engine.url, "--record", str(file))
    look = json.loads(file.read_text())
    times = (0, 8, 16, 24, 32)
    file.write_text("".join(json.dumps({**look, "time": look["time"] + more}) + "\n" for more in times))
    done = status("--replay", str(file), "--format", "json")
    told = [
        [p["message"] for p in json.loads(line)["engines"][0]["problems"] if "not one token" in p["message"]]
        for line in done.stdout.splitlines()
    ]
    assert told[:3] == [[], [], []]  # a long prompt takes as long
    assert told[3] == ["3 running and 2 waiting requests, and not one token in 24 s"]
    assert told[4] == ["3 running and 2 waiting requests, and not one token in 32 s"]


def test_a_record_is_shown_again(tmp_path: Path) -> None:
    file = tmp_path / "looks.jsonl"
    with served("pressed-decode", "after-prefill") as (decode, prefill):
        status(decode.url, prefill.url, "--record", str(file))
        decode.metrics = page("after-decode")
        live = report(decode.url, prefill.url, "--record", str(file))
    done = status("--replay", str(file), "--format", "json")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first["engines"][0]["totals"]["parked"] == 5
    assert second["engines"][0]["totals"] == live["engines"][0]["totals"]
    assert second["engines"][0]["last"]["restored"] == 6 and second["engines"][0]["version"] == "0.32.0"
    assert status("--replay", str(file)).stdout.startswith("HEALTHY")
    looks = [json.loads(line) for line in file.read_text().splitlines()]
    kept = looks[1]["engines"][0]["page"]
    assert "vllm:request_prompt_tokens_bucket" in kept and "vllm:request_generation_tokens_bucket" in kept
    assert "python_" not in kept


def test_no_other_file_is_recorded_over(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine\n")
    with served("idle-decode") as (engine,):
        done = status(engine.url, "--record", str(file))
    assert done.exit_code == 2 and "no record of this command" in done.stderr
    assert file.read_text() == "mine\n"


@pytest.mark.parametrize(
    "text",
    ["", "{}\n", "mine\n", "[" * 100_000, '{"kind":"pd-launch status","format_version":1,"time":1,"engines":[3]}\n'],
)
def test_a_file_that_is_no_record_is_said(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    done = status("--replay", str(file))
    assert done.exit_code in (1, 2) and str(file) in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give the address of an engine"),
        (["ftp://x"], "not http or https"),
        (["http://"], "names no host"),
        (["http://x:99999"], "Port out of range"),
        (["x", "--count", "2"], "--count needs --watch"),
        (["x", "--replay", "y"], "--replay reads a record"),
        (["--profile", "no-such-profile"], "no-such-profile"),
    ],
)
def test_wrong_calls_are_said(words: list[str], told: str) -> None:
    done = status(*words)
    assert done.exit_code in (1, 2) and told in done.stderr


PROFILE = """version: 1
name: two
hardware: cpu
target: "vllm==0.32.0"
model: m
engine: {block-size: 32, enable-prefix-caching: false}
transfer: {connector: NixlConnector}
prefill: {port: %d}
decode:
  port: %d
  parallel: {data: %d}
  offload: {per_rank: 64MiB}
"""


def test_what_runs_is_compared_with_the_profile(tmp_path: Path) -> None:
    with served("after-prefill", "after-decode") as (prefill, decode):
        ports = [int(engine.url.rpartition(":")[2]) for engine in (prefill, decode)]
        file = tmp_path / "two.yaml"
        file.write_text(PROFILE % (*ports, 1))
        found = report("--profile", str(file))
        assert [(e["name"], e["role"], e["role_from"]) for e in found["engines"]] == [
            ("prefill", "prefill", "profile"),
            ("decode", "decode", "profile"),
        ]
        assert all(engine["differences"] == [] for engine in found["engines"]), found["engines"]
        file.write_text((PROFILE % (*ports, 2)).replace("block-size: 32", "block-size: 64").replace("0.32.0", "0.31.0"))
        other = report("--profile", str(file))["engines"][1]["differences"]
        text = status("--profile", str(file)).stdout
    assert {(d["what"], d["profile"], d["running"]) for d in other} == {
        ("vLLM", "0.31.0", "0.32.0"),
        ("block_size", "64", "32"),
        ("data-parallel ranks", "2", "1"),
    }
    assert "not as the profile says: block_size is 32, not 64" in text


def test_an_engine_without_the_profiles_connector_is_inactive(tmp_path: Path) -> None:
    with served("after-prefill", "after-prefill") as (prefill, decode):
        ports = [int(engine.url.rpartition(":")[2]) for engine in (prefill, decode)]
        file = tmp_path / "two.yaml"
        file.write_text(PROFILE % (*ports, 1))
        found = report("--profile", str(file))
    assert found["verdict"] == "inactive" and found["status"] == 1
    assert found["engines"][0]["verdict"] is None


def test_passwords_are_not_shown() -> None:
    with served("idle-decode") as (engine,):
        heard: list[str | None] = []

        def listen(handler: Any) -> None:
            heard.append(handler.headers["Authorization"])
            engine.answer = None
            engine.serve(handler)
            engine.answer = listen

        engine.answer = listen
        done = status(engine.url.replace("http://", "http://me:s3cret@"))
    assert heard[0] is not None and heard[0].startswith("Basic ")
    assert done.exit_code == 0 and "s3cret" not in done.stdout + done.stderr


def test_a_preemption_that_vllm_counts_late_is_counted_once() -> None:
    late = page("pressed-decode")  # the connector counts 5, vLLM 4 so far
    told = re.sub(rb"(vllm:num_preemptions_total\{.*?\}) 4.0", rb"\1 5.0", late)
    assert told != late
    with served(late) as (engine,):
        turns = iter([late, told])

        def next_page(handler: Any) -> None:
            if handler.path == "/metrics":
                engine.metrics = next(turns)
            engine.answer = None
            engine.serve(handler)
            engine.answer = next_page

        engine.answer = next_page
        done = status("--watch", "0.2", "--count", "2", engine.url)
    first, second = (json.loads(line)["engines"][0] for line in done.stdout.splitlines())
    assert first["totals"]["preempted"] == second["totals"]["preempted"] == 5
    assert second["last"]["preempted"] == 0


def test_one_that_is_parked_for_minutes_is_said() -> None:
    text = re.sub(rb"(oldest_parked_seconds\{.*?\}) \S+", rb"\1 300.5", page("waiting-decode"))
    with served(text) as (engine,):
        found = report(engine.url)["engines"][0]
    assert [re.sub(r"\d+", "N", p["message"]) for p in found["problems"]] == ["a request has been parked for N s"]


def test_a_record_is_a_workload(tmp_path: Path) -> None:
    file = tmp_path / "looks.jsonl"
    with served("pressed-decode", "after-prefill") as (decode, prefill):
        status(decode.url, prefill.url, "--record", str(file))
        for name in ("after-decode", "restarted-decode"):
            decode.metrics = page(name)
            status(decode.url, prefill.url, "--record", str(file))
    found = read_page(lengths_page(read_record(str(file))).encode()).whole.histograms
    before, after = (read_page(page(name)).whole.histograms for name in ("pressed-decode", "after-decode"))
    for key in ("request_prompt", "request_output"):
        assert found[key].count == after[key].count - before[key].count > 0
        assert found[key].total == after[key].total - before[key].total
    played = ["simulate", "--profile", "cpu-tiny", "--workload", str(file)]
    done = CliRunner().invoke(cli, played, env={"PD_LAUNCH_LANG": "en"})
    assert done.exit_code == 0 and f"{found['request_output'].count:.0f} requests drawn" in done.output
    file.write_text(file.read_text().splitlines()[1] + "\n")
    found = read_page(lengths_page(read_record(str(file))).encode()).whole.histograms
    assert found["request_output"].count == after["request_output"].count


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_text_of_a_record_or_of_an_engine_shows_a_secret(form: str, lang: str, tmp_path: Path) -> None:
    secret = "hf_abcdefghij0123456789"
    told = f"HF_TOKEN={secret} refused"
    series = f'{{engine="API_KEY={secret}",HF_TOKEN="{secret}",finished_reason="PASSWORD={secret}"}} 1.0\n'
    names = ("num_requests_running", "cache_config_info", "request_success_total", "num_preemptions_total")
    lines = "".join(f"vllm:{name}{series}" for name in names)
    engines = [
        {"url": "http://127.0.0.1:1", "answer": "no_answer", "fault": told, "page": ""},
        {"url": "http://127.0.0.1:2", "answer": "not_an_engine", "fault": told, "page": ""},
        {"url": "http://127.0.0.1:3", "answer": "answers", "version": told, "health": True, "page": lines},
    ]
    record = {"kind": "pd-launch status", "format_version": 1, "time": 1.0, "engines": engines}
    file = tmp_path / "looks.jsonl"
    file.write_text(json.dumps(record) + "\n")
    done = status("--replay", str(file), "--format", form, lang=lang)
    assert secret not in done.stdout + done.stderr and "HF_TOKEN=***" in done.stdout
