"""YAML with positions: a file's documents as trees of nodes, built from the parser's events without recursion.

Hostile input costs bounded time and memory: aliases are counted as if written out, depth and size are limited.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import yaml

from pd_launch.launcher import budget
from pd_launch.launcher.sources.text.chart import unread_branches
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.launcher.sources.text.templates import MAX_VARIANTS, FilledFile, files_of
from pd_launch.launcher.sources.text.weave import with_holes
from pd_launch.launcher.sources.trees.yaml_loader import events, unprintable, wrong_at
from pd_launch.launcher.sources.trees.yaml_scalar import Ends, Spots, block_indent
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.quoting import NOWHERE, PLAIN_YAML
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Node, Origin, Site, SourceFile, Text, Unknown
from pd_launch.schemas.core.whole import is_boundless

MAX_DEPTH = 100
MAX_NODES = 50_000
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "null"))
_LONGEST_NUMBER = 400
_PROPERTIES = lazy_pattern(r"(?:[!&][^\s,\[\]{}]*\s*)*")


@dataclass
class _Open:
    """A collection that is being read."""

    node: Node
    size: int = 1
    height: int = 1
    key: tuple[str, Node] | None = None
    anchor: str | None = None
    flow: bool = False
    merges: bool = False
    """Whether it has a ``<<`` without quotes, which brings in another mapping."""


@dataclass
class _Builder:
    source: SourceFile
    documents: list[Node] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int, int]] = field(default_factory=dict)
    """Each anchor's node with its size and height, as if written out."""
    whole: Text = field(init=False)
    """The file as it is."""
    mark: int = 0
    """Length of the byte order mark, which the readers do not count alike."""
    total: int = 0
    """Values of this document, aliases written out."""
    copied: int = 0
    """Values that aliases of all documents bring in."""
    twice: list[tuple[int, str, Fault]] = field(default_factory=list)
    """Keys that occur twice: the number of the document, the key, and what is said of it."""
    constructor: Any = field(default_factory=yaml.constructor.SafeConstructor)
    resolver: Any = field(default_factory=yaml.resolver.Resolver)

    def __post_init__(self) -> None:
        self.whole = Text.verbatim(self.source, 0, len(self.source.text))

    def read(self) -> None:
        for event in events(self.source.text[self.mark :]):
            budget.step()
            self.event(event)

    def event(self, event: Any) -> None:
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self.count(1, 1, event)
            node = Node(value, self.origin(event))
            self.stack.append(_Open(node, anchor=event.anchor, flow=bool(event.flow_style)))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            opened = self.stack.pop()
            closing: Any = event
            first, last = opened.node.origin, self.origin(event)
            opened.node.origin = replace(first, end_line=last.end_line, end_column=last.end_column)
            start = _content(self.source, self.source.offset(first.line, first.column))
            flow = any(opened.flow for opened in self.stack)
            opened.node.site = Site(self.whole, start, closing.end_mark.index + self.mark, "yaml", flow=flow)
            if opened.merges:
                _merge(opened.node)
            if opened.anchor:
                self.anchors[opened.anchor] = (opened.node, opened.size, opened.height)
            self.add(opened.node, opened.size, opened.height)
        elif isinstance(event, yaml.ScalarEvent):
            node = self.scalar(event)
            if event.anchor:
                self.anchors[event.anchor] = (node, 1, 0)
            self.add(node, 1, 0)
        elif isinstance(event, yaml.AliasEvent):
            found = self.anchors.get(str(event.anchor))
            if found is None:
                raise _NoAnchor(f"the alias *{event.anchor} names no finished anchor", self.origin(event))
            node, size, height = found
            self.count(size, height, event)
            self.add(node, size, height)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.anchors, self.total = {}, 0

    def count(self, more: int, height: int, event: Any) -> None:
        self.total += more
        self.copied += more - 1
        if self.total > MAX_NODES or self.copied > MAX_NODES:
            raise _TooMuch(Msg(f"more than {MAX_NODES} values", f"超过 {MAX_NODES} 个值"), self.origin(event))
        if len(self.stack) + height > MAX_DEPTH:
            raise _TooMuch(Msg(f"nested more than {MAX_DEPTH} deep", f"嵌套超过 {MAX_DEPTH} 层"), self.origin(event))

    def origin(self, event: Any) -> Origin:
        # By offset: a mark's own line also counts YAML's other line breaks, which an editor does not.
        return self.source.origin(event.start_mark.index + self.mark, event.end_mark.index + self.mark)

    def scalar(self, event: Any) -> Node:
        self.count(1, 0, event)
        tag = event.tag or self.resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        value: Any = event.value
        if tag != "tag:yaml.org,2002:str":
            value = self.constructed(tag, event.value)
        flow = any(opened.flow for opened in self.stack)
        text = self.only_filled(event) or _scalar_text(self.source, event, self.mark, flow)
        start, end = event.start_mark.index + self.mark, event.end_mark.index + self.mark
        if event.anchor or not event.tag:  # a tag is a part of how a value is spelled, an anchor is not
            start = _content(self.source, start)
        site = None if event.anchor and event.tag else Site(self.whole, start, max(start, end), "yaml", flow=flow)
        if isinstance(value, str) and (HOLE in value or text.value == HOLE):
            return replace(text.node(), site=site)
        return Node(value, self.origin(event), text=text, site=site)

    def only_filled(self, event: Any) -> Text | None:
        """Return what stands for a block that holds nothing but what a template fills in; None for another scalar."""
        if event.style not in ("|", ">") or event.value.strip() or not isinstance(self.source, FilledFile):
            return None
        at, end = event.start_mark.index + self.mark, event.end_mark.index + self.mark
        while (at := self.source.text.find("\n", at, end) + 1) > 0:
            gone = self.source.gone_at(at)
            if gone is not None and gone[2]:
                return with_holes(self.whole.part(gone[0], gone[1]), [(0, gone[1] - gone[0])])
        return None

    def constructed(self, tag: str, text: str) -> Any:
        """Return what a tag makes of a scalar; the text where it makes nothing of it, nothing plain, or too much."""
        if tag not in _PLAIN_TAGS or len(text) > _LONGEST_NUMBER:
            return text  # dates and binary stay as they are written
        try:
            value = self.constructor.construct_object(yaml.ScalarNode(tag, text))
        except (yaml.YAMLError, ValueError, OverflowError, LookupError):  # a wrong tag may meet any text
            return text
        return text if is_boundless(value) else value

    def add(self, node: Node, size: int, height: int) -> None:
        if not self.stack:
            self.documents.append(node)
            return
        opened = self.stack[-1]
        opened.size += size
        opened.height = max(opened.height, height + 1)
        container = opened.node.value
        if isinstance(container, list):
            container.append(node)
        elif opened.key is None:
            opened.key = (_key_text(node), node)
            quoting = node.text.quoting(0) if node.text is not None else None
            opened.merges = opened.merges or (
                opened.key[0] == "<<" and quoting is not None and quoting.kind in PLAIN_YAML
            )
        else:
            name, key = opened.key
            place = key.origin
            opened.key = None
            earlier = container.get(name)
            site = replace(node.site, entry=key.site.start if key.site else None) if node.site else None
            entry = Node(node.value, node.origin, key=place, text=node.text, key_text=key.text, site=site)
            if earlier is not None and name == "?":
                pass  # a key that is no text: another one
            elif earlier is not None and self.is_alternative(earlier, entry):
                entry = replace(entry, value=Unknown(name), text=None) if _is_scalar(entry) else entry
            elif earlier is not None:
                entry.shadowed, earlier.shadowed = earlier.shadowed, []  # one history, at the value that counts
                entry.shadowed.append(earlier)
                self.twice.append((len(self.documents), name, _twice(name, earlier, place)))
            if earlier is not None and opened.merges and name == "<<":
                entry = self.both(earlier, entry)
            container[name] = entry

    def is_alternative(self, earlier: Node, entry: Node) -> bool:
        """Whether two entries of one key are in different branches of a template."""
        if not isinstance(self.source, FilledFile) or entry.key is None or earlier.key is None:
            return False
        first, second = (self.source.offset(key.line, key.column) for key in (earlier.key, entry.key))
        return self.source.bodies.at(first) != self.source.bodies.at(second)

    def both(self, earlier: Node, entry: Node) -> Node:
        """Return two ``<<`` of one mapping as one: PyYAML takes the first value of a key, Kubernetes the last."""
        parts = [part for node in (earlier, entry) for part in (list(node.elements()) or [node])]
        kubernetes = any(opened.node.get("apiVersion") is not None for opened in self.stack[:1])
        return replace(entry, value=parts[::-1] if kubernetes else parts, text=None, shadowed=[])


