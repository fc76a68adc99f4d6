"""YAML with positions: a file's documents as trees of nodes, built from the parser's events without recursion.

Hostile input costs bounded time and memory: aliases are counted as if written out, depth and size are limited.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from pd_launch.schemas.launch import Fault
from pd_launch.schemas.values import Node, Origin, SourceFile, Text

MAX_DEPTH = 100
MAX_NODES = 200_000
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class _Open:
    """A collection that is being read."""

    node: Node
    size: int = 1
    key: tuple[str, Origin] | None = None
    anchor: str | None = None


@dataclass
class _Builder:
    source: SourceFile
    documents: list[Node] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int]] = field(default_factory=dict)
    total: int = 0
    constructor: Any = field(default_factory=yaml.constructor.SafeConstructor)
    resolver: Any = field(default_factory=yaml.resolver.Resolver)

    def read(self) -> None:
        for event in yaml.parse(self.source.text, Loader=_Loader):
            self.event(event)

    def event(self, event: Any) -> None:
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self.count(1, event)
            if len(self.stack) >= MAX_DEPTH:
                raise _TooMuch(f"nested more than {MAX_DEPTH} deep", self.origin(event))
            self.stack.append(_Open(Node(value, self.origin(event)), anchor=event.anchor))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            opened = self.stack.pop()
            start: Origin = opened.node.origin
            end: Any = event.end_mark
            opened.node.origin = Origin(start.file, start.line, start.column, end.line + 1, end.column + 1)
            _merge(opened.node)
            if opened.anchor:
                self.anchors[opened.anchor] = (opened.node, opened.size)
            self.add(opened.node, opened.size, event)
        elif isinstance(event, yaml.ScalarEvent):
            node = self.scalar(event)
            if event.anchor:
                self.anchors[event.anchor] = (node, 1)
            self.add(node, 1, event)
        elif isinstance(event, yaml.AliasEvent):
            found = self.anchors.get(str(event.anchor))
            if found is None:
                raise _TooMuch(f"the alias *{event.anchor} names no finished anchor", self.origin(event))
            self.count(found[1], event)
            self.add(found[0], found[1], event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.anchors = {}

    def count(self, more: int, event: Any) -> None:
        self.total += more
        if self.total > MAX_NODES:
            raise _TooMuch(f"more than {MAX_NODES} values", self.origin(event))

    def origin(self, event: Any) -> Origin:
        start, end = event.start_mark, event.end_mark
        return Origin(self.source.path, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def scalar(self, event: Any) -> Node:
        self.count(1, event)
        tag = event.tag or self.resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        value: Any = event.value
        if tag != "tag:yaml.org,2002:str":
            try:
                value = self.constructor.construct_object(yaml.ScalarNode(tag, event.value))
            except (yaml.YAMLError, ValueError, OverflowError):
                value = event.value
        if not isinstance(value, (str, int, float, bool, type(None))):
            value = event.value  # dates and binary stay as they are written
        text = _scalar_text(self.source, event) if isinstance(event.value, str) else None
        return Node(value, self.origin(event), text=text)

    def add(self, node: Node, size: int, event: Any) -> None:
        if not self.stack:
            self.documents.append(node)
            return
        opened = self.stack[-1]
        opened.size += size
        container = opened.node.value
        if isinstance(container, list):
            container.append(node)
        elif opened.key is None:
            opened.key = (_key_text(node), node.origin)
        else:
            name, place = opened.key
            opened.key = None
            earlier = container.get(name)
            entry = Node(node.value, node.origin, key=place, text=node.text)
            if earlier is not None:
                entry.shadowed = [*earlier.shadowed, earlier]
                first = (earlier.key or earlier.origin).line
                self.faults.append(
                    Fault(
                        "yaml",
                        place,
                        f"the key {name!r} stands twice in this mapping (first on line {first})",
                        f"键 {name!r} 在这个映射里出现了两次(第一次在第 {first} 行)",
                        help="keep one of them",
                        help_zh="只保留其中一个",
                    )
                )
            container[name] = entry


class _TooMuch(Exception):
    def __init__(self, message: str, origin: Origin) -> None:
        super().__init__(message)
        self.origin = origin


def _merge(node: Node) -> None:
    """Bring in what ``<<`` names: a mapping, or a list of mappings, whose keys fill in for missing ones."""
    if not isinstance(node.value, dict) or "<<" not in node.value:
        return
    merged = node.value.pop("<<")
    for source in [merged, *merged.elements()]:
        for name, entry in source.items():
            node.value.setdefault(name, entry)


def _key_text(node: Node) -> str:
    if node.text is not None and not isinstance(node.value, (dict, list)):
        return node.text.value
    return str(node.plain()) if not isinstance(node.value, (dict, list)) else "?"


def parse_yaml(source: SourceFile) -> tuple[list[Node], list[Fault]]:
    """Return the documents of a YAML file as trees, and what is wrong with it (kind ``yaml``).

    With a syntax error there are no documents.
    """
    builder = _Builder(source)
    try:
        builder.read()
    except _TooMuch as error:
        return [], [_fault(error.origin, str(error))]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = " ".join(filter(None, (error.context, error.problem)))
        return [], [_fault(Origin(source.path, line, column, line, column + 1), message)]
    except (yaml.YAMLError, ValueError) as error:
        line, column = 1, 1
        position = getattr(error, "position", None)
        if isinstance(position, int):
            line, column = source.place(min(position, len(source.text)))
        reason = getattr(error, "reason", None) or str(error)
        return [], [_fault(Origin(source.path, line, column, line, column + 1), reason)]
    return builder.documents, builder.faults


def _fault(origin: Origin, message: str) -> Fault:
    return Fault("yaml", origin, f"not valid YAML: {message}", f"不是有效的 YAML:{message}")


def _scalar_text(source: SourceFile, event: Any) -> Text:
    """Return a scalar's characters with the place of each, whatever its quoting."""
    start = source.offset(event.start_mark.line + 1, event.start_mark.column + 1)
    end = source.offset(event.end_mark.line + 1, event.end_mark.column + 1)
    raw, value = source.text[start:end], event.value
    if raw == value:
        return Text.verbatim(source, start, end)
    if event.style in ("'", '"') and raw[1:-1] == value:
        return Text.verbatim(source, start + 1, end - 1)
    return Text(value, source, _align(raw, value, start, event.style))


def _align(raw: str, value: str, start: int, style: str | None) -> list[int]:
    """Return for each character of ``value`` where in ``raw`` it was written; an escape is its first character."""
    position = raw.find("\n") + 1 if style in ("|", ">") else (1 if style in ("'", '"') else 0)
    spots = []
    for index, character in enumerate(value):
        if character in " \n" and position < len(raw) and raw[position].isspace():
            spots.append(start + position)
            if character == "\n" or raw[position] == "\n":
                position = raw.find("\n", position) + 1 or len(raw)
                following = value[index + 1 : index + 2]
                while position < len(raw) and raw[position] in " \t" and following not in (" ", "\t"):
                    position += 1
            else:
                position += 1
            continue
        while position < len(raw) and raw[position].isspace() and raw[position] != character:
            position += 1
        spots.append(start + min(position, max(len(raw) - 1, 0)))
        if style == '"' and raw[position : position + 1] == "\\" and character != "\\":
            position += {"x": 4, "u": 6, "U": 10}.get(raw[position + 1 : position + 2], 2)
        elif (style == "'" and character == "'") or (style == '"' and raw[position : position + 1] == "\\"):
            position += 2
        else:
            position += 1
    return [*spots, start + len(raw)]
