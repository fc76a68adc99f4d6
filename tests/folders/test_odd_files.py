"""A file that cannot be read is one line, and the others are checked; a hostile configuration is one line too."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli
from pd_launch.launcher.folders import walk

PD = str(Path(sys.executable).with_name("pd-launch"))
ENGINE = "vllm serve m --portt 1\n"


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def _unreadable(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    path.write_text(ENGINE)
    path.chmod(0)


def _long(path: Path) -> None:
    """Make a file whose path has more than 4,096 bytes."""
    here = os.open(path.parent, os.O_RDONLY)
    for _ in range(18):
        os.mkdir("d" * 240, dir_fd=here)
        below = os.open("d" * 240, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("x.sh", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


KINDS: dict[str, Callable[[Path], Any]] = {
    "unreadable": _unreadable,
    "pipe": lambda path: os.mkfifo(path),
    "socket": _socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "loop": lambda path: path.symlink_to(path.name),
    "dangling": lambda path: path.symlink_to("nothing"),
    "long": _long,
}


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([PD, *words], cwd=cwd, capture_output=True, text=True, errors="replace", timeout=60)
    assert "Traceback" not in done.stderr and "internal fault" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_file_keeps_nothing_else_from_being_checked(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(ENGINE)
    KINDS[kind](tmp_path / "b.sh")
    (tmp_path / "c.sh").write_text(ENGINE)
    below = run("check", ".", "--format", "concise", cwd=tmp_path)
    assert below.stdout.count("PD004") == 2, below
    wrong = kind in ("unreadable", "long")
    assert below.returncode == (2 if wrong else 1), below
    assert len([line for line in below.stderr.splitlines() if "checked for" not in line]) == wrong, below.stderr
    if kind == "long":
        return
    named = run("check", "a.sh", "b.sh", "c.sh", "--separate", "--format", "concise", cwd=tmp_path)
    assert (named.returncode, named.stdout.count("PD004")) == (2, 2), named
    assert len([line for line in named.stderr.splitlines() if "b.sh: " in line]) == 1, named.stderr


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(ENGINE)
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[31m.sh"))).write_text(ENGINE)
    for form in ("concise", "json", "sarif", "text"):
        done = run("check", ".", "--format", form, cwd=tmp_path)
        assert done.returncode == 1 and done.stdout.count("has no flag --portt") == 2, done
        assert "\x1b" not in done.stdout + done.stderr


def _gone(path: str) -> None:
    Path(path).unlink()


def _to_pipe(path: str) -> None:
    Path(path).unlink()
    os.mkfifo(path)


def _to_folder(path: str) -> None:
    Path(path).unlink()
    Path(path).mkdir()


def _grown(path: str) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("#" * 5_000_000)


def _other(path: str) -> None:
    Path(path).write_text("vllm serve m --otherr 1\n")


@pytest.mark.parametrize("change", [_gone, _to_pipe, _to_folder, _grown, _other])
def test_a_file_that_changes_between_the_walk_and_the_reading(
    change: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.sh", "b.sh", "c.sh"):
        (tmp_path / name).write_text(ENGINE)
    read = walk._bytes

    def changed(path: str, most: int) -> bytes:
        if path.endswith("b.sh"):
            change(path)
        return read(path, most)

    monkeypatch.setattr(walk, "_bytes", changed)
    done: Result = CliRunner().invoke(cli, ["check", str(tmp_path), "--format", "concise", "--target", "vllm==0.32.0"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    both = [line for line in done.stdout.splitlines() if "/a.sh:" in line or "/c.sh:" in line]
    assert len(both) == 2 and all("--portt" in line for line in both), done.output
    of_it = [line for line in done.output.splitlines() if "b.sh" in line]
    assert len(of_it) == (0 if change is _to_pipe else 1), done.output
    assert done.exit_code == (2 if change in (_gone, _to_folder) else 1), done.output


HOSTILE: dict[str, bytes] = {
    "text for a list": b'select = "PD001"',
    "list for a text": b'target = ["vllm==0.32.0"]',
    "text for a flag": b'require-target = "yes"',
    "table for a list": b"exclude = {a = 1}",
    "list of lists": b"ignore = [[1]]",
    "number for a table": b"severity = 7",
    "number for a language": b"lang = 1",
    "unknown severity": b'fail-on = "fatal"',
    "unknown target": b'target = "vllm==x"',
    "unknown key": b"no-such = 1",
    "deep list": b"select = " + b"[" * 100_000,
    "deep table": b"[" + b"a." * 20_000 + b"b]\nx = 1",
    "digits": b"target = " + b"9" * 100_000,
    "binary digits": b"target = 0b" + b"1" * 100_000,
    "NUL": b'target = "a\0b"',
    "escaped NUL": b'baseline = "a\\u0000b"',
    "large": b"#" * (1 << 20) + b"\n#",
    "not UTF-8": b'target = "\xff\xfe"',
    "UTF-16": 'target = "x"'.encode("utf-16"),
    "escape": b'target = "\\u001b[31mred"',
    "escape in a key": b'"\\u001b[31mred" = 1',
    "line in a key": b'"a\\nb" = 1',
    "twice": b'lang = "en"\nlang = "zh"',
    "nan": b"target = nan",
    "surrogate": b'target = "\\ud800"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_configuration_is_one_line_and_status_2(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(ENGINE)
    (tmp_path / "pd-launch.toml").write_bytes(HOSTILE[name])
    done = run("check", "a.sh", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 600, done.stderr
    assert "\x1b" not in done.stderr and "\0" not in done.stderr


def test_a_secret_in_a_configuration_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(ENGINE)
    (tmp_path / "pd-launch.toml").write_text('hf_token = "hunter2-s3cr3t-9x"\n')
    done = run("check", "a.sh", cwd=tmp_path)
    assert done.returncode == 2 and "hf_token" in done.stderr and "hunter2" not in done.stderr
