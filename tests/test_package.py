"""What is installed is what stands in the tree."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pd_launch import __version__

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("schemas", "launcher", "connector", "profiles")
SUFFIXES = (".py", ".yaml", ".json", ".typed")


def tree() -> set[str]:
    """The package's files as they stand in the tree, by their names in a wheel."""
    files = {f"pd_launch/{path.name}" for path in (ROOT / "pd_launch").iterdir() if path.is_file()}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                files.add(f"pd_launch/{path.relative_to(ROOT).as_posix()}")
    return files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the tracked tree, so that nothing left over from an earlier build is in it."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in tree() | {"pyproject.toml", "README.md", "LICENSE"}:
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(out), str(copy)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode and "setuptools" in done.stderr and "No matching distribution" in done.stderr:
        pytest.skip("setuptools cannot be downloaded here")
    assert done.returncode == 0, done.stderr
    [built] = out.glob("*.whl")
    return built


def test_the_wheel_holds_exactly_the_tree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.startswith(f"pd_launch-{__version__}.dist-info/")}
        assert names == {name for name in tree() if name.endswith(SUFFIXES)}
        for name in names:
            assert archive.read(name) == (ROOT / name).read_bytes(), name


def test_every_file_of_the_package_has_a_place_in_the_wheel() -> None:
    assert {name for name in tree() if not name.endswith(SUFFIXES)} == set()


def test_an_installed_wheel_runs_from_anywhere(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import pd_launch; print(pd_launch.__file__)"
    code += "; sys.argv = ['pd-launch', 'decode', '--profile', 'cpu-tiny', '--target', 'vllm==0.32.0', '--dry-run']"
    code += "; from pd_launch.launcher.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(str(site / "pd_launch" / "__init__.py"))
    assert '"name": "cpu-tiny"' in done.stdout


def test_folders_are_packages_and_links_lead_into_the_tree() -> None:
    for folder in FOLDERS:
        link = ROOT / "pd_launch" / folder
        assert link.resolve() == ROOT / folder
        assert not Path(link.readlink()).is_absolute()
        assert (ROOT / folder / "__init__.py").is_file()
    for path in (ROOT / "launcher").rglob("*.py"):
        assert (path.parent / "__init__.py").is_file(), path


def test_python_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pd_launch", "--version"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stdout.startswith(f"pd-launch, version {__version__}\n")
