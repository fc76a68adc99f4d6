"""Which file a script means with ``source``: one of the same call, or one that may be opened (see ``named``).

A script that is sourced by another one of the call counts there, with what it is given; by itself it is read no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from pd_launch.launcher.sources.engine.named import named_file
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, SourceFile, Text

_OWN_FOLDER = lazy_pattern(r"\bdirname\b|BASH_SOURCE|\$\{0%|\$PWD\b|\bpwd\b")
"""How a script finds the folder that it lies in, or is started in."""
_LONGEST = 400


@dataclass
class SourcedFiles:
    """The files that scripts of one call read with ``source``. ``given`` are those of the call, by name."""

    given: Mapping[str, SourceFile]
    is_large: Callable[[SourceFile], bool]
    most: int
    """Bytes of a file that is opened."""
    opened: dict[str, SourceFile] = field(default_factory=dict)
    """What was read, by path."""
    top: str = ""
    """The script that is read by itself now."""
    within: set[str] = field(default_factory=set)
    """What another script reads."""
    alone: dict[str, Sequence[NodeLaunch]] = field(default_factory=dict)
    """The engines of each script that was read by itself."""

    def __call__(self, name: Text) -> SourceFile | None:
        """Return the file that a script names, None where it is not known or may not be opened."""
        path = _beside(name)
        if path is None:
            return None
        file = self.given.get(path.rpartition("/")[2]) or self.opened.get(path)
        if file is None or self.is_large(file):
            file = named_file(path, name.source.path, self.most).source
        if file is None or "\0" in file.text:
            return None
        if file.path != self.top:
            self.within.add(file.path)
        return self.opened.setdefault(file.path, file)

    def counted_elsewhere(self) -> set[int]:
        """Return the engines, by identity, of scripts that another one of the call reads."""
        return {id(node) for path in self.within for node in self.alone.get(path, ())}


def _beside(name: Text) -> str | None:
    """Return a name as it is seen from the folder of the script; None where it is not known."""
    if HOLE not in name.value:
        return name.value
    folder, sign, rest = name.value.partition("/")
    if folder.strip(HOLE) or not sign or HOLE in rest:
        return None
    start = name.spots[0]  # where what stands for the folder is written
    written = name.source.text[start : start + _LONGEST].partition("\n")[0]
    return rest if _OWN_FOLDER.search(written) else None
