"""``pd-launch logs``: statuses, forms, several files, following."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli
from tests.logs.lines import SCHEDULER, connector, line, log, parked, restored, skipped, start

REAL = Path(__file__).parent / "real"
HEALTHY = log(*start(), SCHEDULER, *connector(), *parked("abc"), restored("abc"))
FALLEN = log(*start(), SCHEDULER, *connector(), *skipped("abc"))


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["logs", "--lang", "en", *words], input=stdin)


@pytest.mark.parametrize(
    ("text", "status", "word"),
    [
        (HEALTHY, 0, "HEALTHY"),
        (FALLEN, 1, "FALLBACKS"),
        (log(*start()), 1, "INACTIVE"),
        ("nothing\n", 2, "NOT AN ENGINE"),
    ],
)
def test_status_and_word(text: str, status: int, word: str, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(text)
    for words, stdin in ((["-"], text), ([str(path)], None)):
        result = run(*words, stdin=stdin)
        assert result.exit_code == status
        assert word in result.stdout


def test_json() -> None:
    result = run("-", "--format", "json", stdin=FALLEN)
    data = json.loads(result.stdout)
    assert (data["format_version"], data["verdict"], data["status"]) == (1, "fallbacks", 1)
    assert data["engines"][0]["problems"][0]["code"] == "PD304"
    assert data["engines"][0]["requests"] == []


def test_text_says_what_to_change() -> None:
    out = run("-", stdin=FALLEN).stdout
    assert "warning[PD304]" in out and "help: raise cpu_bytes_to_use_per_rank" in out
    assert "handed back 1" in out


def test_timeline_on_demand() -> None:
    assert "abc" not in run("-", stdin=HEALTHY).stdout
    timeline = run("-", "--timeline", stdin=HEALTHY).stdout
    assert "computed_tokens=1300" in timeline and "restored" in timeline
    one = run("-", "--request", "ab", stdin=HEALTHY)
    assert "computed_tokens=1300" in one.stdout
    none = run("-", "--request", "zzz", stdin=HEALTHY)
    assert none.exit_code == 0 and "no preempted request" in none.stderr


def test_several_files(tmp_path: Path) -> None:
    paths = []
    for name, text in (("a", HEALTHY), ("b", FALLEN)):
        paths.append(str(tmp_path / f"{name}.log"))
        Path(paths[-1]).write_text(text)
    both = run(*paths)
    assert both.exit_code == 1 and "FALLBACKS: 2 engines in all" in both.stdout
    prefill = run(paths[0], str(REAL / "served-prefill.log"))
    assert prefill.exit_code == 0, "a prefill engine beside others is not counted"
    assert run(str(REAL / "served-prefill.log")).exit_code == 1
    (tmp_path / "c.log").write_text("no\n")
    assert run(paths[0], str(tmp_path / "c.log")).exit_code == 2


def test_usage() -> None:
    assert run().exit_code == 2
    assert run("/no/such/file").exit_code != 0
    assert "Traceback" not in run("/no/such/file").output


def test_a_damaged_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(b"\x1f\x8b" + b"broken" * 20)
    result = run(str(path))
    assert "archive is damaged" in result.output


def test_progress_and_output(tmp_path: Path) -> None:
    path, out = tmp_path / "x.log", tmp_path / "report.txt"
    path.write_text(HEALTHY)
    result = run(str(path), "--progress", "--output", str(out))
    assert "100 %" in result.stderr and "HEALTHY" in out.read_text() and result.stdout == ""


def test_colours_only_where_wanted() -> None:
    assert "\x1b" not in run("-", stdin=HEALTHY).stdout
    assert "\x1b[" in run("-", "--color", "always", stdin=HEALTHY).stdout


def test_follow_shows_what_is_added_and_ends_with_a_verdict(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(HEALTHY[: len(HEALTHY) // 2])
    command = [sys.executable, "-m", "pd_launch", "logs", "--follow", "--lang", "en", str(path)]
    told = tmp_path / "told"
    with told.open("w") as errors:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        _until(told, "scheduler vllm_ascend")
        with path.open("a") as file:
            file.write(HEALTHY[len(HEALTHY) // 2 :])
        _until(told, "restored: Prepared")
        path.write_text(line("Recompute triggered for request z.", "WARNING"))  # rotated: shorter than what was read
        _until(told, "handed back: Recompute triggered")
    finally:
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=20)
    assert child.returncode == 1 and "FALLBACKS" in out


def _until(told: Path, text: str) -> None:
    deadline = time.monotonic() + 30
    while text not in told.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert text in told.read_text()


def test_follow_of_a_pipe_ends_with_it() -> None:
    result = run("-", "--follow", stdin=FALLEN)
    assert result.exit_code == 1 and "not parked: Skip recompute offload" in result.stderr


def test_an_archive_that_unpacks_without_end_is_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pd_launch.launcher.logs.reader.MAX_UNPACKED", 4 << 20)
    (tmp_path / "x.log.gz").write_bytes(gzip.compress(HEALTHY.encode() + b"x\n" * (8 << 20)))
    result = run(str(tmp_path / "x.log.gz"))
    assert "only the first 4 MiB that it unpacks to are read" in result.stderr and "HEALTHY" in result.stdout


def test_more_engines_than_are_told_apart_are_said(tmp_path: Path) -> None:
    line = "INFO 01-01 00:00:00 [x.py:1] init engine (profile, create kv cache, warmup model) took 1 s\n"
    (tmp_path / "x.log").write_text("".join(f"[pod-{i}] {line}" for i in range(300)))
    result = run(str(tmp_path / "x.log"))
    assert "more than 256 engines" in result.stderr