class _TooMuch(Exception):
    """A document goes on after a limit."""

    def __init__(self, limit: Msg, origin: Origin) -> None:
        super().__init__(limit.en)
        self.fault = not_followed(origin, limit)


class _NoAnchor(Exception):
    """An alias names nothing."""

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


def _twice(name: str, earlier: Node, place: Origin) -> Fault:
    first = (earlier.key or earlier.origin).line
    return Fault(
        "yaml",
        place,
        Msg(
            f"the key {name!r} appears twice in this mapping (first on line {first})",
            f"键 {name!r} 在这个映射里出现了两次（第一次在第 {first} 行）",
        ),
        help=Msg("keep one of them", "只保留其中一个"),
    )


def _is_scalar(node: Node) -> bool:
    return not isinstance(node.value, (dict, list))


def _key_text(node: Node) -> str:
    if node.text is not None and not isinstance(node.value, (dict, list)):
        return node.text.value
    return str(node.plain()) if not isinstance(node.value, (dict, list)) else "?"


def parse_yaml(source: SourceFile) -> tuple[list[Node], list[Fault]]:
    """Return the documents of a YAML file as trees, and what is wrong with it (kind ``yaml``).

    With a syntax error there are no documents; after a limit (kind ``not-followed``) there are none from there on. Of
    a template in which lines of control choose between branches, the documents are those of each choice that differ.
    """
    first, *others = files_of(source)
    documents, faults = _parse(first)
    for variant in others:
        more, wrong = _parse(variant)
        known = [tree.plain() for tree in documents]
        documents += [tree for tree in more if tree.plain() not in known]
        faults += [fault for fault in wrong if fault not in faults]
    if isinstance(first, FilledFile) and first.cut and "vllm" in source.text.lower():
        faults.append(unread_branches(source.origin(0, 0), MAX_VARIANTS))
    return documents, faults


