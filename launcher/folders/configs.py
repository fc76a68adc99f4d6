"""Which configuration counts for each file of folders, and what it says of them."""

from __future__ import annotations

import os
from pathlib import Path

from pd_launch.launcher.check.config import FILE, Config, ConfigError, find_config
from pd_launch.launcher.folders.patterns import Patterns

_Way = tuple[str, ...]


class Configs:
    """The configurations of a call, each file read once. ``first`` counts where another one cannot be used."""

    def __init__(self, first: Config) -> None:
        self.first = first
        self.faults: list[tuple[str, str]] = []
        """Configurations that cannot be used, and why."""
        self._by_folder: dict[str, Config] = {}
        self._exclude: dict[Path, Patterns] = {}
        self._deployments: dict[Path, list[Patterns]] = {}

    def of_folder(self, folder: str) -> Config:
        """Return the configuration that counts for the files of a folder."""
        folder = folder or "."
        found = self._by_folder.get(folder)
        if found is None:
            found = self._by_folder[folder] = self._found(folder)
        return found

    def of_file(self, path: str) -> Config:
        """Return the configuration that counts for a file; for what is none, the call's."""
        return self.first if path.startswith("<") else self.of_folder(os.path.dirname(path))  # noqa: PTH120

    def exclude(self, folder: str) -> tuple[Patterns, _Way] | None:
        """Return the patterns of what is left out in a folder, with the way to it from that of the configuration."""
        config = self.of_folder(folder)
        if config.path is None or not config.exclude:
            return None
        patterns = self._exclude.setdefault(config.path, Patterns(config.exclude))
        return patterns, _way(config.path, folder)

    def leaves_out(self, path: str) -> bool:
        """Whether a file, or a folder on the way to it, is left out by the configuration that counts for it."""
        folder, _, name = path.rpartition("/")
        found = self.exclude(folder)
        if found is None:
            return False
        patterns, way = found
        names = [*way, name]
        return any(
            patterns.decide(names[:depth], one, depth + 1 < len(names)) is True for depth, one in enumerate(names)
        )

    def deployments(self, path: str) -> list[int]:
        """Return which deployments of its configuration name a file."""
        folder, _, name = path.rpartition("/")
        config = self.of_folder(folder)
        if config.path is None or not config.deployments:
            return []
        listed = self._deployments.setdefault(config.path, [Patterns(files) for files in config.deployments])
        way = _way(config.path, folder)
        return [number for number, patterns in enumerate(listed) if patterns.decide(way, name, False)]

    def _found(self, folder: str) -> Config:
        place = Path(folder)
        has_own = any(os.path.lexists(place / name) for name in (FILE, "pyproject.toml"))
        if not has_own and ".." not in place.parts and place != place.parent:
            return self.of_folder(str(place.parent))
        try:
            found = find_config(Path(folder))
        except ConfigError as error:
            file, _, reason = str(error).partition(": ")
            if (file, reason) not in self.faults:
                self.faults.append((file, reason))
            return self.first
        return self.first if found.path is not None and found.path == self.first.path else found


def _way(config: Path, folder: str) -> _Way:
    """Return the names on the way from a configuration's folder to a folder below it."""
    top, own = (os.path.normpath(place.absolute()) for place in (config.parent, Path(folder or ".")))
    return Path(os.path.relpath(own, top)).parts
