"""The pre-commit hooks and the GitHub Action do what they say, run as their runners run them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
CLEAN = "vllm serve /models/m --additional-config '{\"enable_cpu_binding\": true}'\n"
FAULTY = CLEAN.replace("}", ",}")
TARGET = "vllm-ascend==0.25.1rc1"


def run(command: list[str], cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def steps(inputs: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Return the action's steps as (script, environment), its expressions filled in as a runner does."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    given = {name: inputs.get(name, spec.get("default", "")) for name, spec in action["inputs"].items()}
    values = {"github.action_path": str(ROOT), **{f"inputs.{name}": value for name, value in given.items()}}

    def filled(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"${{{{ {name} }}}}", value)
        assert "${{" not in text
        return text

    listed: list[dict[str, Any]] = action["runs"]["steps"]
    assert all(step["shell"] == "bash" for step in listed)
    return [(filled(step["run"]), {k: filled(v) for k, v in step["env"].items()}) for step in listed]


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment into which the action's own first step installed the project."""
    folder = tmp_path_factory.mktemp("action")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    script, env = steps({"files": ""})[0]
    done = run(["bash", "-e", "-c", script], folder, {**env, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    if done.returncode:
        pytest.skip(f"the package index is not reached: {done.stderr.strip().splitlines()[-1][:100]}")
    return folder / "venv"


@pytest.mark.parametrize(("text", "status"), [(FAULTY, 1), (CLEAN, 0)])
def test_the_action_annotates_and_fails(venv: Path, tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "decode.sh").write_text(text)
    script, env = steps({"files": "decode.sh", "target": TARGET})[1]
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = run(["bash", "-e", "-c", script], tmp_path, {**env, "PATH": path})
    assert done.returncode == status, done.stderr
    if status:
        assert "::error title=PD001 json-syntax,file=decode.sh,line=1," in done.stdout
    else:
        assert "::error" not in done.stdout


@pytest.mark.parametrize("hook", ["pd-launch-check", "pd-launch-fix"])
def test_the_hook_stops_a_commit(hook: str, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("pre-commit")
    if not program.exists() or shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("pre-commit and a git checkout are needed")
    repository = tmp_path / "work"
    repository.mkdir()
    script = repository / "decode.sh"
    script.write_text(FAULTY)
    (repository / "pd-launch.toml").write_text(f'target = "{TARGET}"\n')
    run(["git", "init", "-q"], repository)
    run(["git", "add", "-A"], repository)
    command = [str(program), "try-repo", str(ROOT), hook, "--files", "decode.sh", "--color", "never"]
    done = run(command, repository, {"PRE_COMMIT_HOME": str(tmp_path / "cache")})
    if "CalledProcessError" in done.stdout and "pip" in done.stdout:
        pytest.skip("the package index is not reached")
    assert done.returncode == 1, done.stdout + done.stderr
    if hook == "pd-launch-fix":
        assert "files were modified by this hook" in done.stdout
        assert script.read_text() == CLEAN
    else:
        assert "PD001" in done.stdout
        assert script.read_text() == FAULTY
