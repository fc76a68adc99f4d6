"""What a user names is opened without waiting for it, whatever it is; each refusal says what it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pd_launch.launcher.opening import NO_FILE, NoRegularFile, open_input

PD = str(Path(sys.executable).with_name("pd-launch"))
ENGINE = "vllm serve m --tensor-parallel-sizee 8\n"


def run(folder: Path, *words: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PD, *words], cwd=folder, capture_output=True, text=True, timeout=60, **more)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.sh").write_text(ENGINE)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["check", "pipe"],
        ["check", "a.sh", "--host-facts", "pipe"],
        ["decode", "--profile", "./pipe", "--dry-run"],
        ["doctor", "--profile", "./pipe"],
        ["size", "--profile", "./pipe"],
        ["init", "--from", "pipe"],
        ["logs", "pipe"],
        ["logs", "--follow", "pipe"],
        ["logs", "/dev/zero"],
        ["check", "/dev/zero"],
    ],
    ids=" ".join,
)
def test_no_command_waits_for_a_pipe_or_a_device(words: list[str], folder: Path) -> None:
    done = run(folder, *words)
    assert done.returncode == 2 and NO_FILE in done.stderr, done


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "dangling"])
def test_a_configuration_that_is_no_file_is_refused(kind: str, folder: Path) -> None:
    own = folder / "pd-launch.toml"
    if kind == "pipe":
        os.mkfifo(own)
    elif kind == "folder":
        own.mkdir()
    else:
        own.symlink_to({"device": "/dev/zero", "loop": own.name, "dangling": "nothing"}[kind])
    done = run(folder, "check", "a.sh")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "pd-launch.toml: " in done.stderr, done


def test_what_the_shell_hands_over_is_read(folder: Path) -> None:
    words = ["bash", "-c", f"cat a.sh | {PD} check /dev/stdin; {PD} check <(cat a.sh)"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.stdout.count("error[PD004]") == 2, done


def test_a_loop_of_links_is_named(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    done = run(folder, "check", "loop", "a.sh")
    assert done.returncode == 2 and "loop: Too many levels" in done.stderr and "PD004" in done.stdout


@pytest.mark.parametrize("command", ["check", "logs"])
def test_standard_input_that_is_closed_is_empty(command: str, folder: Path) -> None:
    done = subprocess.run(["bash", "-c", f"{PD} {command} - <&-"], cwd=folder, capture_output=True, timeout=60)
    assert done.returncode in (1, 2) and b"internal fault" not in done.stderr


@pytest.mark.parametrize("size", ["9" * 28 + "TiB", "1TiB", "1025MiB"])
def test_no_size_is_taken_that_memory_cannot_hold(size: str, folder: Path) -> None:
    done = run(folder, "check", "a.sh", "--max-size", size)
    assert done.returncode == 2 and "at most 1 GiB" in done.stderr


def test_a_key_of_very_many_parts_is_refused(folder: Path) -> None:
    done = run(folder, "decode", "--profile", "a3-dp2tp8", "--dry-run", "--set", f"decode{'.a' * 40_000}=1")
    assert done.returncode == 2 and "more than 50 parts" in done.stderr and len(done.stderr) < 200


def test_a_profile_to_render_is_as_large_as_one_to_check(folder: Path) -> None:
    (folder / "big.yaml").write_text("version: 1\n" + "#" * (2 << 20))
    for words in (["decode", "--dry-run"], ["doctor"], ["size"]):
        done = run(folder, *words, "--profile", "big.yaml")
        assert done.returncode == 2 and "larger than 2 MiB" in done.stderr, done


def test_init_writes_to_standard_output_where_a_hyphen_is_its_file(folder: Path) -> None:
    done = run(folder, "init", "--from", "a.sh", "-o", "-")
    assert "version: 1" in done.stdout and "name: converted" in done.stdout and "wrote" not in done.stderr
    assert not (folder / "-").exists()


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    regular = (folder / "a.sh").stat()
    monkeypatch.setattr(Path, "stat", lambda self, **_: regular)
    with pytest.raises(NoRegularFile):
        open_input(str(folder / "pipe"))


def test_a_working_folder_that_is_gone_is_named(folder: Path) -> None:
    command = f"mkdir gone; cd gone; rmdir ../gone; {PD} check -- vllm serve m --fooo 1"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2) and "output could not" not in done.stderr, done
