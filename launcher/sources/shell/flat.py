"""Syntax trees that another parser made: the same nodes as tree-sitter's own, out of one flat list.

In a browser there is no native tree-sitter. The same grammar runs there as WebAssembly, and asking it for each node
would cost more than the whole check: it hands over the tree as numbers, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

NUMBERS = 5
"""Numbers of one node: its kind, its flags, where it starts and ends, and how many children it has."""
NAMED, MISSING, HAS_ERROR = 1, 2, 4
"""The flags of a node."""

Flat = tuple[Sequence[str], Sequence[int]]
"""The names of the kinds, and ``NUMBERS`` numbers for each node: a node, then its children with theirs, in order.

Starts and ends count units of UTF-16, as JavaScript does.
"""


@dataclass(eq=False, slots=True)
class FlatNode:
    """What is read of a node of a syntax tree, under tree-sitter's names; starts and ends are bytes of UTF-8.

    Nodes know each other by number only: a chain of thousands that hold one another would be freed by recursion, for
    which a browser has too little stack.
    """

    id: int
    type: str
    is_named: bool
    is_missing: bool
    has_error: bool
    start_byte: int
    end_byte: int
    _nodes: list[FlatNode]
    _parent: int | None = None
    _next: int | None = None
    _children: list[int] = field(default_factory=list)

    @property
    def parent(self) -> FlatNode | None:
        """The node around this one."""
        return None if self._parent is None else self._nodes[self._parent]

    @property
    def next_sibling(self) -> FlatNode | None:
        """The node after this one, below the same parent."""
        return None if self._next is None else self._nodes[self._next]

    @property
    def children(self) -> list[FlatNode]:
        """The nodes directly below this one."""
        return [self._nodes[number] for number in self._children]

    def add(self, child: FlatNode) -> None:
        """Put a node after the last child."""
        child._parent = self.id
        if self._children:
            self._nodes[self._children[-1]]._next = child.id
        self._children.append(child.id)


@dataclass(frozen=True)
class FlatTree:
    """A syntax tree."""

    root_node: FlatNode


class FlatParser:
    """A parser that has a function parse, which gives flat trees."""

    def __init__(self, parse: Callable[[str], Flat]) -> None:
        self._parse = parse

    def parse(self, text: bytes) -> FlatTree:
        """Return the syntax tree of a text in UTF-8."""
        plain = text.decode("utf-8", "surrogatepass")
        return tree_of(self._parse(plain), plain)


def tree_of(flat: Flat, text: str) -> FlatTree:
    """Return the tree that a flat list of a text stands for."""
    kinds, numbers = flat
    at = _bytes_of(text)
    nodes: list[FlatNode] = []
    open_nodes: list[tuple[FlatNode, int]] = []
    for index in range(0, len(numbers), NUMBERS):
        kind, flags, start, end, count = numbers[index : index + NUMBERS]
        named, missing, wrong = bool(flags & NAMED), bool(flags & MISSING), bool(flags & HAS_ERROR)
        node = FlatNode(len(nodes), kinds[kind], named, missing, wrong, at(start), at(end), nodes)
        nodes.append(node)
        while open_nodes and not open_nodes[-1][1]:
            open_nodes.pop()
        if open_nodes:
            parent, left = open_nodes.pop()
            open_nodes.append((parent, left - 1))
            parent.add(node)
        open_nodes.append((node, count))
    return FlatTree(nodes[0])


def _bytes_of(text: str) -> Callable[[int], int]:
    """Return what tells the byte in UTF-8 at which a unit of UTF-16 begins."""
    if text.isascii():
        return lambda unit: unit
    found, byte = [], 0
    for sign in text:
        size = len(sign.encode("utf-8", "surrogatepass"))
        found += [byte] if ord(sign) < 0x10000 else [byte, byte]
        byte += size
    found.append(byte)
    return found.__getitem__
