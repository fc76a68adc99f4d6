"""Walking a folder: its files in order, without those that ``.gitignore`` and ``exclude`` leave out.

Nothing is waited for: pipes and devices are no files, links to folders are not followed, and a folder or file that
cannot be read is said and passed over.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path

from pd_launch.launcher.folders.names import (
    MAY_BE_LARGE,
    can_name_an_engine,
    is_of_a_form,
    is_tool_folder,
    may_be_read,
)
from pd_launch.launcher.folders.patterns import LIMITS, Patterns
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import SourceFile

IGNORE_FILE = ".gitignore"
_MAX_IGNORE = 1 << 20
_Rules = tuple[tuple[Patterns, tuple[str, ...]], ...]
"""Patterns with the way from their folder to the one that is walked, the outermost first."""


@dataclass
class Walk:
    """What became of the files of folders."""

    most: int
    """Bytes of a file that are held."""
    usual: int
    """Bytes of a file that may be data as well: a larger one is passed over."""
    exclude: Callable[[str], tuple[Patterns, tuple[str, ...]] | None] = lambda _: None
    """Returns the patterns of the configuration that counts in a folder, with the way from its own folder."""
    is_wanted: Callable[[str], bool] = lambda _: False
    """Whether a file is taken whatever it holds: it is named as part of a deployment."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Why files and folders were passed over, and how many."""
    faults: list[tuple[str, str]] = field(default_factory=list)
    """What could not be read, and why."""
    large: set[str] = field(default_factory=set)
    """Files that are too large to be held."""
    looked_at: int = 0
    """Files that were met and not left out by patterns."""

    def sources(self, root: str) -> Iterator[SourceFile]:
        """Iterate over the files below ``root`` that can hold an engine, by their paths."""
        for path, size in self.files(root):
            self.looked_at += 1
            wanted = self.is_wanted(path)
            if not wanted and not may_be_read(path.rpartition("/")[2]):
                self.skipped["name"] += 1
                continue
            source = self._source(path, size, wanted)
            if source is not None:
                yield source

    def _source(self, path: str, size: int, wanted: bool) -> SourceFile | None:
        if size > self.usual and not path.endswith(MAY_BE_LARGE):
            self.skipped["large"] += 1
            return None
        try:
            data = _bytes(path, self.most)
        except OSError as error:
            self.faults.append((path, error.strerror or str(error)))
            return None
        if not wanted and not can_name_an_engine(path, data.replace(b"\0", b"")):  # UTF-16 has one in each letter
            self.skipped["engine"] += 1
            return None
        if size > self.most:
            self.large.add(path)
            return SourceFile(path, "")
        text = data.decode("utf-8", "replace")
        source = SourceFile(path, text, exact=text.encode("utf-8") == data)
        if wanted or is_of_a_form(SourceFile(path, text.replace("\0", "")) if "\0" in text else source):
            return source
        self.skipped["binary" if b"\0" in data else "form"] += 1
        return None

    def wanted(self, path: str, size: int) -> SourceFile | None:
        """Return a file that is taken whatever it holds; None where it cannot be read as text."""
        return self._source(path, size, True)

    def files(self, root: str) -> Iterator[tuple[str, int]]:
        """Iterate over the regular files below a folder with their sizes, those of each folder by name."""
        waiting: list[tuple[str, _Rules]] = [(root, _rules_above(root))]
        limits = [Path(root).resolve(), Path.cwd()]
        while waiting:
            folder, rules = waiting.pop()
            entries = self._entries(folder)
            if entries is None or (folder != root and any(entry.name == "pyvenv.cfg" for entry in entries)):
                self.skipped["tools"] += entries is not None
                continue
            own = _ignore_file(folder) if any(entry.name == IGNORE_FILE for entry in entries) else None
            rules = (*rules, (own, ())) if own else rules
            if own is not None and own.cut:
                self.faults.append((str(Path(folder) / IGNORE_FILE), f"not all of it is obeyed: {LIMITS}"))
            exclude = self.exclude(folder)
            below: list[tuple[str, _Rules]] = []
            for entry in entries:
                path = entry.path.removeprefix("./")
                try:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if self._left_out(entry.name, is_folder, rules, exclude):
                        continue
                    if is_folder:
                        below.append((path, tuple((one, (*way, entry.name)) for one, way in rules)))
                    elif (size := self._size(entry, limits)) is not None:
                        yield path, size
                except OSError as error:
                    self.faults.append((path, error.strerror or str(error)))
            waiting += reversed(below)

    def _entries(self, folder: str) -> list[os.DirEntry[str]] | None:
        try:
            with os.scandir(folder) as found:
                return sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self.faults.append((folder, error.strerror or str(error)))
            return None

    def _left_out(
        self, name: str, is_folder: bool, rules: _Rules, exclude: tuple[Patterns, tuple[str, ...]] | None
    ) -> bool:
        if is_folder and is_tool_folder(name):
            self.skipped["tools"] += 1
            return True
        for patterns, way in reversed(rules):
            said = patterns.decide(way, name, is_folder)
            if said is not None:
                self.skipped["ignored"] += said
                if said:
                    return True
                break
        if exclude is not None and exclude[0].decide(exclude[1], name, is_folder):
            self.skipped["excluded"] += 1
            return True
        return False

    def _size(self, entry: os.DirEntry[str], limits: list[Path]) -> int | None:
        """Return the size of a regular file; None for all else, and for a link that leads out of the folders."""
        if entry.is_symlink():
            try:
                real = Path(entry.path).resolve(strict=True)
            except (OSError, RuntimeError):
                real = None
            if real is None or not real.is_file() or not any(real.is_relative_to(limit) for limit in limits):
                self.skipped["link"] += 1
                return None
            return real.stat().st_size
        if not entry.is_file(follow_symlinks=False):
            self.skipped["special"] += 1
            return None
        return entry.stat(follow_symlinks=False).st_size


def _bytes(path: str, most: int) -> bytes:
    # It may have been replaced meanwhile: to open a pipe would wait.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(handle, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        return file.read(most) or b""


def _ignore_file(folder: str) -> Patterns | None:
    """Return the patterns of a folder; None where there are none that can be read."""
    try:
        text = _bytes(str(Path(folder) / IGNORE_FILE), _MAX_IGNORE).decode("utf-8", "replace")
    except OSError:
        return None
    return Patterns(text.removeprefix("\ufeff").split("\n")) or None


def _rules_above(root: str) -> _Rules:
    """Return the patterns that a repository around ``root`` has for it, the outermost first."""
    try:
        real = Path(root).resolve()
    except (OSError, RuntimeError):
        return ()
    top = next((place for place in (real, *real.parents) if os.path.lexists(place / ".git")), None)
    if top is None:
        return ()
    way = real.relative_to(top).parts
    found: list[tuple[Patterns, tuple[str, ...]]] = []
    try:
        own = Patterns(
            _bytes(str(top / ".git" / "info" / "exclude"), _MAX_IGNORE).decode("utf-8", "replace").split("\n")
        )
    except OSError:
        own = Patterns(())
    if own:
        found.append((own, way))
    for depth in range(len(way)):
        patterns = _ignore_file(str(top.joinpath(*way[:depth])))
        if patterns:
            found.append((patterns, way[depth:]))
    return tuple(found)
