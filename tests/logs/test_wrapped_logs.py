"""Logs inside JSON, as Docker, journald and shippers write them; rotated files; logs without a beginning."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.launcher.logs.rotated import rotations

REAL = Path(__file__).with_name("real")
FORMS: dict[str, Callable[[str], str]] = {
    "docker": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-12-01T00:18:04Z"}),
    "journald": lambda line: json.dumps({"__CURSOR": "s=1", "PRIORITY": "6", "MESSAGE": line, "_PID": "77"}),
    "journald-bytes": lambda line: json.dumps({"_PID": "77", "MESSAGE": list(line.encode())}),
    "vector": lambda line: json.dumps({"host": "a", "message": line, "kubernetes": {"pod_name": "decode-0"}}),
    "fluent-bit": lambda line: json.dumps({"stream": "stderr", "logtag": "F", "log": line, "kubernetes": {"a": "b"}}),
    "splunk": lambda line: json.dumps({"time": 1, "event": line}),
    "splunk-docker": lambda line: json.dumps({"event": {"source": "stderr", "line": line}, "time": 1}),
    "otlp": lambda line: json.dumps(
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": line}}]}]}]}
    ),
    "google": lambda line: json.dumps({"jsonPayload": {"message": line}, "resource": {"labels": {"pod": "x"}}}),
    "gelf": lambda line: json.dumps({"version": "1.1", "short_message": line}),
    "empty-first": lambda line: json.dumps({"log": "", "message": line}),
    "cri-json": lambda line: "2026-12-01T00:18:04.123456789Z stderr F " + json.dumps({"log": line}),
    "cri": lambda line: f"2026-12-01T00:18:04.123456789Z stderr F {line}",
}


def logs(*files: Path, form: str = "json") -> Any:
    result = CliRunner().invoke(cli, ["logs", *map(str, files), "--format", form])
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout) if form == "json" else result.stdout


def told(report: Any) -> Any:
    """What a report says, without the name of the file."""
    return [
        {key: value for key, value in engine.items() if key not in ("file", "label", "name")}
        for engine in report["engines"]
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["healthy", "0.27.1-pool_full", "bad_bytes", "multi"])
def test_a_wrapped_log_says_the_same(name: str, form: str, tmp_path: Path) -> None:
    plain = REAL / f"{name}.log"
    lines = plain.read_text(errors="replace").splitlines()
    wrapped = tmp_path / "wrapped.log"
    wrapped.write_text("".join(f"{FORMS[form](line)}\n" for line in lines))
    found, wanted = logs(wrapped), logs(plain)
    assert found["status"] == wanted["status"]
    for mine, theirs in zip(told(found), told(wanted), strict=True):
        assert mine["counts"] == theirs["counts"] and mine["verdict"] == theirs["verdict"]
        assert mine["problems"] == theirs["problems"] and mine["connector"] == theirs["connector"]


def test_an_id_ends_at_its_own_alphabet(tmp_path: Path) -> None:
    """A form that nobody knows: what stands behind the id is not taken for a part of it."""
    lines = (REAL / "healthy.log").read_text(errors="replace").splitlines()
    for number, form in enumerate(('  "zz": "{}\\n",', '"a","{}"', "{}")):
        path = tmp_path / f"{number}.log"
        path.write_text("".join(form.format(line.replace('"', '""')) + "\n" for line in lines))
        assert logs(path)["engines"][0]["counts"]["parked"] == 6


def test_a_log_that_begins_in_the_start_does_not_deny_the_connector(tmp_path: Path) -> None:
    prefix = "(EngineCore pid=9) INFO 12-01 00:18:04 "
    path = tmp_path / "cut.log"
    path.write_text(f"{prefix}[core.py:402] init engine (profile, create kv cache, warmup model) took 0.02 s\n" * 2)
    text = logs(path, form="text")
    assert "has no offload connector" not in text and "does not hold the engine's start" in text


def test_lines_of_json_that_are_none() -> None:
    from pd_launch.launcher.logs.wrappers import unwrapped

    for line in (b"{not json", b'{"a": 1}', b"[1]", b"plain", b'{"log": 3}', b"{" * 50_000):
        assert list(unwrapped(line)) == [line]
    assert list(unwrapped(b'{"log": "one\\ntwo\\n"}')) == [b"one", b"two"]
    assert list(unwrapped(b'{"log":"cut in the mid')) == [b"cut in the mid"]


def test_rotated_files_are_one_engine(tmp_path: Path) -> None:
    lines = (REAL / "healthy.log").read_text().splitlines(keepends=True)
    third = len(lines) // 3
    (tmp_path / "decode.log.2.gz").write_bytes(gzip.compress("".join(lines[:third]).encode()))
    (tmp_path / "decode.log.1").write_text("".join(lines[third : 2 * third]))
    (tmp_path / "decode.log").write_text("".join(lines[2 * third :]))
    names = ["decode.log.1", "decode.log", "decode.log.2.gz"]
    report = logs(*(tmp_path / name for name in names))
    assert len(report["engines"]) == 1
    assert told(report)[0]["counts"] == told(logs(REAL / "healthy.log"))[0]["counts"]


@pytest.mark.parametrize(
    ("paths", "groups"),
    [
        (["a.log", "b.log"], [["a.log"], ["b.log"]]),
        (["b.log", "a.log.1", "a.log"], [["b.log"], ["a.log.1", "a.log"]]),
        (["a.log.1", "a.log.10", "a.log.2"], [["a.log.10", "a.log.2", "a.log.1"]]),
        (["a.log-20261201.gz", "a.log-20261130", "a.log"], [["a.log-20261130", "a.log-20261201.gz", "a.log"]]),
        (["x/a.log", "y/a.log.1"], [["x/a.log"], ["y/a.log.1"]]),
        (["decode-0", "decode-1"], [["decode-0"], ["decode-1"]]),
        (["rank0.log", "rank1.log"], [["rank0.log"], ["rank1.log"]]),
        (["a.log", "a.log.gz"], [["a.log", "a.log.gz"]]),
        (["-", "a.log"], [["-"], ["a.log"]]),
    ],
)
def test_which_files_are_one_log(paths: list[str], groups: list[list[str]]) -> None:
    assert rotations(paths) == groups


def test_a_log_without_its_beginning_does_not_say_that_there_is_no_connector(tmp_path: Path) -> None:
    lines = (REAL / "healthy.log").read_text().splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if "offload enabled for request" in line)
    (tmp_path / "tail.log").write_text("".join(lines[start:]))
    text = logs(tmp_path / "tail.log", form="text")
    assert "HEALTHY" in text and "connector: none" not in text and "not in the log" in text
