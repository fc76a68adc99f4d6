"""The net below fixes: what a fixed file must be before it is written, and what is said of fixes that are refused."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.check import fix
from pd_launch.launcher.check.run import Selection
from pd_launch.launcher.cli import cli
from pd_launch.launcher.sources.read import Inputs
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import SourceFile

DOUBLE_QUOTED = """vllm serve /models/m --tensor-parallel-size 8 \\
  --additional-config '{"recompute_scheduler_enable": true}' \\
  --kv-transfer-config "{\\"kv_connector\\": \\"RecomputeCPUOffloadConnector\\", \\"kv_role\\": \\"kv_consumer\\", \
\\"kv_connector_extra_config\\": {\\"cpu_bytes_to_use_per_rank\\": \\"16GiB\\"}}"
"""
CUDA = """#!/bin/bash
export CUDA_HOME=/usr/local/cuda
vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --kv-transfer-config \
'{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_buffer_size":3e9}'
"""
REVEALS = "vllm serve /models/m --max-num-seqz 512 --max-num-batched-tokens 64\n"
"""Mending the flag lets the engine refuse the budget of tokens."""


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    arguments = ["check", *words]
    monkeypatch.setattr("sys.argv", ["pd-launch", *arguments])
    return CliRunner().invoke(cli, arguments)


def write(folder: Path, text: str, name: str = "a.sh") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def bash_argv(script: str, folder: Path) -> list[str]:
    """Run a script with a stand-in for vllm and return the arguments that bash gives it."""
    stand_in = folder / "bin"
    stand_in.mkdir(exist_ok=True)
    (stand_in / "vllm").write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\n')
    (stand_in / "vllm").chmod(0o755)
    done = subprocess.run(
        ["bash", script],
        env={"PATH": f"{stand_in}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return done.stdout.split("\0")[:-1]


@pytest.mark.parametrize("words", [(), ("--select", "PD007"), ("--ignore", "PD001")])
def test_a_value_in_double_quotes_is_written_in_double_quotes(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, DOUBLE_QUOTED)
    result = run(monkeypatch, path, "--target", "vllm-ascend==0.23.0", "--fix", *words)
    assert "fixed 1 (PD007)" in result.output
    assert Path(path).read_text() == DOUBLE_QUOTED.replace('\\"16GiB\\"', "17179869184")
    config = json.loads(bash_argv(path, tmp_path)[-1])
    assert config["kv_connector_extra_config"] == {"cpu_bytes_to_use_per_rank": 17179869184}


@pytest.mark.parametrize("words", [(), ("--select", "PD004"), ("--ignore", "PD501"), ("comment",)])
def test_the_net_has_no_holes(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = REVEALS
    if words == ("comment",):
        words, text = (), REVEALS.replace("\n", "  # pd-launch: ignore[PD501] known\n")
    path = write(tmp_path, text)
    target = ("--target", "vllm==0.32.0")
    result = run(monkeypatch, path, *target, "--fix", "--unsafe-fixes", *words)
    assert Path(path).read_text() == text
    assert f"1 fix not applied: PD004 {path}:1:22: it would cause PD501" in result.output
    report = json.loads(run(monkeypatch, path, *target, "--format", "json", *words).stdout)
    assert [f["fix"] for f in report["findings"] if f["code"] == "PD004"] == [None]
    assert report["summary"]["fixable"] == 0
    assert "can be fixed" not in run(monkeypatch, path, *target, *words).output


def test_the_preview_that_is_advised_shows_the_fixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certain = write(tmp_path, DOUBLE_QUOTED, "certain.sh")
    likely = write(tmp_path, REVEALS.replace(" --max-num-batched-tokens 64", ""), "likely.sh")
    for path, target, option in ((certain, "vllm-ascend==0.23.0", ""), (likely, "vllm==0.32.0", " --unsafe-fixes")):
        advised = run(monkeypatch, path, "--target", target).output
        assert f"1 can be fixed: add --fix{option}, or --diff{option} to preview; " in advised
        assert "would fix 1" in run(monkeypatch, path, "--target", target, "--diff", *option.split()).output


def test_a_fix_that_depends_on_a_guessed_release_is_not_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (CUDA, CUDA.replace("export CUDA_HOME=/usr/local/cuda\n", "")):
        path = write(tmp_path, text)
        run(monkeypatch, path, "--fix")
        assert Path(path).read_text() == text
    report = json.loads(run(monkeypatch, path, "--format", "json").stdout)
    assert all(not finding["fix"]["safe"] for finding in report["findings"] if finding["fix"])
    result = run(monkeypatch, path, "--fix", "--target", "vllm-ascend==0.25.1rc1")
    assert "fixed 1 (PD220)" in result.output


def test_a_fix_that_every_release_gets_is_safe_without_a_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "vllm serve /models/m --additional-config '{\"enable_cpu_binding\": true,}'\n"
    path = write(tmp_path, text)
    assert "fixed 1 (PD001)" in run(monkeypatch, path, "--fix").output
    assert Path(path).read_text() == text.replace(",}", "}")


def faulty(count: int, more: str = "") -> str:
    return "".join(
        f"vllm serve /models/m{number} --port {8000 + number} --additional-config '{{\"enable_cpu_binding\": true,}}'"
        f"{more} &\n"
        for number in range(count)
    )


def trial(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[fix.Fixed, int]:
    looks: list[object] = []
    look = fix._Trial._look

    def counted(self: Any, texts: Any) -> Any:
        looks.append(texts)
        return look(self, texts)

    monkeypatch.setattr(fix._Trial, "_look", counted)
    inputs = Inputs([SourceFile("a.sh", text)], target=parse_target("vllm-ascend==0.25.1rc1"))
    return fix.fix_inputs(inputs, Selection(), unsafe=True), len(looks)


def test_many_faults_cost_a_few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    result, looks = trial(faulty(40), monkeypatch)
    assert len(result.done) == 40 and looks <= 3
    assert result.after["a.sh"] == faulty(40).replace(",}", "}")


def test_one_fix_that_does_not_pass_keeps_no_other_from_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    text = faulty(20) + REVEALS
    result, looks = trial(text, monkeypatch)
    assert len(result.done) == 20 and looks <= 16
    assert [refusal.finding.code for refusal in result.refused] == ["PD004"]
    assert result.after["a.sh"] == faulty(20).replace(",}", "}") + REVEALS


def test_a_new_finding_is_new_although_another_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = REVEALS.replace("seqz", "seqs").replace("/m ", "/m --port 1 ") + REVEALS.replace("/m ", "/m --port 2 ")
    result, _ = trial(text, monkeypatch)
    assert result.changed == [] and [refusal.finding.code for refusal in result.refused] == ["PD004"]


def test_fixes_that_meet_are_made_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'vllm serve m --kv-transfer-config \'{"kv_connector": "NixlConnector" "kv_role": "kv_bot"}\'\n'
    result, _ = trial(text, monkeypatch)
    assert [finding.code for finding in result.done] == ["PD001", "PD101"]
    assert result.after["a.sh"] == text.replace('Connector" ', 'Connector", ').replace("kv_bot", "kv_both")
    again, looks = trial(result.after["a.sh"], monkeypatch)
    assert again.changed == [] and looks <= 3


def test_a_fix_may_change_nothing_else() -> None:
    before = SourceFile("a.sh", "A=8\nvllm serve m --block-size 64 --tensor-parallel-size $A\n")
    after = SourceFile("a.sh", "A=8\nvllm serve m --block-size 128 --tensor-parallel-size 4\n")
    facts = [
        fix.facts_of(fix.read(Inputs([source], target=parse_target("vllm==0.32.0")))) for source in (before, after)
    ]
    start = before.text.index("64")
    touched = fix.Touched([(start, start + 2)], [(start, start + 3)])
    assert fix.lost_fact(*facts, {"a.sh": touched}) == "--tensor-parallel-size"


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, faulty(1))
    whole = fix.fix_inputs

    def meanwhile(*words: Any, **more: Any) -> Any:
        done = whole(*words, **more)
        Path(path).write_text(faulty(1) + "# saved in an editor\n")
        return done

    monkeypatch.setattr("pd_launch.launcher.commands.fixing.fix_inputs", meanwhile)
    result = run(monkeypatch, path, "--fix", "--target", "0.25.1rc1")
    assert "it changed meanwhile and was not fixed" in result.output
    assert "fixed 1" not in result.output and result.exit_code == 1
    assert Path(path).read_text() == faulty(1) + "# saved in an editor\n"


def test_write_protected_files_and_hard_links_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, linked = Path(write(tmp_path, faulty(1))), Path(write(tmp_path, faulty(1), "b.sh"))
    path.chmod(0o444)
    os.link(linked, tmp_path / "c.sh")
    for file, reason in ((path, "write-protected"), (linked, "hard links")):
        result = run(monkeypatch, str(file), "--fix", "--target", "0.25.1rc1")
        assert reason in result.output and result.exit_code == 1
        assert file.read_text() == faulty(1)
    assert (tmp_path / "c.sh").stat().st_nlink == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_fixed_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, faulty(1))
    os.chown(path, 1234, 1235)
    run(monkeypatch, path, "--fix", "--target", "0.25.1rc1")
    found = Path(path).stat()
    assert (found.st_uid, found.st_gid) == (1234, 1235)
    assert Path(path).read_text() == faulty(1).replace(",}", "}")


def test_each_deployment_is_fixed_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write(tmp_path, faulty(1) + (REVEALS if name == "b" else ""), f"{name}.sh") for name in "abc"]
    result = run(monkeypatch, *paths, "--separate", "--fix", "--unsafe-fixes", "--target", "vllm-ascend==0.25.1rc1")
    assert "fixed 3 (PD001 ×3)" in result.output and "1 fix not applied: PD004" in result.output
    assert all(",}" not in Path(path).read_text() for path in paths)
