"""What a fix changes: set a value, rename a key or a flag, remove an entry, insert one.

A rule says what changes; how it is written, in which quotes and inside what, is decided by :meth:`Text.edit` alone.
Every function returns None where the change cannot be made for certain: the value comes from elsewhere, or is not
written at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import yaml

from pd_launch.launcher.rules.registry import FixEdits
from pd_launch.schemas.core.launch import Arg
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.quoting import PLAIN_YAML, Quoting
from pd_launch.schemas.core.values import Node, Site, SourceFile, Splice, Text, Unknown, as_integer

Edits = tuple[Splice, ...]

_IDENTIFIER = lazy_pattern(r"[A-Za-z_]\w*", re.ASCII)


def set_value(node: Node, value: object) -> Edits | None:
    """Return what gives ``node`` another value, in its own style: a text stays in its quotes, a number stays one."""
    if isinstance(value, str):
        number = as_integer(value)
        if number is not None and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            value = number
        elif node.text is not None and (_spells_text(node, value) or not isinstance(node.value, str)):
            return set_text(node.text, value)
    if node.site is not None:
        code, site = _spelled(node.site, value), node.site
        written = site.code.value[site.start : site.end].rstrip()  # a block's end is where the next key begins
        block = isinstance(node.value, (dict, list)) and not written.startswith(("{", "["))
        if code is None or (site.language == "yaml" and block):
            return None
        return site.code.edit(site.start, site.start + len(written), code)
    if node.text is None or isinstance(node.value, (dict, list)):
        return None
    return set_text(node.text, value if isinstance(value, str) else json.dumps(value))


def set_text(text: Text, new: str) -> Edits | None:
    """Return what writes ``new`` for a text, in its quotes."""
    return text.edit(0, len(text.value), new)


def put_in_quotes(node: Node) -> Edits | None:
    """Return what makes a number or another word a text: the same characters in double quotes, as all languages do."""
    site = node.site
    if site is None or isinstance(node.value, (dict, list)):
        return None
    written = node.text.value if node.text is not None else site.code.value[site.start : site.end]
    return site.code.edit(site.start, site.end, json.dumps(written, ensure_ascii=False))


def replace_part(text: Text | None, old: str, new: str) -> Edits | None:
    """Return what writes ``new`` for the only ``old`` in a text; None where it is not there once."""
    if text is None or text.value.count(old) != 1:
        return None
    start = text.value.index(old)
    return text.edit(start, start + len(old), new)


def rename_key(node: Node, new: str) -> Edits | None:
    """Return what gives the entry ``node`` of a mapping another key, in the quotes of the old one."""
    text = node.key_text
    if text is None:
        return None
    bare = _bare_yaml(text)
    return None if bare is not None and not _is_plain_key(new, bare.kind == "yaml-flow") else set_text(text, new)


def rename_flag(arg: Arg, new: str) -> Edits | None:
    """Return what writes the flag ``new``, a long name without dashes, in the form in which ``arg`` is written."""
    if arg.text is None:
        return None
    written = arg.text.value
    if written.startswith("-"):
        return set_text(arg.text, f"--{new}")
    return set_text(arg.text, new.replace("-", "_") if "_" in written or _is_call(arg.text) else new)


def _is_call(text: Text) -> bool:
    """Whether a name is a keyword of a Python call, in which there are no hyphens."""
    return text.source.path.endswith(".py") and text.quoting(0) is None


def fix(message: Msg, edits: Edits | None, safe: bool = False) -> FixEdits | None:
    """Return the fix that makes ``edits``, or None where there are none."""
    return FixEdits(message, edits, safe) if edits else None


def renamed(edits: Edits | None, new: str, safe: bool = False) -> FixEdits | None:
    """Return the fix that writes ``new``, with the usual words."""
    return fix(Msg(f"write {new}", f"改写为 {new}"), edits, safe)


def joined(*parts: Edits | None) -> Edits | None:
    """Return several changes as one; None where one of them cannot be made, or one would undo another."""
    if any(part is None for part in parts):
        return None
    splices = [splice for part in parts for splice in part or ()]
    for new in [splice for splice in splices if _span(splice)[0] == _span(splice)[1]]:
        for gone in [splice for splice in splices if not splice.text]:
            if _span(gone)[0] < _span(new)[0] < _span(gone)[1]:  # a line goes, and others come after it
                lines = re.sub(r"\A(\r?\n)(.*)\Z", r"\2\1", new.text, flags=re.DOTALL)
                splices[splices.index(gone)] = Splice(gone.origin, lines)
                splices.remove(new)
    spans = sorted((splice.origin.file, *_span(splice)) for splice in splices)
    meet = any(one[0] == other[0] and one[2] > other[1] for one, other in pairwise(spans))
    return None if meet else tuple(splices)


def _span(splice: Splice) -> tuple[tuple[int, int], tuple[int, int]]:
    place = splice.origin
    return (place.line, place.column), (place.end_line, place.end_column)


def remove_entry(node: Node) -> Edits | None:
    """Return what removes an entry of a mapping with its comma or its lines; no other lines are joined by it."""
    site = node.site
    if site is None or site.entry is None:
        return None
    return _remove_flow(site, site.entry) if site.flow else _remove_block(site, site.entry)


def insert_entries(mapping: Node, new: Mapping[str, object]) -> Edits | None:
    """Return what adds entries after the others of a mapping; where those have lines of their own, on new ones."""
    site = mapping.site
    if site is None or not isinstance(mapping.value, dict):
        return None
    entries = [entry.site for entry in mapping.value.values() if entry.site is not None]
    if len(entries) != len(mapping.value) or any(e.code is not site.code or e.entry is None for e in entries):
        return None  # some come from elsewhere
    last = max(entries, key=lambda entry: entry.end, default=None)
    flow = site.code.value[site.start : site.start + 1] == "{" or site.language == "python"
    written = [_entry(site, last, key, value, flow) for key, value in new.items()]
    lines = [entry for entry in written if entry is not None and "\n" not in entry]
    if len(lines) < len(written):
        return None
    if last is None:
        at = site.code.value.find("{", site.start, site.end) + 1
        return site.code.edit(at, at, ", ".join(lines)) if at else None
    indent = _indent(site.code, last.entry or 0)
    if not flow:
        end = _line_end(site.code, last)
        return None if indent is None or end is None else _added(site.code, end, f"\n{indent}", lines)
    on_lines = _added(site.code, last.end, f",\n{indent}", lines) if indent is not None else None
    return on_lines or _added(site.code, last.end, ", ", lines)


def _line_end(code: Text, entry: Site) -> int | None:
    """Return where the line ends on which an entry of a block ends; None where more is there than a comment."""
    end = entry.start + len(code.value[entry.start : entry.end].rstrip())
    line = code.value[end:].partition("\n")[0].rstrip("\r")
    return end + len(line) if not line.strip() or line.lstrip().startswith("#") else None


def _added(code: Text, at: int, between: str, entries: list[str]) -> Edits | None:
    return code.edit(at, at, "".join(f"{between}{entry}" for entry in entries))


def _entry(site: Site, last: Site | None, key: str, value: object, flow: bool) -> str | None:
    code = _spelled(site, value, flow)
    if code is None:
        return None
    if site.language == "yaml":
        name = key if _is_plain_key(key, flow) else json.dumps(key, ensure_ascii=False)
        if "{{" in name:
            return None
        return f"{name}: {code}"
    called = site.language == "python" and (
        _IDENTIFIER.match(site.code.value, last.entry) if last is not None and last.entry is not None else None
    )
    return f"{key}={code}" if called else f"{json.dumps(key, ensure_ascii=False)}: {code}"


def _spelled(site: Site, value: object, flow: bool | None = None) -> str | None:
    """Return plain data, or what a node is written as, in the language of a site."""
    if isinstance(value, Node):
        written = value.site.code.value[value.site.start : value.site.end] if value.site is not None else "\n"
        if value.site is not None and value.site.language == site.language and "\n" not in written:
            return written
        value = value.plain()
    if _unknown(value):
        return None
    if site.language == "python":
        return _python(value)
    code = json.dumps(value, ensure_ascii=False)
    if site.language == "yaml" and "{{" in code:
        return None  # a chart would fill it in
    if site.language == "yaml" and isinstance(value, str):
        return value if _is_plain(value, site.flow if flow is None else flow) else code
    return code


def _unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_unknown(part) for part in value.values())
    return any(map(_unknown, value)) if isinstance(value, list) else isinstance(value, Unknown)


def _python(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_python(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_python, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _is_plain(text: str, flow: bool) -> bool:
    """Whether YAML reads ``text`` without quotes as this very text."""
    if flow and re.search(r"[,\[\]{}]|\A[?:-]", text):
        return False
    try:
        return bool(yaml.safe_load(f"a: {text}") == {"a": text})
    except yaml.YAMLError:
        return False


def _is_plain_key(text: str, flow: bool) -> bool:
    """Whether YAML reads ``text`` without quotes as this very key."""
    try:
        return _is_plain(text, flow) and bool(yaml.safe_load(f"{text}: a") == {text: "a"})
    except yaml.YAMLError:
        return False


def _bare_yaml(text: Text) -> Quoting | None:
    """Return the quoting of a text that is a scalar of YAML without quotes; None for every other."""
    quoting = text.quoting(0)
    return quoting if quoting is not None and quoting.kind in PLAIN_YAML else None


def _spells_text(node: Node, new: str) -> bool:
    """Whether ``new`` stays a text where ``node`` is written: without quotes, YAML would take some for numbers."""
    text, site = node.text, node.site
    if text is None or site is None or site.language != "yaml":
        return True
    return _bare_yaml(text) is None or _is_plain(new, site.flow)


def _remove_flow(site: Site, start: int) -> Edits | None:
    """Remove an entry between brackets, with the comma after it or else the one before it."""
    code, end = site.code, site.end
    after = len(code.value) - len(code.value[end:].lstrip())
    behind = code.value[after : after + 1] == ","
    before = len(code.value[:start].rstrip()) - 1
    if not behind and code.value[before : before + 1] not in (",", "{", "("):
        return None
    comma = code.edit(before, before + 1, "") if not behind and code.value[before] == "," else ()
    stop = after + 1 if behind else end
    whole = _own_lines(code, start, stop)
    if whole is not None:
        return joined(comma, whole)
    breaks = code.source.text
    if behind:
        while stop < len(code.value) and code.value[stop] in " \t" and breaks[code.spots[stop]] in " \t":
            stop += 1
        return code.edit(start, stop, "")
    first = start
    while comma and first - 1 > before and breaks[code.spots[first - 1]] in " \t":
        first -= 1
    return joined(comma, code.edit(first, stop, ""))


def _remove_block(site: Site, start: int) -> Edits | None:
    """Remove an entry of a block mapping of YAML with its lines, where it is not the only one."""
    code = site.code
    end = start + len(code.value[start : site.end].rstrip())
    if "#" in code.value[start:end] or not _has_siblings(code.source, start, end):
        return None
    return _own_lines(code, start, end)


def _own_lines(code: Text, start: int, end: int) -> Edits | None:
    """Return the removal of the lines that hold just the characters ``[start, end)``; None where they hold more."""
    source = code.source
    text, first, last = source.text, code.spots[start], code.end_of(end - 1)
    begin = text.rfind("\n", 0, first) + 1
    stop = text.find("\n", last)
    if stop < 0 or text[begin:first].strip() or text[last:stop].strip():
        return None
    return Text.verbatim(source, begin, stop + 1).edit(0, stop + 1 - begin, "")


def _has_siblings(source: SourceFile, start: int, end: int) -> bool:
    """Whether the entry at ``[start, end)`` of a block mapping is between others of the same indentation."""
    line, column = source.place(start)
    last = source.place(end)[0]
    above = (source.line(number) for number in range(line - 1, 0, -1))
    below = (source.line(number) for number in range(last + 1, len(source.starts) + 1))
    return _meets(above, column - 1) or _meets(below, column - 1)


def _meets(lines: Iterable[str], indent: int) -> bool:
    """Whether the first line that is not deeper than ``indent`` is exactly so deep and an entry."""
    for line in lines:
        depth = len(line) - len(line.lstrip(" "))
        if line.strip() and not line.lstrip().startswith("#") and depth <= indent:
            return depth == indent and not line.lstrip().startswith("- ")
    return False


def _indent(code: Text, at: int) -> str | None:
    """Return the blanks before the character ``at`` if it is the first of a line after the first one, else None."""
    begin = code.value.rfind("\n", 0, at) + 1
    before = code.value[begin:at]
    return before if begin and not before.strip() else None