def _parse(source: SourceFile) -> tuple[list[Node], list[Fault]]:
    builder = _Builder(source, mark=1 if source.text.startswith("\ufeff") else 0)
    try:
        builder.read()
    except _TooMuch as error:
        return builder.documents, [*_repeated(builder), error.fault]
    except budget.Spent as spent:
        place = builder.stack[-1].node.origin if builder.stack else source.origin(0, 0)
        return builder.documents, [*_repeated(builder), not_followed(place, spent.limit)]
    except _NoAnchor as error:
        return [], [_fault(error.origin, str(error))]
    except yaml.MarkedYAMLError as error:
        at, message = wrong_at(source.text[builder.mark :], error)
        return [], [_fault(_spot(source, min(at + builder.mark, len(source.text))), message)]
    except (yaml.YAMLError, ValueError) as error:
        at, message = unprintable(source.text, error)
        return [], [_fault(_spot(source, at), message)]
    return builder.documents, _repeated(builder)


def _repeated(builder: _Builder) -> list[Fault]:
    """Return what is said of keys that occur twice. Two ``<<`` are a fault in compose files alone."""
    compose = [document.get("services") is not None for document in builder.documents]
    return [fault for number, name, fault in builder.twice if name != "<<" or compose[number : number + 1] == [True]]


def _spot(source: SourceFile, at: int) -> Origin:
    line, column = source.place(at)
    return Origin(source.path, line, column, line, column + 1)


def _fault(origin: Origin, message: str) -> Fault:
    return Fault("yaml", origin, Msg(f"not valid YAML: {message}", f"不是有效的 YAML：{message}"))


def _content(source: SourceFile, start: int) -> int:
    """Return where a value itself begins, after the tag and the anchor that may be before it."""
    return _PROPERTIES.match(source.text, start).end()  # type: ignore[union-attr]


def _scalar_text(source: SourceFile, event: Any, mark: int, flow: bool) -> Text:
    """Return a scalar's characters with the place of each, whatever its quoting; ``flow``: inside brackets."""
    start, end = _content(source, event.start_mark.index + mark), event.end_mark.index + mark
    raw, value, style = source.text[start:end], event.value, event.style
    if not style:
        kind, detail = "yaml-flow" if flow else "yaml", ""
    else:
        kind, detail = f"yaml{style}", " " * block_indent(raw, value) if style == "|" else ""
    if raw == value:
        text = Text.verbatim(source, start, end)
    elif style in ("'", '"') and raw[1:-1] == value:
        text = Text.verbatim(source, start + 1, end - 1)
    else:
        spots = Spots(raw, value, start, style)
        text = Text(value, source, spots, Ends(spots), ((0, None),))
    text = text.quoted(kind, start, detail)
    kept = len(value.rstrip("\n"))
    if style in ("|", ">") and kept < len(value):  # the end of a block is that of the line before the next key
        return replace(text, runs=(*(run for run in text.runs if run[0] < kept), (kept, NOWHERE)))
    return text
