"""The pre-commit hooks and the GitHub Action do what they say, run as their runners run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from doc_examples import blocks

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


def mixed(folder: Path) -> None:
    """Write a repository as projects are: few engines among much else."""
    for name, text in {
        "deploy/decode.sh": FAULTY,
        "deploy/clean.sh": CLEAN,
        "deploy/pod.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
        "src/util.py": "import vllm\n",
        "build.sh": "#!/bin/sh\npip install vllm\n",
        ".github/workflows/ci.yml": "on: push\njobs: {}\n",
        "README.md": "run `vllm serve m --so-and-so`\n",
        ".gitignore": "out/\n",
        "out/decode.sh": FAULTY,
        "pd-launch.toml": f'target = "{TARGET}"\n',
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def of_page(language: str) -> list[str]:
    """Return the blocks of one language of the page on CI."""
    return [
        block.body
        for block in blocks((ROOT / "docs" / "guide" / "ci.md").read_text("utf-8"))
        if block.language == language
    ]


def test_the_action_checks_the_whole_repository_where_no_files_are_named(venv: Path, tmp_path: Path) -> None:
    mixed(tmp_path)
    script, env = steps({})[1]
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = run(["bash", "-e", "-c", script], tmp_path, {**env, "PATH": path})
    assert done.returncode == 1 and done.stdout.count("::error") == 1, done
    assert "file=deploy/decode.sh,line=1," in done.stdout
    (tmp_path / "deploy" / "decode.sh").unlink()
    (tmp_path / "deploy" / "clean.sh").unlink()
    done = run(["bash", "-e", "-c", script], tmp_path, {**env, "PATH": path})
    assert done.returncode == 0 and "::error" not in done.stdout, done


def test_the_jobs_of_the_page_on_ci(venv: Path, tmp_path: Path) -> None:
    """The commands of GitLab's and Jenkins' examples, as their runners run them."""
    mixed(tmp_path)
    path = {"PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}", "CI_PROJECT_DIR": str(tmp_path)}
    job = next(yaml.safe_load(text)["pd-launch"] for text in of_page("yaml") if "codequality" in text)
    script = [line for line in job["script"] if not line.startswith("pip install ")]
    done = run(["bash", "-e", "-c", "\n".join(script)], tmp_path, path)
    assert done.returncode == 1, done.stderr
    entries = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text("utf-8"))
    assert [entry["location"]["path"] for entry in entries] == ["deploy/decode.sh"]
    (groovy,) = of_page("groovy")
    done = run(["bash", "-e", "-c", re.findall(r"^sh '(.*)'$", groovy, re.MULTILINE)[0]], tmp_path, path)
    assert done.returncode == 0, done.stderr
    suites = ElementTree.parse(tmp_path / re.findall(r"^junit '(.*)'$", groovy, re.MULTILINE)[0]).getroot()
    assert suites.attrib["failures"] == "1"
    uses = next(yaml.safe_load(text)["jobs"]["pd-launch"]["steps"][1] for text in of_page("yaml") if "uses:" in text)
    assert set(uses["with"]) <= set(yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"])


def test_the_hook_by_hand_in_batches(tmp_path: Path) -> None:
    """What pre-commit runs: the entry with the files that the hook's pattern takes, in batches."""
    mixed(tmp_path)
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")):
        names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
        taken = [name for name in names if re.search(hook["files"], name) and not name.startswith("out/")]
        assert {"deploy/decode.sh", "src/util.py", ".github/workflows/ci.yml"} <= set(
            taken
        ) and "README.md" not in taken
        if "--fix" in hook["entry"]:
            continue
        statuses = {}
        for size in (1, 2, len(taken)):
            for batch in (taken[at : at + size] for at in range(0, len(taken), size)):
                program = Path(sys.executable).with_name("pd-launch")
                done = run([str(program), *hook["entry"].split()[1:], *batch], tmp_path)
                statuses[tuple(batch)] = done.returncode
        assert all(status == ("deploy/decode.sh" in batch) for batch, status in statuses.items()), statuses


@pytest.mark.parametrize("hook", ["pd-launch-check", "pd-launch-fix"])
def test_the_hook_lets_a_commit_without_an_engine_pass(hook: str, tmp_path: Path) -> None:
    done = by_pre_commit(hook, tmp_path, {"util.py": "x = 1\n", "ci.yml": "on: push\n", "build.sh": "make\n"})
    assert done.returncode == 0, done.stdout + done.stderr


def by_pre_commit(hook: str, tmp_path: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a hook on the files of a new repository."""
    program = Path(sys.executable).with_name("pre-commit")
    if not program.exists() or shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("pre-commit and a git checkout are needed")
    repository = tmp_path / "work"
    repository.mkdir()
    for name, text in {**files, "pd-launch.toml": f'target = "{TARGET}"\n'}.items():
        (repository / name).write_text(text)
    run(["git", "init", "-q"], repository)
    run(["git", "add", "-A"], repository)
    command = [str(program), "try-repo", str(ROOT), hook, "--files", *files, "--color", "never"]
    done = run(command, repository, {"PRE_COMMIT_HOME": str(tmp_path / "cache")})
    if "CalledProcessError" in done.stdout and "pip" in done.stdout:
        pytest.skip("the package index is not reached")
    return done


@pytest.mark.parametrize("hook", ["pd-launch-check", "pd-launch-fix"])
def test_the_hook_stops_a_commit(hook: str, tmp_path: Path) -> None:
    done = by_pre_commit(hook, tmp_path, {"decode.sh": FAULTY})
    script = tmp_path / "work" / "decode.sh"
    assert done.returncode == 1, done.stdout + done.stderr
    if hook == "pd-launch-fix":
        assert "files were modified by this hook" in done.stdout
        assert script.read_text() == CLEAN
    else:
        assert "PD001" in done.stdout
        assert script.read_text() == FAULTY
