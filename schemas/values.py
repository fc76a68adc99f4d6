"""Values that know where they were written.

Whatever the input form, a value is a :class:`Node`: plain data plus the :class:`Origin` of its text in the user's own
file. What nobody can know before the launch (``$1``, a template, a missing fact) is :class:`Unknown`, and no rule fires
on it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

_INTEGER = re.compile(r"[+-]?[0-9]{1,39}")
HOLE = "\ue000"
"""Stands in a decoded text for a part that is unknown, such as an unset shell variable (a private-use character)."""


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


@dataclass(frozen=True)
class Unknown:
    """A value that is not known before the launch; ``text`` is how it was written."""

    text: str = ""

    def __bool__(self) -> bool:
        return False


class SourceFile:
    """A file's text with its line starts, to turn offsets into lines and columns and back."""

    def __init__(self, path: str, text: str, exact: bool = True) -> None:
        self.path = path
        self.text = text
        self.exact = exact
        """Whether the text written back gives the very bytes of the file."""
        self._starts: list[int] | None = None

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

    def line(self, number: int) -> str:
        """Return the text of a line, from 1, without its end."""
        start = self.starts[number - 1]
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True)
class Text:
    """Decoded characters, each with the offset in ``source`` where it was written.

    ``spots`` has one offset for each character and one more for the end. Unknown parts are :data:`HOLE`.
    """

    value: str
    source: SourceFile
    spots: Sequence[int]

    @classmethod
    def verbatim(cls, source: SourceFile, start: int, end: int) -> Text:
        """Return the text of ``[start, end)`` as it stands in the file."""
        return cls(source.text[start:end], source, range(start, end + 1))

    def origin(self, start: int = 0, end: int | None = None, via: str = "") -> Origin:
        """Return where the characters ``[start, end)`` of the value were written."""
        if end is None:
            end = len(self.value)
        first = self.spots[min(start, len(self.spots) - 1)]
        last = self.spots[end - 1] + 1 if end > start else first
        return self.source.origin(first, max(first, last), via)

    @property
    def quote(self) -> str:
        """The quotation mark that the text stands in, where it begins right behind one; else an empty text."""
        before = self.source.text[self.spots[0] - 1 : self.spots[0]]
        return before if before in ("'", '"') else ""

    def escaped(self, text: str) -> str:
        """Return ``text`` as it must be written to become part of this one: double quotes inside double quotes."""
        return text.replace('"', '\\"') if self.quote == '"' else text

    def part(self, start: int, end: int) -> Text:
        """Return the characters ``[start, end)`` with their places."""
        return Text(self.value[start:end], self.source, self.spots[start : end + 1])

    def stand_in(self, value: str) -> Text:
        """Return a text that is written nowhere itself, at the beginning of this one, from which it follows."""
        return Text(value, self.source, [self.spots[0]] * (len(value) + 1))

    def node(self, via: str = "") -> Node:
        """Return the text as a string node, Unknown if any part of it is."""
        value: Any = Unknown(self.value.replace(HOLE, "…")) if HOLE in self.value else self.value
        return Node(value, self.origin(via=via), text=self)


@dataclass
class Node:
    """A value with its origin. ``value`` is a scalar, Unknown, a list of nodes, or a dict from str to nodes.

    A mapping's entry also knows where its key stands (``key``) and, if the key stood there before, the earlier entries
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
        """Whether no part of the value is Unknown."""
        return all(node.known for node in self.walk())

    def integer(self) -> int | None:
        """Return the value as an int if it is one or a decimal string, else None (unknown or something else)."""
        return as_integer(self.value)

    def string(self) -> str | None:
        """Return the value if it is a string, else None."""
        return self.value if isinstance(self.value, str) else None


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
