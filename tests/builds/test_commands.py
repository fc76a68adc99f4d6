"""``--target PATH`` as a user gives it: only there, said once, and a usage error where there is no build."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pd_launch.launcher import builds
from pd_launch.launcher.builds import read_build
from pd_launch.launcher.cli import main
from tests.builds.tiny import ASCEND, BOMB, VLLM, wheel, write


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    sys.argv[:] = ["pd-launch", *words]
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.chdir(write(tmp_path, {"decode.sh": "vllm serve /models/m --fork-flag a --gpu-memory-utilization 1\n"}))
    return "decode.sh"


def test_a_folder_is_a_target(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "fork", VLLM)
    status, out, err = run(capsys, "check", script, "--target", "fork")
    assert (status, err) == (1, "") and "vLLM 0.32.0 (fork) has no flag --gpu-memory-utilization" in out
    assert "--fork-flag" not in out.replace("serve /models/m --fork-flag", "")
    status, out, _ = run(capsys, "check", script, "--target", "fork", "--format", "json")
    target = json.loads(out)["target"]
    assert (target["vllm"], target["vllm_ascend"], target["from"]) == ("0.32.0", None, "path")


def test_a_wheel_is_a_target(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = wheel(tmp_path / "dist" / "vllm_ascend-0.30.0rc2-py3-none-any.whl", ASCEND)
    status, out, _ = run(capsys, "check", script, "--target", str(path))
    assert status == 1 and "vllm-ascend 0.30.0rc2" in out and "has no flag --fork-flag" in out


def test_what_could_not_be_read_is_said_once(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "fork", {**VLLM, "vllm/envs.py": BOMB})
    for _ in range(2):  # read, and out of the cache
        _, out, err = run(capsys, "check", script, script, "--separate", "--target", "./fork")
        assert err.count("environment variables of vllm could not be read") == 1
        assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nothing/here", "nothing/here does not exist"),
        ("nothing.whl", "nothing.whl does not exist"),
        (".", "contains neither vllm nor vllm_ascend: looked for vllm/ or vllm_ascend/ in ."),
        ("decode.sh", "neither a folder nor a wheel"),
        ("latest", "is not a release"),
    ],
)
@pytest.mark.parametrize("command", ["check", "decode"])
def test_a_path_without_a_build_is_a_usage_error(
    command: str, word: str, said: str, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("check", script) if command == "check" else ("decode", "--profile", "cpu-tiny", "--dry-run")
    status, _, err = run(capsys, *words, "--target", word)
    assert status == 2 and said in " ".join(err.split())


def test_a_file_may_not_name_a_path(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {**VLLM, "pd-launch.toml": 'target = "./vllm"\n'})
    status, _, err = run(capsys, "check", script)
    assert status == 2 and "is not a release" in err


def test_a_release_wins_over_a_folder_of_its_name(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "0.30.0rc2", VLLM)
    _, out, _ = run(capsys, "check", script, "--target", "0.30.0rc2")
    assert "checked for vllm-ascend 0.30.0rc2, as --target says" in out


def test_a_unit_of_systemd_names_the_path(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "fork", VLLM)
    words = ("decode", "--profile", "cpu-tiny", "--dry-run", "--format", "systemd", "--target", "fork")
    _, out, _ = run(capsys, *words)
    assert f"--target {tmp_path}/fork" in out


@pytest.mark.parametrize("form", ["json", "shell", "compose", "k8s", "docker"])
def test_a_profile_is_rendered_for_a_path(
    form: str, script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "fork", VLLM)
    status, out, err = run(capsys, "decode", "--profile", "cpu-tiny", "--dry-run", "--format", form, "--target", "fork")
    assert status == 1 and ("has no flag" in out or "has no flag" in err)


def test_another_release_than_the_installed_one_is_a_warning(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"host.json": '{"vllm": "0.31.0"}', "own.json": '{"vllm": "0.32.0"}'})
    words = ("decode", "--profile", "cpu-tiny", "--dry-run", "--target", "vllm==0.32.0", "--host-facts")
    _, out, _ = run(capsys, *words, "host.json")
    found = [f for f in json.loads(out)["findings"] if f["code"] == "PD904"]
    assert [(f["severity"], f["message"]) for f in found] == [
        ("warning", "this is for vLLM 0.32.0, but vLLM 0.31.0 is installed")
    ]
    _, out, _ = run(capsys, *words, "own.json")
    assert not [f for f in json.loads(out)["findings"] if f["code"] == "PD904"]
    write(tmp_path / "fork", {**VLLM, "vllm/_version.py": "__version__ = '0.32.1.dev3'\n"})
    _, out, _ = run(capsys, "check", script, "--target", "fork", "--host-facts", "own.json")
    assert "this is for vLLM 0.32.1.dev3, but vLLM 0.32.0 is installed" in out


def test_what_is_installed_decides_behind_all_others(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = read_build(write(tmp_path / "fork", VLLM), "")
    monkeypatch.setattr(builds, "installed_build", lambda program=None: build)
    _, out, _ = run(capsys, "check", script, "--host")
    assert "vLLM 0.32.0 has no flag --gpu-memory-utilization" in out and "vLLM 0.32.0, which is installed here" in out
    _, out, _ = run(capsys, "check", script)
    assert "--gpu-memory-utilization" not in out.replace("a --gpu-memory-utilization", ""), "nothing of this machine"
    write(tmp_path, {"named.sh": "# pd-launch: target vllm==0.31.0\nvllm serve /models/m --gpu-memory-utilization 1\n"})
    _, out, _ = run(capsys, "check", "named.sh", "--host")
    assert "as a comment says" in out and "has no flag" not in out


def test_a_build_has_its_own_parsers(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "fork", VLLM)
    Path(script).write_text("vllm serve m --reasoning-parser fork-r1 --attention-backend fork_attn\n")
    _, out, _ = run(capsys, "check", script, "--target", "fork", "--format", "concise")
    assert out.count("PD007") == 1 and "(fork) has no reasoning parser 'fork-r1'" in out
