"""The files of a build, from a folder or out of an archive: read only, bounded, and noted for the cache."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Protocol

MOST_BYTES = 4 * 1024 * 1024
"""Bytes of one Python file; the largest of any release has less than one million."""

MOST_IN_ALL = 256 * 1024 * 1024
MOST_FILES = 20_000


_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
"""A named pipe without a writer is not waited for."""


class Limit(ValueError):
    """A build that is larger, deeper or more tangled than any that could be one; the message names the limit."""


class Files(Protocol):
    """Where the reader gets a build's files from. Paths are relative, with ``/``: ``vllm/envs.py``."""

    def text(self, path: str) -> str | None:
        """Return a Python file's text, None where there is none; bytes that are no UTF-8 are replaced.

        Raises:
            Limit: it is too large, or too much was read before.
            OSError: it is there and cannot be read.
        """

    def below(self, folder: str, deep: bool = True) -> list[str]:
        """Return the paths of the Python files in a folder, in order; with ``deep`` in its folders too."""


def decoded(data: bytes) -> str:
    """Return a Python file's text as the reader wants it."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


class Folder:
    """The files below a folder.

    ``seen`` is what the build was made from: each path that was opened or looked for, with size and mtime in
    nanoseconds, and None where there was none. ``listed`` are the folders whose names were looked at, with mtime. Both
    unchanged means that reading again would give the same.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen: dict[str, list[int] | None] = {}
        self.listed: dict[str, int] = {}
        self._bytes = 0

    def text(self, path: str) -> str | None:
        """Return a file's text; see :class:`Files`."""
        found = self.root / path
        try:
            with os.fdopen(os.open(found, os.O_RDONLY | _NO_WAITING), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self.seen[path] = None
                    return None
                self.seen[path] = [status.st_size, status.st_mtime_ns]
                data = file.read(MOST_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            self.seen[path] = None
            return None
        self._bytes += len(data)
        within(path, len(data), self._bytes, len(self.seen))
        return decoded(data)

    def below(self, folder: str, deep: bool = True) -> list[str]:
        """Return a folder's Python files; see :class:`Files`. Links to folders are not followed."""
        return sorted(self._below(folder, deep))

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, in order; none where it cannot be looked into."""
        return sorted(entry.name for entry in self._entries(folder))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            self.listed[folder] = (self.root / folder).stat().st_mtime_ns
            with os.scandir(self.root / folder) as entries:
                return list(islice(entries, MOST_FILES))
        except OSError:
            self.listed[folder] = 0
            return []

    def _below(self, folder: str, deep: bool) -> Iterator[str]:
        within(folder, 0, 0, len(self.listed))
        for entry in self._entries(folder):
            path = f"{folder}/{entry.name}"
            if entry.name.endswith(".py") and entry.is_file():
                yield path
            elif deep and entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                yield from self._below(path, deep)


class Held:
    """Files that were taken out of an archive and are held in memory: path → text."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def text(self, path: str) -> str | None:
        """Return a file's text; see :class:`Files`."""
        data = self._files.get(path)
        return None if data is None else decoded(data)

    def below(self, folder: str, deep: bool = True) -> list[str]:
        """Return a folder's Python files; see :class:`Files`."""
        start = f"{folder}/"
        return sorted(
            path
            for path in self._files
            if path.startswith(start) and path.endswith(".py") and (deep or "/" not in path[len(start) :])
        )


def within(path: str, size: int, in_all: int, files: int) -> None:
    """Refuse what is more than any build has.

    Raises:
        Limit: ``size`` bytes of one file, ``in_all`` bytes of all, or ``files`` files are too many.
    """
    if size > MOST_BYTES:
        raise Limit(f"{path} is larger than {MOST_BYTES >> 20} MiB")
    if in_all > MOST_IN_ALL:
        raise Limit(f"its Python files are larger than {MOST_IN_ALL >> 20} MiB in all")
    if files > MOST_FILES:
        raise Limit(f"it has more than {MOST_FILES} Python files")
