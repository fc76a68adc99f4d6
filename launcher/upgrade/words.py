"""Edits that take an argument or a variable out of a file, or put an argument in, whatever the file is.

What is around a word differs from form to form, so several edits are offered, the tidiest first; who makes them
reads the file again and keeps the first that changes nothing else.
"""

from __future__ import annotations

import json
import re

from pd_launch.launcher.rules.edits import Edits
from pd_launch.schemas.core.launch import Arg, EnvVar, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.quoting import Quoting, spell
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Text

_GAP = lazy_pattern(r"[\s\\=\"',\]:-]{0,120}")
_ENV_GAP = lazy_pattern(r"[\s\\=\"',\]:)]{0,120}(?:value:[ \t]{0,20}[\"']?)?")
_REFERENCE = lazy_pattern(
    r"(?:=|[ \t]{1,20}|[ \t]{0,20}\\\r?\n[ \t]{0,80})(?P<word>\"?\$\{?\w{1,60}\}?\"?)(?=[\s\"']|\Z)"
)
_TRUTH = lazy_pattern(r"[ \t]{0,20}=[ \t]{0,20}(?:True|False)\b")
_ITEM = lazy_pattern(r"[ \t]*(?:-[ \t]+)?")
_END = lazy_pattern(r"[ \t]{0,80}[\\,]?[ \t]{0,80}\r?")
_COMMENT = lazy_pattern(r"[ \t]{0,80}(?P<comment>#[^\n]*)")
_CONTINUED = lazy_pattern(r"[ \t]{0,80}\\\r?\n\Z")
_BEFORE_VARIABLE = lazy_pattern(
    r"[ \t]*(?:export[ \t]+|-[ \t]+|(?:-[ \t]+)?(?:-e|--env)[ \t=]+|ENV[ \t]+|Environment=|-[ \t]+name:[ \t]*"
    r"|-[ \t]*\{[ \t]*name:[ \t]*|os\.environ\[|os\.environ\.setdefault\()?[\"']?"
)
_BEHIND_VARIABLE = lazy_pattern(r"[\"']?[ \t]{0,80}[\\,;})]?[ \t]{0,80}\r?")
_STATEMENT = lazy_pattern(
    r"(?:^|(?P<join>;|&&)|\|\||[&|({\"'`]|\b(?:then|do|else))[ \t]{0,80}"
    r"(?P<own>(?:(?:export|(?:declare|typeset) -\w{1,9})[ \t]{1,80})?[\"']?)\Z"
)
"""What is before an assignment that is a statement of its own."""
_NEXT_STATEMENT = lazy_pattern(r"[\"']?[ \t]{0,80}(?:;(?!;)|&&)[ \t]{0,80}(?=[^\s#})])(?!(?:done|fi|else|elif|esac)\b)")
_STATEMENT_ENDS = lazy_pattern(r"[\"']?[ \t]{0,80}(?:[;&|)}#]|\Z)")
_OPENS = lazy_pattern(r"(?:[{(]|\b(?:then|do|else))[ \t]{0,80}\Z")
_CLOSES = lazy_pattern(r"\s{0,400}(?:[})]|(?:done|fi|else|elif)\b)")
_OPTION = lazy_pattern(r"(?:\A|(?<=\s))(?:-e|--env)[ \t=]+[\"']?\Z")
_PLAIN = lazy_pattern(r"[\w.:/-]{1,200}", re.ASCII)
_SHELL = ("word", "'", '"', "$'")


class _Span:
    """Characters ``[start, end)`` of a file, with the line around them."""

    def __init__(self, source: SourceFile, start: int, end: int) -> None:
        text = source.text
        if text[start - 1 : start] in ("'", '"') and text[start - 1 : start] == text[end : end + 1]:
            start, end = start - 1, end + 1  # one pair of quotes around all of it
        self.source, self.start, self.end = source, start, end
        self.line = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        self.stop = len(text) if stop < 0 else stop

    @property
    def before(self) -> str:
        return self.source.text[self.line : self.start]

    @property
    def behind(self) -> str:
        return self.source.text[self.end : self.stop]

    def cut(self, start: int, end: int, new: str = "") -> Edits | None:
        return Text.verbatim(self.source, start, end).edit(0, end - start, new) if start < end else None

    def lines(self) -> Edits | None:
        return self.cut(self.line, min(self.stop + 1, len(self.source.text)))


