"""A wheel or source package: the few files that are read, taken out in memory. Nothing is unpacked onto a disk."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pd_launch.launcher.builds.files import MOST_BYTES, Held, Limit, within
from pd_launch.launcher.builds.find import PACKAGES

ZIPS = (".whl", ".zip")
TARS = (".tar.gz", ".tgz", ".tar")
_MOST_UNPACKED = 1024**3
"""Bytes of an unpacked source package, those that are passed over included; vLLM's has 150 million."""

_MOST_MEMBERS = 200_000
_ZIP_END = 64 * 1024 + 22 + 20
"""Bytes in which a zip's end must be: with the longest comment, and the locator of a large one."""

_MOST_AT_ONCE = 16 * 1024 * 1024
DAMAGED = (EOFError, OSError, zlib.error, zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError)
"""What an archive that is damaged, or of a kind that Python cannot read, raises."""


def is_archive(path: Path) -> bool:
    """Whether a file's name is that of a wheel or source package."""
    return path.name.lower().endswith((*ZIPS, *TARS))


def open_archive(path: Path) -> tuple[Held, list[str]]:
    """Return the Python files of vllm and vllm_ascend in an archive, and its metadata.

    Raises:
        Limit: it is larger than any release, packed or unpacked.
        OSError and the rest of DAMAGED: it cannot be read.
    """
    members = _of_zip(path) if path.name.lower().endswith(ZIPS) else _of_tar(path)
    files: dict[str, bytes] = {}
    metadata = []
    in_all = 0
    for name, data in members:
        in_all += len(data)
        within(name, len(data), in_all, len(files))
        if name.endswith(".py"):
            files[name] = data
        else:
            metadata.append(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    return Held(files), metadata


def _wanted(name: str) -> str | None:
    """Return a member's path below the folder that holds the package; None for one that is of no use."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or not parts[0] or len(name) > 500:
        return None
    for depth in (0, 1, 2):  # a source package has a folder of its own, and some keep theirs in src
        if len(parts) > depth + 1 and parts[depth] in PACKAGES.values() and name.endswith(".py"):
            return "/".join(parts[depth:])
    if parts[-1] == "METADATA" and len(parts) == 2 and parts[0].endswith(".dist-info"):
        return "METADATA"
    return "PKG-INFO" if parts[-1] == "PKG-INFO" and len(parts) <= 2 else None


def _of_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    _short_list(path)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise Limit(f"it has more than {_MOST_MEMBERS} members")
        taken = 0
        for info in members:
            name = _wanted(info.filename)
            if name is None or info.is_dir() or stat.S_ISLNK(info.external_attr >> 16):
                continue
            taken += 1
            within(name, info.file_size, 0, taken)
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Limit(f"{name} is packed in a way that no wheel is")  # and whose size is not bounded when read
            with archive.open(info) as member:
                yield name, member.read(MOST_BYTES + 1)


def _short_list(path: Path) -> None:
    """Refuse a zip whose list of members, which is read as a whole, is larger than any wheel's.

    Raises:
        Limit: it is.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _ZIP_END))
        tail = file.read()
        at = tail.rfind(b"PK\5\6")
        listed = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
        if at >= 20 and tail[at - 20 : at - 16] == b"PK\6\7":
            file.seek(min(size, int.from_bytes(tail[at - 12 : at - 4], "little")))
            listed = int.from_bytes(file.read(56)[40:48], "little")
    if listed > _MOST_AT_ONCE:
        raise Limit(f"its list of members is larger than {_MOST_AT_ONCE >> 20} MiB")


class _Member(tarfile.TarInfo):
    """A member whose header is refused where it is larger than any package's: tarfile holds it as a whole."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type not in tarfile.REGULAR_TYPES and self.size > _MOST_AT_ONCE:
            raise Limit("it has a header that is larger than any package's")
        found = super()._proc_member(archive)  # type: ignore[misc]
        assert isinstance(found, tarfile.TarInfo)
        return found


def _of_tar(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        plain = file if path.name.lower().endswith(".tar") else gzip.GzipFile(fileobj=file)
        bounded = io.BufferedReader(_Bounded(plain), 1 << 20)
        with tarfile.open(fileobj=bounded, mode="r|", tarinfo=_Member) as archive:
            for count, info in enumerate(archive):
                archive.members = []  # type: ignore[attr-defined]  # it would keep every member's header
                if count > _MOST_MEMBERS:
                    raise Limit(f"it has more than {_MOST_MEMBERS} members")
                name = _wanted(info.name)
                if name is None or not info.isreg() or info.sparse is not None:
                    continue
                within(name, info.size, 0, 0)
                member = archive.extractfile(info)
                if member is not None:
                    yield name, member.read(MOST_BYTES + 1)


class _Bounded(io.RawIOBase):
    """What is unpacked, up to a limit."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        super().__init__()
        self._file = file
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        assert isinstance(buffer, memoryview)
        data = self._file.read(min(len(buffer), _MOST_AT_ONCE))
        buffer[: len(data)] = data
        self._read += len(data)
        if self._read > _MOST_UNPACKED:
            raise Limit(f"unpacked it is larger than {_MOST_UNPACKED >> 30} GiB")
        return len(data)
