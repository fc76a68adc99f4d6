"""Known findings stay out of the report and of the status, whatever lines come and go around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli

Run = Callable[..., Result]
WRONG = "vllm serve m --portt 1\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    Path("a/x.sh").write_text(WRONG)

    def check(*words: str) -> Result:
        arguments = ["check", *words, "--target", "vllm==0.32.0"]
        monkeypatch.setattr("sys.argv", ["pd-launch", *arguments])
        return CliRunner().invoke(cli, arguments)

    return check


def known() -> list[dict[str, object]]:
    listed: list[dict[str, object]] = json.loads(Path("base.json").read_text())["findings"]
    return listed


def test_what_is_known_is_not_reported(run: Run) -> None:
    done = run(".", "--baseline", "base.json", "--write-baseline")
    assert done.exit_code == 0 and "base.json now has 1 known finding" in done.stderr
    assert known() == [{"file": "a/x.sh", "code": "PD004", "text": "--portt", "count": 1}]
    done = run(".", "--baseline", "base.json", "--format", "json")
    assert done.exit_code == 0 and "1 known finding left out" in done.stderr
    report = json.loads(done.stdout)
    assert report["findings"] == [] and report["summary"]["suppressed"] == 1
    assert run(".").exit_code == 1


def test_lines_and_other_flags_may_change(run: Run) -> None:
    run(".", "--baseline", "base.json", "--write-baseline")
    Path("a/x.sh").write_text("# one\n\n# two\nvllm serve other --max-num-seqs 8 \\\n  --portt 1\n")
    assert run("a/x.sh", "--baseline", "base.json").exit_code == 0


def test_one_more_of_the_same_is_new(run: Run) -> None:
    run(".", "--baseline", "base.json", "--write-baseline")
    Path("a/x.sh").write_text(WRONG * 2)
    done = run(".", "--baseline", "base.json", "--format", "concise")
    assert done.exit_code == 1 and done.stdout.startswith("a/x.sh:2:14: error[PD004]") and done.stdout.count("\n") == 1
    Path("a/y.sh").write_text(WRONG)
    assert "a/y.sh" in run(".", "--baseline", "base.json", "--format", "concise").stdout


def test_it_counts_from_any_folder_and_by_any_path(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(".", "--baseline", "base.json", "--write-baseline")
    assert run(str(tmp_path / "a" / "x.sh"), "--baseline", str(tmp_path / "base.json")).exit_code == 0
    monkeypatch.chdir(tmp_path / "a")
    assert run("x.sh", "--baseline", "../base.json").exit_code == 0
    assert run(".", "--baseline", "../base.json").exit_code == 0


def test_what_is_fixed_is_said_and_dropped(run: Run) -> None:
    Path("a/y.sh").write_text(WRONG)
    Path("b.sh").write_text(WRONG)
    run(".", "--baseline", "base.json", "--write-baseline")
    Path("a/x.sh").write_text("vllm serve m\n")
    Path("a/y.sh").unlink()
    assert "gone" not in run("b.sh", "--baseline", "base.json").stderr  # the others were not looked at
    assert "2 are gone" in run("a", "--baseline", "base.json", "--allow-no-engine").stderr
    assert "gone" not in run("a", "--baseline", "base.json", "--select", "PD001").stderr
    run("a/x.sh", "--baseline", "base.json", "--write-baseline")
    assert [entry["file"] for entry in known()] == ["b.sh"]  # a/y.sh is there no more
    assert run(".", "--baseline", "base.json").exit_code == 0


def test_a_part_keeps_what_it_did_not_look_at(run: Run) -> None:
    Path("b.sh").write_text("vllm serve m --additional-config '{,}'\n" + WRONG)
    run(".", "--baseline", "base.json", "--write-baseline")
    before = known()
    assert len(before) == 3
    run("a", "--baseline", "base.json", "--write-baseline")
    run("b.sh", "--select", "PD004", "--baseline", "base.json", "--write-baseline")
    assert known() == before


def test_the_configuration_names_it(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("pd-launch.toml").write_text('baseline = "base.json"\n')
    assert run(".").exit_code == 2  # it is not there yet
    run(".", "--write-baseline")
    monkeypatch.chdir(tmp_path / "a")
    assert run("x.sh").exit_code == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"version": "2.1.0", "runs": []}',
        '{"pd_launch_baseline": 2, "findings": []}',
        '{"pd_launch_baseline": 1}',
        '{"pd_launch_baseline": 1, "findings": [{"file": "a"}]}',
        '{"pd_launch_baseline": 1, "findings": [{"file": "a", "code": "b", "text": "c", "count": -1}]}',
        '{"pd_launch_baseline": 1, "findings": [{"file": "a", "code": "b", "text": "c", "count": true}]}',
        "[" * 100_000,
        "\xff",
    ],
    ids=range(12),
)
def test_another_file_is_refused_and_kept(run: Run, text: str) -> None:
    Path("base.json").write_text(text, "latin-1")
    for words in ((), ("--write-baseline",)):
        done = run(".", "--baseline", "base.json", *words)
        assert done.exit_code == 2 and "base.json" in done.stderr and done.stdout == ""
    assert Path("base.json").read_text("latin-1") == text


def test_wrong_usage(run: Run) -> None:
    assert run(".", "--write-baseline").exit_code == 2
    assert run(".", "--baseline", "nope.json").exit_code == 2
    assert run(".", "--baseline", "new.json", "--write-baseline", "--diff").exit_code == 2
    assert not Path("new.json").exists()
    assert run(".", "--baseline", ".").exit_code == 2


def test_no_secret_stands_in_it(run: Run) -> None:
    serve = "vllm serve m --api-keyy hunter2hunter2 --additional-config '{\"x\": hunter2hunter2,}'"
    text = f"export HF_TOKEN=hunter2hunter2\n{serve}\n"
    Path("a/x.sh").write_text(text)
    run(".", "--baseline", "base.json", "--write-baseline")
    assert known() and "hunter2" not in Path("base.json").read_text()
    assert run(".", "--baseline", "base.json").exit_code == 0
    assert "hunter2" not in run(".", "--format", "gitlab").stdout
