"""A build at a path: found, read or taken from the cache, and made into a target."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pd_launch.launcher.builds import cached
from pd_launch.launcher.builds.archives import DAMAGED, is_archive, open_archive
from pd_launch.launcher.builds.files import Files, Folder, Limit
from pd_launch.launcher.builds.find import PACKAGES, find_packages, looked_for
from pd_launch.schemas.core.build import BuiltPart, ReadBuild
from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.pairing import ASCEND_PAIRS
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Decider, Target, release

_MOST_ARCHIVE = 8 * 1024**3
"""Bytes of a wheel; vLLM's largest has 0.4 of 10⁹."""


class BuildError(ValueFault):
    """A path that holds no build, or cannot be read; the message says what was looked for."""


@dataclass(frozen=True)
class Build:
    """A build that was read: what its files say, and what could not be read of them.

    ``roots`` are the folders that hold its packages (project → folder; of an archive the archive). ``unread`` says for
    people, one line each, what is unknown; nothing in it stops a check.
    """

    read: ReadBuild
    roots: dict[str, Path]
    unread: tuple[str, ...] = ()


def read_build(path: Path | str, place: str | None = None) -> Build:
    """Return what the files of a folder, wheel or source package say. Nothing of it is imported or run.

    ``place`` is what messages call it: the path, unless given; empty for what is installed.

    Raises:
        BuildError: the path is not there, cannot be read, or holds neither vllm nor vllm_ascend.
    """
    path = Path(path)
    place = os.fspath(path) if place is None else place
    try:
        if path.is_dir():
            return build_of(find_packages(path), place) or _nothing(place, looked_for(path))
        if not path.exists():
            raise BuildError(Msg(f"{place} does not exist", f"{place} 不存在"))
        if path.is_file() and is_archive(path):
            return _of_archive(path, place)
    except OSError as error:
        raise BuildError(Msg(f"{place}: {error.strerror}", f"{place}：{error.strerror}")) from None
    except ValueError as error:
        if isinstance(error, BuildError):
            raise
        raise BuildError(Msg(f"{place}: {error}", f"{place}：{error}")) from None
    raise BuildError(
        Msg(
            f"{place} is neither a folder nor a wheel (.whl) or source package (.tar.gz)",
            f"{place} 既不是目录，也不是 wheel（.whl）或源码包（.tar.gz）",
        ),
    )


def build_of(roots: dict[str, Path], place: str) -> Build | None:
    """Return what packages in folders say: project → the folder that holds its package. None for no package."""
    entries = {project: _of_folder(project, root) for project, root in roots.items()}
    if not entries:
        return None
    key = cached.key_of(*(f"{project} {entry['key']}" for project, entry in sorted(entries.items())))
    return _made(key, place, entries, dict(roots))


def target_of(build: Build, decided_by: Decider = "path") -> Target:
    """Return the target that a build is: vllm-ascend where it has that, else vLLM.

    Facts that no file says are those of the rows that its versions belong to; of a vllm-ascend alone, vLLM is the
    release that it is built for.
    """
    read = build.read
    if read.ascend is None:
        assert read.vllm is not None
        return Target(None, read.vllm.row, decided_by, _asked(read.vllm), read)
    vllm = read.vllm.row if read.vllm is not None else ASCEND_PAIRS[read.ascend.row]
    return Target(read.ascend.row, vllm, decided_by, _asked(read.ascend), read)


def _asked(part: BuiltPart) -> str | None:
    """Return a version that tells something and is no row itself."""
    if part.is_guess or part.version is None or release(part.version) == release(part.row):
        return None
    return part.version


def _nothing(place: str, looked: str) -> Build:
    raise BuildError(
        Msg(
            f"{place} contains neither vllm nor vllm_ascend: looked for {looked}",
            f"{place} 里既没有 vllm，也没有 vllm_ascend：在目录本身、其下一层目录和其中 Python 的 site-packages 里找过",
        ),
    )


def _of_folder(project: str, root: Path) -> dict[str, Any]:
    name = cached.key_of("folder", project, os.fspath(root.resolve()))
    entry = cached.stored(name)
    if entry is None or not cached.unchanged(root, entry["print"]):
        from pd_launch.launcher.builds.versions import metadata_in

        files = Folder(root)
        entry = {**_part(project, files, lambda: metadata_in(files)), "print": cached.fingerprint(files)}
        entry["key"] = cached.key_of(name, repr(sorted(entry["print"]["seen"].items())))
        cached.store(name, entry)
    return entry


def _of_archive(path: Path, place: str) -> Build:
    if path.stat().st_size > _MOST_ARCHIVE:
        raise Limit(f"it is larger than {_MOST_ARCHIVE >> 30} GiB")
    sha = cached.hash_of(path)
    entry = cached.stored(f"archive-{cached.key_of(sha)}")
    if entry is None:
        try:
            files, metadata = open_archive(path)
        except DAMAGED as error:
            raise BuildError(Msg(f"{place} cannot be unpacked: {error}", f"{place} 无法解包：{error}")) from None
        there = [project for project, package in PACKAGES.items() if files.text(f"{package}/__init__.py") is not None]
        entry = {"parts": {project: _part(project, files, lambda: metadata) for project in there}}
        cached.store(f"archive-{cached.key_of(sha)}", entry)
    if not entry["parts"]:
        _nothing(place, "vllm/ and vllm_ascend/ in it, and one folder below")
    return _made(sha, place, entry["parts"], dict.fromkeys(entry["parts"], path))


def _part(project: str, files: Files, metadata: Callable[[], Sequence[str]]) -> dict[str, Any]:
    """Read one project; this is what takes its time."""
    from pd_launch.launcher.builds.tables import read_ascend, read_vllm
    from pd_launch.launcher.builds.versions import row_of, says_something, version_of

    reading = read_vllm(files) if project == "vllm" else read_ascend(files)
    version = version_of(project, files, metadata)
    row = row_of(project, version, reading.sections)
    is_guess = version is None or not says_something(project, version)
    said = {"version": version, "row": row, "is_guess": is_guess}
    return {**said, "sections": reading.sections, "unread": reading.unread}


def _made(key: str, place: str, entries: dict[str, dict[str, Any]], roots: dict[str, Path]) -> Build:
    parts = {
        project: BuiltPart(
            entry["version"], entry["row"], entry["is_guess"], entry["sections"], frozenset(entry["unread"])
        )
        for project, entry in entries.items()
    }
    where = place or "installed"
    unread = tuple(
        f"{where}: the {_SHOWN[section]} of {project} could not be read and are not checked: {reason}"
        for project, entry in entries.items()
        for section, reason in entry["unread"].items()
    )
    return Build(
        ReadBuild(key, place, os.fspath(Path(place).absolute()), parts.get("vllm"), parts.get("vllm-ascend")),
        roots,
        unread,
    )


_SHOWN = {
    "flags": "flags",
    "fields": "fields of config classes",
    "env": "environment variables",
    "connectors": "connectors",
    "modules": "connectors' modules",
    "options": "connectors' options",
    "registered": "names of parsers and attention backends",
    "keywords": "keyword arguments",
    "additional": "keys of --additional-config",
    "groups": "groups of --additional-config",
    "facts": "options' strictness",
}
