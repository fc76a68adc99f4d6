"""Values that know where they were written.

Whatever the input form, a value is a :class:`Node`: plain data plus the :class:`Origin` of its text in the user's own
file. What nobody can know before the launch (``$1``, a template, a missing fact) is :class:`Unknown`, and no rule fires
on it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.quoting import NOWHERE, Quoting, spell

_INTEGER = lazy_pattern(r"[+-]?[0-9]{1,39}")
HOLE = "\ue000"
"""In a decoded text, in place of a part that is unknown, such as an unset shell variable (a private-use character)."""


def readable(text: str) -> str:
    """Return a text as people read it: … for each part that is filled in at run time."""
    return text.replace(HOLE, "…")


def knowable(name: str) -> bool:
    """Whether a key or name is known in full, with no part that is filled in at run time."""
    return HOLE not in name and "$" not in name and "{" not in name


@dataclass(frozen=True)
class Origin:
    """A span of text in a file. Lines and columns count from 1, in characters; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    via: str = ""
    """How the value came from there, where it is not simply written: ``derived``, ``default``, ``--set`` …"""

    def holds(self, other: Origin) -> bool:
        """Whether the lines of another span lie between those of this one."""
        return self.file == other.file and self.line <= other.line <= self.end_line


@dataclass(frozen=True)
class Unknown:
    """A value that is not known before the launch; ``text`` is how it was written."""

    text: str = ""

    def __bool__(self) -> bool:
        return False


class SourceFile:
    """A file's text with its line starts, to turn offsets into lines and columns and back."""

    def __init__(self, path: str, text: str, exact: bool = True, starts: list[int] | None = None) -> None:
        self.path = path
        self.text = text
        self.exact = exact
        """Whether the text written back gives the very bytes of the file."""
        self._starts = starts

    @property
    def starts(self) -> list[int]:
        """Offset of each line's first character."""
        if self._starts is None:
            self._starts = [0]
            position = self.text.find("\n")
            while position >= 0:
                self._starts.append(position + 1)
                position = self.text.find("\n", position + 1)
        return self._starts

    def place(self, offset: int) -> tuple[int, int]:
        """Return (line, column) of ``offset``, both from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, both from 1."""
        return self.starts[line - 1] + column - 1

    def origin(self, start: int, end: int, via: str = "") -> Origin:
        """Return the origin of the characters ``[start, end)``."""
        line, column = self.place(start)
        end_line, end_column = self.place(max(start, end))
        return Origin(self.path, line, column, end_line, end_column, via)

    def own_line_ends(self, text: str) -> str:
        """Return ``text`` with the line ends of this file."""
        first = self.text.find("\n")
        return text.replace("\n", "\r\n") if first > 0 and self.text[first - 1] == "\r" else text

    def line(self, number: int) -> str:
        """Return the text of a line, from 1, without its end."""
        start = self.starts[number - 1]
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


class Splice(NamedTuple):
    """A place in a file, and what is written there instead: made by :meth:`Text.edit` alone, in its place's quoting."""

    origin: Origin
    text: str


Runs = tuple[tuple[int, Quoting | None], ...]
"""The stretches of a text: where each begins, and how it is quoted."""
_start = itemgetter(0)
_AS_IT_STANDS: Runs = ((0, None),)
_NOT_WRITTEN: Runs = ((0, NOWHERE),)


