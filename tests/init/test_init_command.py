"""``pd-launch init`` and ``pd-launch profiles``: files, statuses, questions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.commands.init import ask
from pd_launch.launcher.init.ask import Answers, profile_text
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.profiles.shipped import shipped_names
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.values import SourceFile


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(words), input=stdin)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "decode.sh"
    path.write_text("#!/bin/bash\nHCCL_BUFFSIZE=512 vllm serve /m --port 9000 --seed 3\n")
    return path


def test_from_a_script_to_standard_output(script: Path) -> None:
    result = run("init", "--from", str(script), "--lang", "en")
    assert result.exit_code == 0
    assert load_profile(SourceFile("p.yaml", result.stdout)).faults == []
    assert "launches 1 engine exactly" in result.stderr


def test_to_a_file_that_is_never_overwritten(script: Path, tmp_path: Path) -> None:
    target = tmp_path / "my.yaml"
    assert run("init", "--from", str(script), "-o", str(target)).exit_code == 0
    assert "name: my\n" in target.read_text()
    assert run("check", str(target), "--ignore", "PD608").exit_code == 0
    before = target.read_text()
    again = run("init", "--from", str(script), "-o", str(target))
    assert again.exit_code != 0 and "already exists" in again.output
    assert target.read_text() == before


def test_what_is_left_out_is_listed_with_its_place(script: Path) -> None:
    script.write_text('export HF_TOKEN=hf_secret99\nvllm serve /m --seed "$1"\n')
    result = run("init", "--from", str(script), "--lang", "en")
    assert result.exit_code == 1
    assert f"{script}:2: --seed" in result.stderr and f"{script}:1: HF_TOKEN" in result.stderr
    assert "hf_secret99" not in result.output
    assert "未知" in run("init", "--from", str(script), "--lang", "zh").stderr


HOLES = {
    "key.sh": ("vllm serve m --additional-config '{\"a\": 1, \"'$X'\": 2}'\n", "--additional-config: its value"),
    "inner.sh": ("vllm serve m --hf-overrides '{\"a\": {\"b'$X'\": {}}}'\n", "--hf-overrides: its value"),
    "transfer.sh": (
        """vllm serve m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "'$X'": 1}'\n""",
        "--kv-transfer-config: its value",
    ),
    "flag.sh": ("vllm serve m --$X 5\n", "--…: its name"),
    "half-a-flag.sh": ("vllm serve m --max-$X 5\n", "--max-…: its name"),
    "bare.sh": ("vllm serve m --enable-$X --port 9000\n", "--enable-…: its name"),
    "dotted.sh": ("vllm serve m --hf-overrides.$X 5\n", "--hf-overrides: its value"),
    "key.py": ("from vllm import LLM\nLLM('m', hf_overrides={x: 1, 'n': 2})\n", "--hf-overrides: its value"),
    "key-of-two.py": (
        "from vllm import LLM\nLLM('m', hf_overrides={f'a{x}': 1, 'n': 2})\n",
        "--hf-overrides: its value",
    ),
}


@pytest.mark.parametrize("name", HOLES)
def test_an_unknown_name_is_left_out_and_said(name: str, tmp_path: Path) -> None:
    text, said = HOLES[name]
    (tmp_path / name).write_text(text)
    result = run("init", "--from", str(tmp_path / name), "--target", "vllm==0.32.0", "--lang", "en")
    assert result.exit_code == 1
    assert "launches no engine exactly" in result.stderr
    assert f": {said} is not known before the launch: write it into the profile\n" in result.stderr
    assert load_profile(SourceFile("p.yaml", result.stdout)).faults == []
    assert not any(hole in result.output for hole in ("\ue000", "uE000", "ue000"))


