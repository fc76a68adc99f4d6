"""What is found in a file's text once, however many engines ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from pd_launch.schemas.launch import NodeLaunch
from pd_launch.schemas.values import SourceFile

Found = TypeVar("Found")
MAX_LOOK = 4000
"""How far before a word its line is looked at."""


def per_file(look: Callable[[SourceFile], Found]) -> Callable[[SourceFile], Found]:
    """Make ``look`` keep what it found in a file for as long as the file is held."""
    kept: WeakKeyDictionary[SourceFile, Found] = WeakKeyDictionary()

    @wraps(look)
    def looked(source: SourceFile) -> Found:
        if source not in kept:
            kept[source] = look(source)
        return kept[source]

    return looked


class Place(NamedTuple):
    """Lines of a file that are an engine's: its command and its arguments."""

    source: SourceFile
    first: int
    last: int


def places(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> list[Place]:
    """Return where an engine stands: in the file of its command, and where another one starts its container."""
    file, last = node.origin.file, node.origin.end_line
    last = max([last, *(arg.origin.end_line for arg in node.args if arg.origin.file == file)])
    found = {file: (node.origin.line, last)}
    if node.container is not None:
        at = node.container.origin
        found.setdefault(at.file, (at.line, at.end_line))
    return [Place(sources[file], *lines) for file, lines in found.items() if file in sources]


def line_start(text: str, at: int) -> int:
    """Return where the line of the character at ``at`` begins; of one that is very long, where its last part does."""
    least = max(at - MAX_LOOK, 0)
    return max(text.rfind("\n", least, at) + 1, least)


def is_comment(text: str, at: int) -> bool:
    """Whether the character at ``at`` stands in a comment that begins with ``#`` on its line; Slurm's are none."""
    line = text[line_start(text, at) : at]
    sign = line.find("#")
    while sign >= 0:
        if sign == 0 or line[sign - 1].isspace():
            return not line.startswith("#SBATCH", sign)
        sign = line.find("#", sign + 1)
    return False