@dataclass(frozen=True)
class Text:
    """Decoded characters, each with where in ``source`` it was written, and how it is quoted there.

    ``spots`` has the offset at which each character's spelling begins, and one more for the end. ``ends`` has the
    offset after each spelling, which for an escape such as ``\\"`` is more than one further; None where all are one
    character wide. ``runs`` says how new text must be quoted in which part. Unknown parts are :data:`HOLE`.
    """

    value: str
    source: SourceFile
    spots: Sequence[int]
    ends: Sequence[int] | None = field(default=None, compare=False)
    runs: Runs = field(default=_NOT_WRITTEN, compare=False)
    data: Node | None = field(default=None, compare=False, repr=False)
    """The value whose JSON this is, where a program writes it out itself and the value is in its code."""

    @classmethod
    def verbatim(cls, source: SourceFile, start: int, end: int) -> Text:
        """Return the text of ``[start, end)`` as it is in the file."""
        return cls(source.text[start:end], source, range(start, end + 1), None, _AS_IT_STANDS)

    def end_of(self, index: int) -> int:
        """Return the offset after the spelling of a character."""
        return self.spots[index] + 1 if self.ends is None or index >= len(self.value) else self.ends[index]

    def origin(self, start: int = 0, end: int | None = None, via: str = "") -> Origin:
        """Return where the characters ``[start, end)`` of the value were written."""
        if end is None:
            end = len(self.value)
        first = self.spots[min(start, len(self.spots) - 1)]
        last = self.end_of(end - 1) if end > start else first
        return self.source.origin(first, max(first, last), via)

    def quoting(self, index: int) -> Quoting | None:
        """Return how the character at ``index``, or what is written in its place, is quoted."""
        return self.runs[self._run(index)][1]

    def _run(self, index: int) -> int:
        return max(bisect_right(self.runs, index, key=_start) - 1, 0)

    def quoted(self, kind: str, at: int, detail: str = "") -> Text:
        """Return the text as the inside of one more stretch of quotes, which begins at offset ``at`` of the file."""
        runs = tuple((start, Quoting(kind, at, outer, detail)) for start, outer in self.runs)
        return Text(self.value, self.source, self.spots, self.ends, runs, self.data)

    def edit(self, start: int, end: int, new: str) -> tuple[Splice, ...] | None:
        """Return the change that makes the characters ``[start, end)`` into ``new``, written as its place demands.

        Quotes around the characters stay, and so do line ends of the file between them. None where that cannot be:
        the characters are written nowhere, or ``new`` cannot be written there.
        """
        if start == end:
            return self._insertion(start, new)
        splices: list[Splice] = []
        behind = -1
        for first, last in self._stretches(start, end):
            written = spell(self.quoting(first), new)
            if written is None or self.spots[first] < behind:
                return None
            behind = self.end_of(last - 1)
            splices.append(Splice(self.origin(first, last), self.source.own_line_ends(written)))
            new = ""
        return tuple(splices)

    def to_line_feeds(self) -> tuple[Splice, ...]:
        """Return the change that ends all lines of a text that is verbatim in a file with a line feed alone.

        It is the one change of line ends themselves, so it is not written with the file's own ones.
        """
        first, last = self.value.find("\r\n"), self.value.rfind("\r\n")
        return (Splice(self.origin(first, last + 1), self.value[first : last + 2].replace("\r\n", "\n")[:-1]),)

    def _insertion(self, at: int, new: str) -> tuple[Splice, ...] | None:
        """Return what writes ``new`` after the character before ``at``, or before the one at ``at``."""
        behind = at > 0 and self.quoting(at - 1) != NOWHERE
        written = spell(self.quoting(at - 1 if behind else at), new)
        if written is None:
            return None
        place = self.end_of(at - 1) if behind else self.spots[at]
        return (Splice(self.source.origin(place, place), self.source.own_line_ends(written)),)

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Iterate over the parts of ``[start, end)`` that are in one piece: in the same quotes and on one line."""
        first = start
        for index in range(start + 1, end):
            gap = self.source.text[self.end_of(index - 1) : self.spots[index]]
            back = self.spots[index] < self.end_of(index - 1)
            if back or "\n" in gap or self.quoting(index) != self.quoting(first):
                yield first, index
                first = index
        yield first, end

    def part(self, start: int, end: int) -> Text:
        """Return the characters ``[start, end)`` with their places."""
        runs = self.runs
        if len(runs) > 1:
            first, last = self._run(start), bisect_left(runs, end, key=_start)
            runs = tuple((max(at - start, 0), quoting) for at, quoting in runs[first : max(last, first + 1)])
        ends = None if self.ends is None else self.ends[start:end]
        return Text(self.value[start:end], self.source, self.spots[start : end + 1], ends, runs)

    def stand_in(self, value: str) -> Text:
        """Return a text that is written nowhere itself, at the beginning of this one, from which it follows."""
        return Text(value, self.source, [self.spots[0]] * (len(value) + 1))

    def node(self, via: str = "") -> Node:
        """Return the text as a string node, Unknown if any part of it is."""
        value: Any = Unknown(readable(self.value)) if HOLE in self.value else self.value
        return Node(value, self.origin(via=via), text=self)


@dataclass(frozen=True)
class Site:
    """Where a value is spelled in the code of a language: the characters ``[start, end)`` of ``code``.

    ``entry`` is where the entry of a mapping, a list or a call begins that the value belongs to, its key included.
    """

    code: Text
    start: int
    end: int
    language: Literal["json", "yaml", "python"]
    entry: int | None = None
    flow: bool = True
    """Whether it is between brackets, where commas part the entries; else each has lines of its own."""


@dataclass
class Node:
    """A value with its origin. ``value`` is a scalar, Unknown, a list of nodes, or a dict from str to nodes.

    A mapping's entry also knows where its key is (``key``) and, if the key was there before, the earlier entries
    (``shadowed``): the last one wins, as everywhere.
    """

    value: Any
    origin: Origin
    key: Origin | None = None
    shadowed: list[Node] = field(default_factory=list, repr=False, compare=False)
    related: tuple[Origin, ...] = ()
    """Further places that a derived value follows from."""
    text: Text | None = None
    """The characters of a string, where rules look inside them."""
    key_text: Text | None = None
    """The characters of an entry's key."""
    site: Site | None = field(default=None, repr=False, compare=False)
    """Where the value is spelled, if it is a value of JSON, YAML or Python."""

    @property
    def known(self) -> bool:
        """Whether the value itself (not its parts) is known."""
        return not isinstance(self.value, Unknown)

    def get(self, *path: str | int) -> Node | None:
        """Return the node at ``path`` below, or None where there is none or the way is not a mapping or list."""
        node: Node = self
        for step in path:
            value = node.value
            if isinstance(value, dict):
                found = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
                found = value[step]
            else:
                found = None
            if found is None:
                return None
            node = found
        return node

    def items(self) -> Iterator[tuple[str, Node]]:
        """Iterate over a mapping's entries; nothing for another kind of value."""
        if isinstance(self.value, dict):
            yield from self.value.items()

    def elements(self) -> Iterator[Node]:
        """Iterate over a list's elements; nothing for another kind of value."""
        if isinstance(self.value, list):
            yield from self.value

    def walk(self) -> Iterator[Node]:
        """Iterate over this node and all below it."""
        yield self
        children = self.value.values() if isinstance(self.value, dict) else self.elements()
        for child in children:
            yield from child.walk()

    def plain(self) -> Any:
        """Return the value as plain data; Unknown stays Unknown."""
        if isinstance(self.value, dict):
            return {k: v.plain() for k, v in self.value.items()}
        if isinstance(self.value, list):
            return [v.plain() for v in self.value]
        return self.value

    def complete(self) -> bool:
        """Whether no part of the value is Unknown, nor of a key."""
        return all(node.known and not _has_unknown_key(node.value) for node in self.walk())

    def integer(self) -> int | None:
        """Return the value as an int if it is one or a decimal string, else None (unknown or something else)."""
        return as_integer(self.value)

    def string(self) -> str | None:
        """Return the value if it is a string, else None."""
        return self.value if isinstance(self.value, str) else None


def _has_unknown_key(value: object) -> bool:
    return isinstance(value, dict) and any(HOLE in key for key in value)


def as_integer(value: object) -> int | None:
    """Return an int or a decimal string as an int; None for everything else, booleans included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
    return None


def plain_node(value: object, origin: Origin, related: tuple[Origin, ...] = ()) -> Node:
    """Return plain data (dicts, lists, scalars; nodes are kept) as a tree of nodes that all have ``origin``."""
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return Node({str(k): plain_node(v, origin, related) for k, v in value.items()}, origin, related=related)
    if isinstance(value, (list, tuple)):
        return Node([plain_node(v, origin, related) for v in value], origin, related=related)
    return Node(value, origin, related=related)