def test_a_name_that_a_variable_of_the_program_gives_is_known(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("from vllm import LLM\nK = 'a'\nLLM('m', hf_overrides={K: 1, 'n': 2})\n")
    result = run("init", "--from", str(tmp_path / "s.py"), "--target", "vllm==0.32.0", "--lang", "en")
    assert "launches 1 engine exactly" in result.stderr and "      a: 1\n      n: 2\n" in result.stdout


def test_several_files_behind_one_from(script: Path, tmp_path: Path) -> None:
    other = tmp_path / "prefill.sh"
    config = '{"kv_connector":"MooncakeConnectorV1","kv_role":"kv_producer"}'
    other.write_text(f"vllm serve /m --kv-transfer-config '{config}'\n")
    result = run("init", "--from", str(script), str(other), "--name", "both")
    assert "\nprefill:" in result.stdout and "\ndecode:" in result.stdout and "name: both" in result.stdout


def test_usage(tmp_path: Path, script: Path) -> None:
    nothing = tmp_path / "empty.sh"
    nothing.write_text("echo hello\n")
    assert "no engine" in run("init", "--from", str(nothing)).output
    assert run("init", "--from", "/no/such").exit_code != 0
    assert "after --from" in run("init", str(script)).output
    profile = tmp_path / "p.yaml"
    profile.write_text("version: 1\nhardware: a3\nmodel: /m\ndecode: {}\n")
    assert "a profile already" in run("init", "--from", str(profile)).output


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_questions_have_answers_that_are_clean(lang: str, tmp_path: Path) -> None:
    target = tmp_path / "a.yaml"
    answers = "a3\n/models/deepseek-v3.1-w8a8\n" + "\n" * 20
    result = run("init", "-o", str(target), "--lang", lang, stdin=answers)
    assert result.exit_code == 0
    text = target.read_text()
    assert text.count("#") >= 8, "commented"
    assert [f for f in check(read_texts({"a.yaml": text})) if f.severity != "info"] == []


def test_a_wrong_answer_is_asked_again(tmp_path: Path) -> None:
    target = tmp_path / "a.yaml"
    answers = "a9\na2\n/m\ndecode\nx\n4\n1\n4\n1\nno\n4096\n16\nplenty\n2GiB\n192.0.2.9\n"
    result = run("init", "-o", str(target), "--lang", "en", stdin=answers)
    assert result.exit_code == 0, result.output
    assert "per_rank: 2GiB" in target.read_text() and '"192.0.2.9"' in target.read_text()


@pytest.mark.parametrize(("answers", "question"), [("", "Hardware"), ("a3\n", "Model"), ("a3\nm\n", "Sides")])
def test_answers_that_end_too_early(answers: str, question: str, tmp_path: Path) -> None:
    """The installed command itself: nothing is written, and it says how to answer."""
    command = [sys.executable, "-m", "pd_launch", "init", "--lang", "en"]
    done = subprocess.run(command, input=answers, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == "" and list(tmp_path.iterdir()) == []
    error = done.stderr.splitlines()[-1]
    assert error.startswith(f"Error: standard input ended at the question '{question}")
    for way in ("pd-launch init < answers.txt", "pd-launch init --from decode.sh", "pd-launch profiles copy a3-dp2tp8"):
        assert way in error


def test_answers_that_end_too_early_in_chinese(tmp_path: Path) -> None:
    result = run("init", "-o", str(tmp_path / "a.yaml"), "--lang", "zh", stdin="a3\n")
    assert result.exit_code == 1 and "标准输入在问题“模型" in result.stderr  # CliRunner's status of an error
    assert "pd-launch init < answers.txt" in result.stderr


def test_an_interrupt_is_no_missing_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", interrupted)
    with pytest.raises(click.Abort):
        ask("en")


@pytest.mark.parametrize("sides", ["both", "decode"])
@pytest.mark.parametrize(
    "answers",
    [
        Answers("a3", "/models/deepseek-v3.1-w8a8", "both", 8, 2, 8, 2, True),
        Answers("a3", "Qwen/Qwen3-32B", "both", 4, 1, 4, 1),
        Answers("a2", "Qwen/Qwen3-32B", "both", 8, 1, 8, 1),
        Answers("a2", "/models/x", "both", 8, 1, 8, 1, budget=0),
        Answers("cuda", "Qwen/Qwen3-32B", "both", 4, 1, 4, 1, prefill_address="192.0.2.1", decode_address="192.0.2.2"),
        Answers("cpu", "Qwen/Qwen3-0.6B", "both", 1, 1, 1, 1, length=4096, budget=4 * 2**30),
    ],
    ids=lambda a: f"{a.hardware}-{a.model.rpartition('/')[2]}-{a.budget}",
)
def test_written_profiles_are_clean(answers: Answers, sides: str) -> None:
    from dataclasses import replace

    text = profile_text("x", replace(answers, sides=sides))
    found = [f"{f.code}: {f.message}" for f in check(read_texts({"x.yaml": text})) if f.severity != "info"]
    assert found == []


def test_profiles_list_show_and_copy(tmp_path: Path) -> None:
    listed = run("profiles", "list").stdout
    assert all(name in listed for name in shipped_names())
    assert all(line.endswith(".") for line in listed.splitlines()), "a description is cut off"
    shown = run("profiles", "show", "cpu-tiny").stdout
    target = tmp_path / "mine.yaml"
    assert run("profiles", "copy", "cpu-tiny", str(target)).exit_code == 0
    assert target.read_text() == shown and "name: cpu-tiny" in shown
    assert "$schema" not in shown, "the schema's path leads nowhere from a copy"
    target.write_text("mine")
    assert run("profiles", "copy", "cpu-tiny", str(target)).exit_code != 0
    assert target.read_text() == "mine"
    assert run("profiles", "copy", "cpu-tiny.yaml", str(tmp_path)).exit_code == 0
    assert (tmp_path / "cpu-tiny.yaml").read_text() == shown


def test_profiles_that_are_not_there(tmp_path: Path) -> None:
    for words in (("show", "cpu-tinny"), ("copy", "cpu-tinny")):
        result = run("profiles", *words)
        assert result.exit_code != 0 and "cpu-tiny" in result.output
    assert run("profiles", "copy", "cpu-tiny", str(tmp_path / "no" / "where.yaml")).exit_code != 0
    outside = tmp_path / "secret.yaml"
    outside.write_text("x: 1")
    assert run("profiles", "show", str(outside)).exit_code != 0
