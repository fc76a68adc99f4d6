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
    """What is read of a node of a syntax tree, under tree-sitter's names; starts and ends are bytes of UTF-8."""

    id: int
    type: str
    is_named: bool
    is_missing: bool
    has_error: bool
    start_byte: int
    end_byte: int
    parent: FlatNode | None = None
    next_sibling: FlatNode | None = None
    children: list[FlatNode] = field(default_factory=list)


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
    root = _node(kinds, numbers, 0, at)
    open_nodes = [(root, numbers[NUMBERS - 1])]
    for index in range(NUMBERS, len(numbers), NUMBERS):
        while not open_nodes[-1][1]:
            open_nodes.pop()
        parent, left = open_nodes.pop()
        open_nodes.append((parent, left - 1))
        node = _node(kinds, numbers, index, at)
        node.parent = parent
        if parent.children:
            parent.children[-1].next_sibling = node
        parent.children.append(node)
        open_nodes.append((node, numbers[index + NUMBERS - 1]))
    return FlatTree(root)


def _node(kinds: Sequence[str], numbers: Sequence[int], index: int, at: Callable[[int], int]) -> FlatNode:
    kind, flags, start, end, _ = numbers[index : index + NUMBERS]
    named, missing, wrong = bool(flags & NAMED), bool(flags & MISSING), bool(flags & HAS_ERROR)
    return FlatNode(index, kinds[kind], named, missing, wrong, at(start), at(end))


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