def remove_argument(arg: Arg) -> list[Edits | None]:
    """Return edits that take an argument with its values out."""
    span = _of_argument(arg)
    return [] if span is None else _removals(span)


def _removals(span: _Span) -> list[Edits | None]:
    found: list[Edits | None] = []
    text = span.source.text
    before, behind = span.before, span.behind
    item, ends = _ITEM.fullmatch(before), _END.fullmatch(behind)
    comment = _COMMENT.fullmatch(behind)
    continued = _CONTINUED.search(text, max(0, span.line - 100), span.line)
    if item and "\\" not in behind and continued and not before.strip():
        found.append(span.cut(continued.start(), span.end))
    if item and ends:
        found.append(span.lines())
    if item and comment:
        found.append(span.cut(span.start - len(before.lstrip()), span.end + comment.start("comment")))
    behind_all = text[span.end : span.end + 200]
    comma = re.match(r"[ \t]{0,80},[ \t]{0,80}", behind_all)
    ahead = re.search(r",\s{0,80}\Z", text[max(0, span.start - 100) : span.start])
    if comma:
        found.append(span.cut(span.start, span.end + comma.end()))
    if ahead:
        found.append(span.cut(span.start - len(ahead[0]), span.end))
    blanks = len(before) - len(before.rstrip(" \t"))
    if before.strip():
        found.append(span.cut(span.start - blanks, span.end))
    follows = len(behind) - len(behind.lstrip(" \t"))
    found.append(span.cut(span.start, span.end + follows))
    return found


def _of_argument(arg: Arg) -> _Span | None:
    if arg.text is None or not arg.text.value:
        return None
    text, source = arg.text, arg.text.source
    start, end = text.spots[0], text.end_of(len(text.value) - 1)
    if not 0 <= start < end <= len(source.text):
        return None
    quote = source.text[start - 1 : start]
    alone = quote in ("'", '"') and source.text[end : end + 1] == quote
    for value in (arg.value, *arg.more) if arg.value is not None else ():
        stop = _end_of(value, source, end, _GAP) if value.known else None
        if stop is None:
            reference = _REFERENCE.match(source.text, end)
            stop = reference.end("word") if reference else None
        if stop is None:
            return None
        end = stop
    truth = _TRUTH.match(source.text, end) if arg.value is None and not arg.written.startswith("-") else None
    end = truth.end() if truth else end
    if alone:
        start, end = start - 1, end if arg.value is not None else end + 1
    return _Span(source, start, end)


def _end_of(value: Node, source: SourceFile, end: int, gap: re.Pattern[str]) -> int | None:
    """Return where a value ends that comes directly after ``end``, its closing quote included."""
    place = _place(value, source)
    if place is None or place[0] < end:
        return None
    between = source.text[end : place[0]]
    if gap.fullmatch(between) is None:
        return None
    quote = between[-1:]
    return place[1] + (quote in ("'", '"') and source.text[place[1] : place[1] + 1] == quote)


def _place(value: Node, source: SourceFile) -> tuple[int, int] | None:
    place: Origin = value.origin
    if place.file != source.path or place.via:
        return None
    if value.text is not None and value.text.value:
        return value.text.spots[0], value.text.end_of(len(value.text.value) - 1)
    return source.offset(place.line, place.column), source.offset(place.end_line, place.end_column)


def remove_variable(variable: EnvVar) -> list[Edits | None]:
    """Return edits that take the setting of a variable out."""
    name = variable.value.key_text
    if name is None or not name.value:
        return []
    source = name.source
    start, end = name.spots[0], name.end_of(len(name.value) - 1)
    if not 0 <= start < end <= len(source.text):
        return []
    stop = _end_of(variable.value, source, end, _ENV_GAP)
    if stop is None:
        empty = re.match(r"=(?:\"\"|''|(?=[\s;]|\Z))", source.text[end : end + 4])
        reference = re.match(r"=\"?\$\{?\w{1,60}\}?\"?(?=[\s;]|\Z)", source.text[end : end + 80])
        found = empty or reference
        if found is None:
            return []
        stop = end + found.end()
    span = _Span(source, start, stop)
    statement = _STATEMENT.search(span.before) if variable.how in ("export", "inline") else None
    bare = not span.before.strip() and not span.behind.strip(" \t\r\"'")
    if statement and not bare and _STATEMENT_ENDS.match(span.behind):
        return _of_statement(span, statement)
    result: list[Edits | None] = []
    comment = re.fullmatch(r"[\"']?" + _COMMENT.pattern, span.behind)
    if _BEFORE_VARIABLE.fullmatch(span.before):
        if _BEHIND_VARIABLE.fullmatch(span.behind):
            result.append(span.lines())
        elif comment:
            indent = len(span.before) - len(span.before.lstrip())
            result.append(span.cut(span.line + indent, span.end + comment.start("comment")))
    option = _OPTION.search(span.before)
    if option:
        wide = _Span(source, span.line + option.start(), span.end)
        result += _removals(wide)
    return result + _removals(span)


