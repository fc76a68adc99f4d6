"""HCL, as Terraform and Nomad write it: blocks and attributes as a tree. What is worked out at run time is Unknown."""

from __future__ import annotations

import re
from dataclasses import replace

from pd_launch.launcher import budget
from pd_launch.launcher.sources.python.texts import dumped
from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text, Unknown

_SPACE = lazy_pattern(r"(?:[ \t\r\n]|#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/)){0,100000}\*/)*")
_BLANK = lazy_pattern(r"[ \t\r]{0,40}")
_NAME = lazy_pattern(r"[A-Za-z_][\w-]{0,200}")
_WORD = lazy_pattern(r"-?[\w.]{1,200}")
_HEREDOC = lazy_pattern(r"<<-?([A-Za-z_]\w{0,100})[ \t\r]{0,40}\n")
_FILLS = lazy_pattern(r"[$%]\{")
_END = lazy_pattern(r"[ \t\r]{0,40}(?:\n|$|[,\]})#]|//)")
_PLAIN = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
MAX_DEPTH = 60


class NotHCL(Exception):
    """The text is no HCL, or is nested too deep."""


def parse_hcl(source: SourceFile) -> Node:
    """Return a file as a tree: attributes and blocks by name, the labels of a block as mappings around it.

    Blocks of one name are a list where there are several.

    Raises:
        NotHCL: it cannot be read.
    """
    reader = _Reader(source)
    body = reader.body(0, end="")
    if reader.at < len(source.text):
        raise NotHCL
    return body


