"""The configuration file is found upward, decides what options leave open, and says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.check.config import ConfigError, find_config
from pd_launch.launcher.cli import cli

SCRIPT = """vllm serve /models/m --additional-config '{"enable_cpu_binding": true,}'\n"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "decode.sh").write_text(SCRIPT)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    arguments = ["check", *words]
    monkeypatch.setattr("sys.argv", ["pd-launch", *arguments])
    return CliRunner().invoke(cli, arguments)


def test_the_nearest_file_upward_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = str(folder / "a" / "b" / "decode.sh")
    assert run(monkeypatch, script).exit_code == 1
    (folder / "pd-launch.toml").write_text('ignore = ["PD001"]\ntarget = "0.25.1rc1"\n')
    assert run(monkeypatch, script).exit_code == 0
    (folder / "a" / "pyproject.toml").write_text('[tool.pd-launch]\nselect = ["PD0"]\n')
    assert run(monkeypatch, script).exit_code == 1
    (folder / "a" / "b" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert run(monkeypatch, script).exit_code == 1


def test_options_win(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = str(folder / "a" / "b" / "decode.sh")
    (folder / "pd-launch.toml").write_text('ignore = ["PD001"]\ntarget = "0.25.1rc1"\nfail-on = "info"\n')
    report = json.loads(run(monkeypatch, script, "--format", "json", "--ignore", "PD9").output)
    assert [f["code"] for f in report["findings"]] == ["PD001"]
    assert report["target"]["vllm_ascend"] == "0.25.1rc1"
    other = json.loads(run(monkeypatch, script, "--format", "json", "--target", "0.23.0").output)
    assert other["target"]["vllm_ascend"] == "0.23.0"


def test_severities_and_per_file_rules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = str(folder / "a" / "b" / "decode.sh")
    settings = folder / "pd-launch.toml"
    settings.write_text('target = "0.25.1rc1"\n[severity]\nPD001 = "info"\n')
    assert run(monkeypatch, script).exit_code == 0
    assert run(monkeypatch, script, "--fail-on", "info").exit_code == 1
    settings.write_text('target = "0.25.1rc1"\n[per-file-ignores]\n"decode*.sh" = ["PD001"]\n')
    assert run(monkeypatch, script, "--fail-on", "info").exit_code == 0
    settings.write_text('target = "0.25.1rc1"\n[per-file-ignores]\n"prefill*.sh" = ["PD001"]\n')
    assert run(monkeypatch, script).exit_code == 1


def test_show_config_prints_what_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pd-launch.toml").write_text('ignore = ["PD406"]\nlang = "zh"\n')
    shown = json.loads(run(monkeypatch, str(folder / "a" / "b" / "decode.sh"), "--show-config").output)
    assert shown["file"] == str(folder / "pd-launch.toml")
    assert (shown["ignore"], shown["lang"], shown["fail-on"]) == (["PD406"], "zh", "error")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ignroe = []\n", "did you mean ignore?"),
        ("ignore = 3\n", "must be a list of codes"),
        ('[severity]\nPD001 = "fatal"\n', "must be error, warning or info"),
        ('lang = "fr"\n', "must be en or zh"),
        ("target = 1\n", "must be a string"),
        ("[severity\n", "is not TOML"),
        ("per-file-ignores = 1\n", "must be a table"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(folder: Path, text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pd-launch.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"pd-launch\.toml"):
        find_config(folder)
    result = run(monkeypatch, str(folder / "a" / "b" / "decode.sh"))
    assert result.exit_code != 0
    assert said in result.output