def _of_statement(span: _Span, statement: re.Match[str]) -> list[Edits | None]:
    """Return edits that take out an assignment that is a statement: ``export`` alone would print all variables."""
    text, behind = span.source.text, span.behind
    whole_line = not span.before[: statement.start("own")].strip()
    if whole_line and _BEHIND_VARIABLE.fullmatch(behind) and not behind.rstrip().endswith(("}", ")")):
        empty = _OPENS.search(text[max(0, span.line - 200) : span.line].rstrip()) and _CLOSES.match(text, span.stop)
        return [] if empty else [span.lines()]
    start, comment = span.line + statement.start("own"), re.fullmatch(r"[\"']?" + _COMMENT.pattern, behind)
    if whole_line and comment:
        return [span.cut(start, span.end + comment.start("comment"))]
    following = _NEXT_STATEMENT.match(behind)
    if following:
        return [span.cut(start, span.end + following.end())]
    if statement["join"] and not behind.strip():
        return [span.cut(span.line + statement.start(), span.end)]
    return []


def add_argument(node: NodeLaunch, name: str, value: object = None) -> list[Edits | None]:
    """Return edits that add an argument after the last one that is in the file; a value is written as JSON."""
    shown = value if isinstance(value, str) or value is None else json.dumps(value)
    for arg in reversed(node.args):
        span = _of_argument(arg) if arg.name else None
        if span is not None and arg.text is not None:
            return _additions(span, arg.text.quoting(0), f"--{name}", shown)
    model = node.model.text if node.model is not None else None
    if model is None or not model.value:
        return []
    span = _Span(model.source, model.spots[0], model.end_of(len(model.value) - 1))
    return _additions(span, model.quoting(0), f"--{name}", shown)


def _additions(span: _Span, quoting: Quoting | None, flag: str, value: str | None) -> list[Edits | None]:
    indent = span.before if not span.before.strip() else None
    if quoting is not None and quoting.kind in _SHELL:
        outer = quoting.outer
        while outer is not None and outer.kind in _SHELL:
            outer = outer.outer
        word = "" if value is None else f" {_word(value)}"
        own = [f" \\\n{_inside(indent, outer)}{flag}{word}"] if indent is not None else []
        written = [spell(outer, text) for text in (*own, f" {flag}{word}")]
        return [_insert(span, span.end, text) for text in written if text is not None]
    item = re.fullmatch(r"([ \t]*)-[ \t]+", span.before)
    if item:
        quoted = "" if value is None else f"\n{item[1]}- {_yaml(value)}"
        return [_insert(span, span.end + len(span.behind.rstrip("\r")), f"\n{item[1]}- {flag}{quoted}")]
    if span.source.text[span.start : span.start + 1] in ("'", '"'):
        words = [flag] if value is None else [flag, value]
        return [_insert(span, span.end, "".join(f", {json.dumps(word)}" for word in words))]
    return []


def _inside(indent: str | None, outer: Quoting | None) -> str:
    """Return the blanks before an argument without those that belong to the block around it."""
    detail = outer.detail if outer is not None else ""
    while outer is not None and not outer.kind.startswith("yaml"):
        outer = outer.outer
        detail = outer.detail if outer is not None else detail
    return (indent or "").removeprefix(detail if not detail.strip() else "")


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def _yaml(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _insert(span: _Span, at: int, new: str) -> Edits | None:
    text = Text.verbatim(span.source, span.start, at)
    return text.edit(len(text.value), len(text.value), new)
