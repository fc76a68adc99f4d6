"""A text inside another form, read as a file of its own: what was found in it goes to its place in the real file.

A reader that wants a file, of YAML or of Python, is given the decoded characters under a name that no file has. Every
place with that name is then put where the characters are spelled, inside of the quotes that they are in there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from pd_launch.launcher.sources.engine.found import Finish, Found, Nested
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Arg, EnvVar, Fault, NodeLaunch, Proxy
from pd_launch.schemas.core.quoting import Quoting
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Splice, Text

_INSIDE = "\0inside"


def read_inside(text: Text, found: Found, read: Callable[[SourceFile, Found], None], name: str = "") -> None:
    """Add to ``found`` what ``read`` finds in the characters of ``text``, each thing at its place in the file.

    ``name`` is what the text would be called as a file, for readers that go by names.
    """
    inner = SourceFile(f"{text.source.path}{_INSIDE}{'/' if name else ''}{name}", text.value)
    more = Found(maps=found.maps)
    read(inner, more)
    move = _Move(text, inner)
    found.nodes += [move.launch(node) for node in more.nodes]
    found.guessed += [move.place(origin) for origin in more.guessed]
    found.nested += [move.nested(item) for item in more.nested]
    found.proxies += [
        Proxy(move.place(p.origin), p.program, [move.node(w) for w in p.words], p.container) for p in more.proxies
    ]
    found.add_faults([move.fault(fault) for fault in more.faults])


def tree_inside(text: Text) -> Node | None:
    """Return the first document of YAML in the characters of ``text``, at its place in the file; None without one."""
    inner = SourceFile(f"{text.source.path}{_INSIDE}", text.value)
    documents, _ = parse_yaml(inner)
    return _Move(text, inner).node(documents[0]) if documents else None


def is_inside(source: SourceFile) -> bool:
    """Whether this is a text inside another form: such a one is not looked into for further ones."""
    return _INSIDE in source.path


class _Move:
    def __init__(self, text: Text, inner: SourceFile) -> None:
        self.whole = text
        self.inner = inner
        self.codes: dict[int, tuple[Text, Text]] = {}
        """The texts that values are spelled in, with the same at their places here: entries of a mapping share one."""

    def place(self, origin: Origin) -> Origin:
        if origin.file != self.inner.path:
            return origin
        start = self.inner.offset(origin.line, origin.column)
        end = self.inner.offset(origin.end_line, origin.end_column)
        return self.whole.origin(start, end, origin.via)

    def text(self, text: Text) -> Text:
        if text.source.path != self.inner.path:
            return text
        last = len(self.whole.value)
        spots = [self.whole.spots[min(spot, last)] for spot in text.spots]
        ends = [self.whole.end_of(max(text.end_of(at) - 1, 0)) for at in range(len(text.value))]
        runs: list[tuple[int, Quoting | None]] = []
        for at in range(len(text.value) or 1):
            quoting = self.quoting(text.quoting(at), self.whole.quoting(min(text.spots[at], last)))
            if not runs or runs[-1][1] != quoting:
                runs.append((at, quoting))
        data = self.node(text.data) if text.data is not None else None
        return Text(text.value, self.whole.source, spots, ends, tuple(runs), data)

    def quoting(self, inner: Quoting | None, outer: Quoting | None) -> Quoting | None:
        """Return a stretch of the inner text as one inside of the quotes that the text itself is in."""
        if inner is None or inner.at < 0:
            return outer if inner is None else inner
        at = self.whole.spots[min(inner.at, len(self.whole.value))]
        return Quoting(inner.kind, at, self.quoting(inner.outer, outer), inner.detail)

    def node(self, node: Node) -> Node:
        value = node.value
        if isinstance(value, dict):
            value = {key: self.node(entry) for key, entry in value.items()}
        elif isinstance(value, list):
            value = [self.node(entry) for entry in value]
        return Node(
            value,
            self.place(node.origin),
            self.place(node.key) if node.key is not None else None,
            [self.node(earlier) for earlier in node.shadowed],
            tuple(self.place(origin) for origin in node.related),
            self.text(node.text) if node.text is not None else None,
            self.text(node.key_text) if node.key_text is not None else None,
            replace(node.site, code=self.code(node.site.code)) if node.site is not None else None,
        )

    def code(self, code: Text) -> Text:
        """Return a text that values are spelled in at its place here: the whole, or a string in it."""
        if code.value == self.whole.value:
            return self.whole
        if id(code) not in self.codes:
            self.codes[id(code)] = code, self.text(code)
        return self.codes[id(code)][1]

    def argument(self, arg: Arg) -> Arg:
        return replace(
            arg,
            origin=self.place(arg.origin),
            value=self.node(arg.value) if arg.value is not None else None,
            more=tuple(self.node(value) for value in arg.more),
            text=self.text(arg.text) if arg.text is not None else None,
        )

    def launch(self, node: NodeLaunch) -> NodeLaunch:
        node.origin = self.place(node.origin)
        node.label = node.label.partition(_INSIDE)[0]
        node.args = tuple(self.argument(arg) for arg in node.args)
        node.env_open = self.place(node.env_open) if node.env_open is not None else None
        node.env = {name: self.variable(found) for name, found in node.env.items()}
        node.model = self.node(node.model) if node.model is not None else None
        node.lmcache = self.node(node.lmcache) if node.lmcache is not None else None
        if node.container is not None:
            node.container = replace(
                node.container,
                **{part.name: self.any(getattr(node.container, part.name)) for part in fields(node.container)},
            )
        return node

    def any(self, value: Any) -> Any:
        """Return what a container has at its place here: a place, a value, or several."""
        if isinstance(value, Origin):
            return self.place(value)
        if isinstance(value, Node):
            return self.node(value)
        if isinstance(value, list):
            return [self.any(entry) for entry in value]
        return {key: self.any(entry) for key, entry in value.items()} if isinstance(value, dict) else value

    def variable(self, variable: EnvVar) -> EnvVar:
        return replace(variable, value=self.node(variable.value))

    def nested(self, item: Nested) -> Nested:
        env = {name: self.variable(found) for name, found in item.env.items()}
        positional = {number: self.text(text) for number, text in item.positional.items()}
        return item._replace(text=self.text(item.text), finish=self.finish(item.finish), env=env, positional=positional)

    def finish(self, finish: Finish) -> Finish:
        def finish_here(node: NodeLaunch) -> None:
            finish(node)
            self.launch(node)

        return finish_here

    def fault(self, fault: Fault) -> Fault:
        fix = tuple(Splice(self.place(splice.origin), splice.text) for splice in fault.fix)
        straight = all(self.whole.quoting(0) is None for _ in fix)
        return replace(fault, origin=self.place(fault.origin), fix=fix if straight else ())
