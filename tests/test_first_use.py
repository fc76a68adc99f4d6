"""What people meet who use pd-launch for the first time: full disks, devices, closed streams, odd options."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = "vllm serve /models/m --max-num-seqs 8\n"
PROFILE = "version: 1\nhardware: cpu\nmodel: some/model\ndecode:\n  port: 8300\n"
MAIN = "import sys; sys.argv[0] = 'pd-launch'\nfrom pd_launch.launcher.cli import main; main()"


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which ``PD`` is pd-launch."""
    return subprocess.run(
        ["bash", "-c", command.replace("PD ", f'"{sys.executable}" -c "{MAIN}" ')],
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "decode.sh").write_text(SCRIPT)
    (tmp_path / "p.yaml").write_text(PROFILE)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    ["--help", "--version", "rules", "schema profile", "check decode.sh", "decode --profile p.yaml --dry-run"],
)
def test_output_that_cannot_be_written_is_said(command: str, folder: Path) -> None:
    done = shell(f"PD {command} > /dev/full", folder)
    assert done.returncode == 2
    assert done.stderr.endswith("Error: the output could not be written: No space left on device\n")


def test_a_closed_output_is_no_crash(folder: Path) -> None:
    done = shell("PD check decode.sh >&-", folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pipe_as_output_file_gets_the_report(folder: Path) -> None:
    done = shell("PD check decode.sh --format json --output /dev/stdout | cat", folder)
    assert json.loads(done.stdout)["summary"]["error"] == 0


def test_a_device_as_output_file_stays_a_device(folder: Path) -> None:
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    done = shell("cat fifo > got & PD check decode.sh --output fifo; wait", folder)
    assert done.returncode == 0, done.stderr
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert "nothing to report" in (folder / "got").read_text()


def test_a_dry_run_takes_host_facts(folder: Path) -> None:
    (folder / "facts.json").write_text('{"ports_in_use": [8300]}')
    done = shell("PD decode --profile p.yaml --dry-run --host-facts facts.json", folder)
    assert done.returncode == 1
    assert [finding["code"] for finding in json.loads(done.stdout)["findings"]] == ["PD407"]


def test_host_facts_are_no_option_of_a_real_launch(folder: Path) -> None:
    (folder / "facts.json").write_text("{}")
    done = shell("PD decode --profile p.yaml --host-facts facts.json", folder)
    assert done.returncode == 2
    assert "--host-facts needs --dry-run" in done.stderr


@pytest.mark.parametrize("option", ["select", "ignore"])
def test_a_code_that_no_rule_has_is_refused(option: str, folder: Path) -> None:
    done = shell(f"PD check decode.sh --{option} PD1,PD999", folder)
    assert done.returncode == 2
    assert f"--{option} PD999: no rule has this code" in done.stderr
    assert shell(f"PD check decode.sh --{option} pd3,budget-division", folder).returncode == 0


def test_a_profile_that_is_not_valid_cannot_be_forced(folder: Path) -> None:
    (folder / "empty.yaml").write_text("")
    done = shell("PD decode --profile empty.yaml --force PD012", folder)
    assert done.returncode == 78
    assert done.stderr.endswith("pd-launch: refused to start, see the errors above\n")


def test_a_target_of_the_wrong_family_is_said(folder: Path) -> None:
    done = shell("PD check p.yaml --target 0.25.1rc1", folder)
    assert "--target vllm-ascend 0.25.1rc1 does not fit this input" in done.stderr


def test_an_empty_target_is_nonsense(folder: Path) -> None:
    assert shell("PD check p.yaml --target ''", folder).returncode == 2


def test_a_file_with_zero_bytes_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"\0\1\2'")
    done = shell("PD check a.sh", tmp_path)
    assert "PD010" in done.stdout and "not a text file" in done.stdout


def test_a_file_given_twice_is_read_once(folder: Path) -> None:
    done = shell("PD check decode.sh decode.sh --target vllm==0.32.0", folder)
    assert done.returncode == 0, done.stdout


def test_an_invalid_profile_keeps_its_target(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text('version: 1\ntarget: "vllm-ascend==0.25.1rc1"\nhardware: a3\ndecode: {x: 1}\n')
    assert "vllm-ascend 0.25.1rc1" in shell("PD check p.yaml", tmp_path).stdout