class _Reader:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.text = source.text
        self.whole = Text.verbatim(source, 0, len(source.text))
        self.at = 1 if source.text.startswith("\ufeff") else 0

    def space(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def blank(self) -> None:
        self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]

    def take(self, sign: str) -> bool:
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def body(self, depth: int, end: str = "}") -> Node:
        """Read attributes and blocks up to ``end``."""
        if depth > MAX_DEPTH:
            raise NotHCL
        start, found = self.at, dict[str, list[Node]]()
        while True:
            budget.step()
            self.space()
            if (end and self.take(end)) or (not end and self.at >= len(self.text)):
                break
            key = self.key()
            self.blank()
            if self.text.startswith(("=", ":"), self.at) and not self.text.startswith("==", self.at):
                self.at += 1
                self.space()
                value = self.expression(depth + 1)
            else:
                value = self.block(key, depth + 1)
            value = replace(value, key=key.origin(), key_text=key, shadowed=[])
            found.setdefault(key.value, []).append(value)
            self.space()
            self.take(",")
        entries = {name: nodes[0] if len(nodes) == 1 else _together(nodes) for name, nodes in found.items()}
        return Node(entries, self.source.origin(start, self.at))

    def key(self) -> Text:
        if self.text.startswith('"', self.at):
            return self.string()
        match = _NAME.match(self.text, self.at)
        if match is None:
            if self.text.startswith("(", self.at):  # a name that is worked out
                start = self.at
                self.skip()
                return Text.verbatim(self.source, start, start + 1).stand_in(HOLE)
            raise NotHCL
        self.at = match.end()
        return Text.verbatim(self.source, *match.span())

    def block(self, name: Text, depth: int) -> Node:
        """Read the labels and the body of a block, after its name."""
        labels: list[Text] = []
        while not self.take("{"):
            labels.append(self.key())
            self.blank()
            if len(labels) > 8:
                raise NotHCL
        node = self.body(depth)
        for label in reversed(labels):
            inner = replace(node, key=label.origin(), key_text=label, shadowed=[])
            node = Node({label.value: inner}, node.origin)
        return node

    def expression(self, depth: int) -> Node:
        """Read a value up to the end of its line, a comma or a bracket; Unknown where it is worked out."""
        start = self.at
        node = self.value(depth)
        if node is not None and _END.match(self.text, self.at):
            return node
        self.skip()
        return Node(Unknown(self.text[start : self.at][:100]), self.source.origin(start, max(self.at, start)))

    def value(self, depth: int) -> Node | None:
        if depth > MAX_DEPTH:
            raise NotHCL
        start = self.at
        if self.text.startswith('"', start):
            return self.string().node()
        if (heredoc := _HEREDOC.match(self.text, start)) is not None:
            return self.heredoc(heredoc).node()
        if self.take("["):
            return self.list(start, depth)
        if self.take("{"):
            self.space()
            if re.compile(r"for\b").match(self.text, self.at):
                self.at = start
                return None
            return self.body(depth)
        match = _WORD.match(self.text, start)
        if match is None:
            return None
        self.at = match.end()
        if match.group() == "jsonencode" and self.take("("):
            self.space()
            return self.encoded(start, depth)
        if match.group() in _PLAIN:
            return Node(_PLAIN[match.group()], self.source.origin(*match.span()))
        if re.fullmatch(r"-?\d{1,18}(?:\.\d{1,18})?", match.group()):
            node = Text.verbatim(self.source, *match.span()).node()
            return replace(node, value=float(match.group()) if "." in match.group() else int(match.group()))
        return None

    def list(self, start: int, depth: int) -> Node | None:
        entries: list[Node] = []
        while True:
            budget.step()
            self.space()
            if self.take("]"):
                return Node(entries, self.source.origin(start, self.at))
            if re.compile(r"for\b").match(self.text, self.at) or self.at >= len(self.text):
                self.at = start
                return None
            entry = self.expression(depth + 1)
            if isinstance(entry.value, Unknown) and entry.text is None:
                entry = replace(entry, text=Text.verbatim(self.source, start, start + 1).stand_in(HOLE))
            entries.append(entry)
            self.space()
            if not self.take(",") and not self.text.startswith("]", self.at):
                raise NotHCL

    def encoded(self, start: int, depth: int) -> Node | None:
        """Read ``jsonencode(…)``: the value itself, with the text that it becomes."""
        inner = self.expression(depth + 1)
        self.space()
        if not self.take(")"):
            return None
        return replace(inner, text=dumped(inner, self.source, start))

    def string(self) -> Text:
        """Read a text in double quotes; what it fills in is a hole."""
        start = self.at
        weaver, stretch = Weaver(self.whole), Stretch("json", start)
        self.at += 1
        weaver.begin(start, stretch)
        begun = self.at
        while True:
            if self.at >= len(self.text) or self.text[self.at] == "\n":
                raise NotHCL
            sign = self.text[self.at]
            if sign == '"':
                weaver.take(begun, self.at, stretch)
                self.at += 1
                return weaver.text(self.at - 1)
            if sign == "\\":
                weaver.take(begun, self.at, stretch)
                length = {"u": 6, "U": 10}.get(self.text[self.at + 1 : self.at + 2], 2)
                written = _ESCAPES.get(self.text[self.at + 1 : self.at + 2], "?")
                weaver.put(written, self.at, min(self.at + length, len(self.text)), stretch)
                begun = self.at = self.at + length
            elif sign in "$%" and self.text.startswith("{", self.at + 1):
                begun = self.filled(weaver, begun, stretch)
            elif sign in "$%" and self.text.startswith(f"{sign}{sign}{{", self.at):
                weaver.take(begun, self.at, stretch)
                weaver.put(f"{sign}{{", self.at, self.at + 3, stretch)
                begun = self.at = self.at + 3
            else:
                self.at += 1

    def filled(self, weaver: Weaver, begun: int, stretch: Stretch | None) -> int:
        """Put a hole for ``${…}`` or ``%{…}``; return where the text goes on."""
        weaver.take(begun, self.at, stretch)
        start = self.at
        self.at += 1
        self.skip(whole=True)
        weaver.fill(HOLE, start)
        return self.at

    def heredoc(self, match: re.Match[str]) -> Text:
        end = re.compile(rf"^[ \t]{{0,40}}{match[1]}[ \t\r]{{0,40}}$", re.MULTILINE).search(self.text, match.end())
        if end is None:
            raise NotHCL
        weaver, begun, self.at = Weaver(self.whole), match.end(), match.end()
        while (opening := _FILLS.search(self.text, self.at, end.start())) is not None:
            at = self.at = opening.start()
            if self.text[at - 1] == self.text[at]:
                weaver.take(begun, at, None)
                begun, self.at = at + 1, at + 2
            else:
                begun = self.filled(weaver, begun, None)
        weaver.take(begun, max(end.start() - 1, begun), None)
        self.at = end.end()
        return weaver.text(max(end.start() - 1, begun))

    def skip(self, whole: bool = False) -> None:
        """Pass over an expression, to its line's end or a comma or bracket around it; ``whole``: over one bracket."""
        depth = 0
        while self.at < len(self.text):
            budget.step()
            sign = self.text[self.at]
            if sign == '"':
                self.string()
                continue
            if sign in "([{":
                depth += 1
            elif sign in ")]}":
                depth -= 1
                if depth < 0:
                    return
                if whole and depth == 0:
                    self.at += 1
                    return
            elif depth == 0 and sign in ",\n":
                return
            self.at += 1


def _together(nodes: list[Node]) -> Node:
    """Return blocks of one name: their labels in one mapping where all have some of their own, else a list."""
    keys = [key for node in nodes for key, _ in node.items()]
    labelled = all(isinstance(node.value, dict) and len(node.value) == 1 for node in nodes)
    inner = [child for node in nodes for _, child in node.items()]
    if labelled and all(isinstance(child.value, dict) for child in inner):
        first: dict[str, list[Node]] = {}
        for key, child in zip(keys, inner, strict=True):
            first.setdefault(key, []).append(child)
        entries = {key: children[0] if len(children) == 1 else _together(children) for key, children in first.items()}
        return replace(nodes[0], value=entries)
    return replace(nodes[0], value=nodes, text=None)
