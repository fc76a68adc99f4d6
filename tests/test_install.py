"""sdist and wheel, built from a clean copy, are installed into new environments of the oldest and newest Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("build")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
)
INSTALLED = [("3.10", "*.whl"), ("3.13", "*.whl"), ("3.13", "*.tar.gz")]
CLEAN = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "SSL_", "https_"))}
QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "LC_ALL": "C.UTF-8"}


def python(version: str) -> Path | None:
    """Return a Python of that version: this one, one on PATH, or one of pyenv's."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return Path(sys.base_prefix) / "bin" / f"python{version}"
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    found = [path for root in roots for path in sorted(root.glob(f"{version}.*/bin/python{version}"))]
    return found[-1] if found else None


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=CLEAN | QUIET | {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is made from it."""
    place = tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT, place / "source", symlinks=True, ignore=LEFT_OUT)
    run(sys.executable, "-m", "build", "--outdir", place / "dist", place / "source", cwd=place)
    return place / "dist"


@pytest.mark.parametrize(("version", "form"), INSTALLED)
def test_an_installed_package_checks_a_script(version: str, form: str, dist: Path, tmp_path: Path) -> None:
    program = python(version)
    if program is None:
        pytest.skip(f"no Python {version} here")
    (package,) = dist.glob(form)
    run(program, "-m", "venv", "v", cwd=tmp_path)
    run("v/bin/pip", "install", "-q", f"{package}[scripts]", cwd=tmp_path)
    shutil.copy(ROOT / "docs" / "examples" / "decode.sh", tmp_path)
    out = run("v/bin/pd-launch", "check", "decode.sh", "--target", "vllm-ascend==0.23.0", cwd=tmp_path, status=1)
    assert "decode.sh:20:71" in out and "3 errors, 2 warnings" in out
    assert "cpu-tiny" in run("v/bin/pd-launch", "profiles", "list", cwd=tmp_path)
    assert "exec vllm serve" in run(
        "v/bin/pd-launch", "decode", "--profile", "a3-dp2tp8", "--dry-run", "--format", "shell", cwd=tmp_path
    )
    assert '"version"' in run("v/bin/pd-launch", "schema", "profile", cwd=tmp_path)
    assert "No broken requirements" in run("v/bin/pip", "check", cwd=tmp_path)
