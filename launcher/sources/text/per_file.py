"""What is found in a file's text once, however many engines ask for it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import wraps
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import SourceFile

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
    """Lines of a file that are an engine's: its command and its arguments, or where its container is described.

    ``within`` are the lines that may speak of it: one document of a YAML file, or the whole file.
    """

    source: SourceFile
    first: int
    last: int
    within: range


def places(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> list[Place]:
    """Return where an engine is: where its command is written, and elsewhere where its container is described."""
    file, last = node.origin.file, node.origin.end_line
    found = []
    if file in sources:
        last = max([last, *(arg.origin.end_line for arg in node.args if arg.origin.file == file)])
        found.append(_place(sources[file], node.origin.line, last))
    at = node.container.origin if node.container is not None else None
    if at is not None and at.file in sources:
        beside = found and found[0].source.path == at.file and at.line in found[0].within
        found += [] if beside else [_place(sources[at.file], at.line, at.end_line)]
    return found


def _place(source: SourceFile, first: int, last: int) -> Place:
    starts = _documents(source)
    number = bisect_right(starts, last)
    end = starts[number] if number < len(starts) else len(source.starts) + 1
    return Place(source, first, last, range(starts[number - 1], end))


@per_file
def _documents(source: SourceFile) -> list[int]:
    """Return the line on which each document of a YAML file begins; another file is one."""
    text, starts = source.text, [1]
    if source.path.endswith((".yaml", ".yml")) or "apiVersion:" in text:
        at = text.find("\n---")
        while at >= 0:
            starts.append(source.place(at + 1)[0])
            at = text.find("\n---", at + 1)
    return starts


def line_start(text: str, at: int) -> int:
    """Return where the line of the character at ``at`` begins; of one that is very long, where its last part does."""
    least = max(at - MAX_LOOK, 0)
    return max(text.rfind("\n", least, at) + 1, least)


def is_comment(text: str, at: int) -> bool:
    """Whether the character at ``at`` is in a comment that begins with ``#`` on its line; Slurm's are none."""
    line = text[line_start(text, at) : at]
    sign = line.find("#")
    while sign >= 0:
        if sign == 0 or line[sign - 1].isspace():
            return not line.startswith("#SBATCH", sign)
        sign = line.find("#", sign + 1)
    return False
