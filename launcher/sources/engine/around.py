"""What a script inside a container finds there, and which of its files a command runs."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Text

Place = tuple[str, int]
"""Where a script begins: its file, and the offset there."""
_SOURCES = ("source", ".")


def place_of(script: Text) -> Place:
    """Return where a script begins."""
    return script.source.path, script.spots[0]


class Offered(NamedTuple):
    """A script in a ConfigMap, by the name of the map: it is read alone where nothing runs it."""

    name: str
    script: Text


class Run(NamedTuple):
    """A script that a command runs as a file, with its positional parameters."""

    script: Text
    positional: Mapping[int, Text]


@dataclass(frozen=True)
class Around:
    """What a script inside a container finds there: files by path, its folder, and the container's variables."""

    files: Mapping[str, Text] = field(default_factory=dict)
    folder: str = "/"
    env: Mapping[str, EnvVar] = field(default_factory=dict)

    def run_by(self, words: Sequence[Text]) -> Run | None:
        """Return the script that a command runs, or reads with ``source``, if it is one of the files."""
        if not self.files:
            return None
        from pd_launch.launcher.sources.engine.scripts_given import shell_operands
        from pd_launch.launcher.sources.engine.wrapped import SHELLS, unwrap

        rest, _ = unwrap(words)
        name = rest[0].value.rpartition("/")[2] if rest else ""
        if name in SHELLS:
            rest = shell_operands(rest)
        elif name in _SOURCES:
            rest = rest[1:]
        script = self._file(rest[0].value) if rest else None
        if script is None:
            return None
        return Run(script, dict(enumerate(rest)) if HOLE * 2 not in [word.value for word in rest] else {})

    def _file(self, written: str) -> Text | None:
        """Return the file of a path; after a ``cd`` that is not followed, the only one that it can mean."""
        found = self.files.get(posixpath.normpath(posixpath.join(self.folder, written)))
        if found is not None or written.startswith("/") or "/" not in written:
            return found
        tail = posixpath.normpath(f"/{written}")
        fitting = [text for path, text in self.files.items() if path.endswith(tail)]
        return fitting[0] if len(fitting) == 1 else None


NOTHING = Around()
