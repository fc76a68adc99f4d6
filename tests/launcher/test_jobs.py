"""Several processes find and print what one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pd_launch.launcher.check import jobs as jobs_module
from pd_launch.launcher.check.jobs import MANY, check_inputs, default_jobs
from pd_launch.launcher.check.run import Selection
from pd_launch.launcher.sources.read import Inputs
from pd_launch.schemas.core.values import SourceFile

TEXTS = {
    "a.sh": "export HF_TOKEN=hunter2hunter2\nvllm serve m --tensor-parallel-sizee 8\n",
    "b.sh": "vllm serve m --port 8000 # pd-launch: ignore[PD001]\n",
    "c.sh": "pd-launch decode --profile p.yaml\n",
    "d.sh": "vllm serve m --config more.yaml\n",
    "e.py": "from vllm import LLM\nLLM('m', nope=1)\n",
    "f.txt": "nothing here\n",
    "more.yaml": "portt: 1\n",
    "p.yaml": "version: 1\nhardware: cpu\nmodel: m\ndecode: {portt: 1}\n",
    "z.yaml": "services: {decode: {command: vllm serve m --kv-transfer-config '{,}'}}\n",
}
FORMS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


def printed(folder: Path, *words: str) -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-m", "pd_launch", "check", "--separate", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_the_same_bytes(form: str, tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    words = ("--format", form, "--target", "vllm==0.32.0", *TEXTS)
    one, several = printed(tmp_path, "--jobs", "1", *words), printed(tmp_path, "--jobs", "3", *words)
    assert several == one and one[0] == 1 and b"hunter2" not in one[1]


def test_without_an_engine_anywhere_it_is_said_once_for_each(tmp_path: Path) -> None:
    for name in ("a.sh", "b.sh"):
        (tmp_path / name).write_text("echo\n", "utf-8")
    assert printed(tmp_path, "--jobs", "2", "a.sh", "b.sh") == printed(tmp_path, "--jobs", "1", "a.sh", "b.sh")


def test_several_processes_only_for_many_files_of_their_own() -> None:
    files = [SourceFile(f"{i}.sh", "") for i in range(MANY)]
    assert default_jobs(Inputs(files)) == 1 and default_jobs(Inputs(files[1:], separate=True)) == 1
    assert default_jobs(Inputs(files, separate=True)) >= 1


def test_more_processes_than_files() -> None:
    inputs = Inputs([SourceFile(name, text) for name, text in TEXTS.items()], separate=True)
    several = check_inputs(inputs, Selection(), "zh", 50)
    assert several.checked.findings == check_inputs(inputs, Selection(), "zh", 1).checked.findings


def test_an_interrupt_ends_all_of_them_without_a_traceback(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number}.sh").write_text("export A=1\nvllm serve m --portt 1\n" * 300, "utf-8")
    words = [sys.executable, "-m", "pd_launch", "check", "--separate", "--jobs", "2", *(f"{i}.sh" for i in range(60))]
    started = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    time.sleep(3)
    os.killpg(started.pid, signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode not in (0, 1) and b"Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, 0)


@pytest.mark.parametrize("killed", [1, 2])
def test_a_process_that_is_killed_leaves_nothing_out(killed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel does it where memory runs out."""
    names = [f"{number:03}.sh" for number in range(MANY)]
    inputs = Inputs([SourceFile(name, f"vllm serve m --no-such-{name} 1\n") for name in names], separate=True)
    ours, whole = os.getpid(), jobs_module._checked

    def checked(task: jobs_module._Task) -> jobs_module.Outcome:
        if os.getpid() != ours and (killed == 2 or 7 in (task.inputs.part or ())):
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(task)

    monkeypatch.setattr(jobs_module, "_checked", checked)
    found = check_inputs(inputs, Selection(), "en", 2).checked.findings
    assert [finding.file for finding in found if finding.code == "PD004"] == names
