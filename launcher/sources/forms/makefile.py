"""Makefiles: each line of a recipe is a script of its own, into which make fills its variables first.

``$(NAME)`` and ``${NAME}`` are make's, ``$$`` is the sign that the shell sees. What a variable is given with ``=`` or
``:=`` is known, unless another value may count: with ``?=`` the environment's, or one that a condition sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from pd_launch.launcher.sources.engine.engines import Found, Nested
from pd_launch.launcher.sources.text.kinds import opens_like_yaml
from pd_launch.launcher.sources.text.templates import filled
from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.launch import EnvVar, NodeLaunch
from pd_launch.schemas.core.values import HOLE, Origin, SourceFile, Text
from pd_launch.schemas.engine.machines import ASSUMED
from pd_launch.schemas.engine.sides import spoken_side

_RULE = re.compile(r"^(?P<targets>[\w.%/$(){}-][\w.%/$(){} \t-]{0,500}?)[ \t]{0,40}::?(?![:=])")
_SETS = re.compile(
    r"^[ ]{0,40}(?P<export>export[ \t]{1,20})?(?:override[ \t]{1,20})?(?P<name>[\w.-]{1,200})[ \t]{0,40}"
    r"(?P<sign>[:?+!]?=|:::?=)[ \t]{0,40}"
)
_EXPORTS = re.compile(r"^[ ]{0,40}export(?:[ \t]{1,20}(?P<names>[\w \t.-]{1,500}))?$")
_CONDITION = re.compile(r"^[ ]{0,40}(?P<word>ifn?eq|ifn?def|else|endif|define|endef|-?include|sinclude)\b")
_RECIPE = re.compile(r"^[\w.%/$(){}-][^\n=#:]{0,500}:[^\n=]{0,1000}\n(?:#[^\n]{0,500}\n|\n){0,20}\t", re.MULTILINE)
_SILENT = re.compile(r"[ \t]{0,40}[@+-]{0,3}[ \t]{0,40}")
_NAME = re.compile(r"[\w.-]{1,200}")
_CLOSES = {"(": ")", "{": "}"}
_MOST_NESTED = 5
"""How often a variable's value is looked into for others."""
_LONGEST = 2_000
"""Characters of one reference."""


class Line(NamedTuple):
    """A line with those that a backslash continues it with: its place in the file."""

    start: int
    end: int


@dataclass
class Variables:
    """What make's variables are where a recipe is run; of one that is not known, None."""

    values: dict[str, Text | None] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    all_exported: bool = False
    more: Origin | None = None
    """Where another file is taken in."""


def recognise(source: SourceFile) -> bool:
    """Whether a file has a rule with a recipe: a line that begins with a tab behind one with a colon."""
    if source.path.endswith((".yaml", ".yml", ".json")) or opens_like_yaml(source.text):
        return False  # a tab in YAML is a mistake of its own
    return _RECIPE.search(source.text) is not None


def read(given: SourceFile, source: SourceFile, found: Found) -> None:
    """Add the lines of each recipe as scripts."""
    variables, recipes = _read(source)
    env = {}
    for name, value in variables.values.items():
        if variables.all_exported or name in variables.exported:
            place = value if value is not None else Text.verbatim(source, 0, 0).stand_in(HOLE)
            text = _expanded(value, variables.values) if value is not None else place
            env[name] = EnvVar.of(name, text, "export")
    for targets, line in recipes:
        text = Text.verbatim(source, *line)
        begun = _SILENT.match(text.value)
        text = filled(_expanded(text.part(begun.end() if begun else 0, len(text.value)), variables.values))
        found.nested.append(Nested(text, partial(_complete, (targets, source.path), env, variables.more), env))


def _complete(place: tuple[str, str], env: Mapping[str, EnvVar], more: Origin | None, node: NodeLaunch) -> None:
    targets, path = place
    if node.container is None:
        node.env = {**env, **node.env}
    node.side = node.side or spoken_side(targets)
    if node.container is None:
        node.host = node.host or f"{ASSUMED}{path}"
    # What make itself is started with, and its own command line, set variables too.
    node.env_open = node.env_open or more or node.origin


def _read(source: SourceFile) -> tuple[Variables, list[tuple[str, Line]]]:
    """Return the variables, and each line of a recipe with the targets that it makes."""
    variables, recipes, targets = Variables(), [], ""
    conditions, defining = 0, False
    for line in _lines(source.text):
        text = source.text[line.start : line.end]
        said = None if text.startswith("\t") else _CONDITION.match(text)
        if defining:
            defining = said is None or said["word"] != "endef"
        elif text.startswith("\t"):
            recipes += [(targets, line)] if targets and text.strip() else []
        elif said is not None:
            conditions += {"ifeq": 1, "ifneq": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(said["word"], 0)
            defining = said["word"] == "define"
            if "include" in said["word"]:
                variables.more = variables.more or source.origin(line.start, line.end)
        elif (sets := _SETS.match(text)) is not None:
            _set(variables, sets, Text.verbatim(source, line.start, line.end), conditions > 0)
        elif (exports := _EXPORTS.match(text)) is not None:
            variables.exported |= set((exports["names"] or "").split())
            variables.all_exported = variables.all_exported or not exports["names"]
        elif (rule := _RULE.match(text)) is not None:
            targets = rule["targets"]
        elif text.strip() and not text.lstrip().startswith("#"):
            targets = ""
    return variables, recipes


def _set(variables: Variables, sets: re.Match[str], line: Text, depends: bool) -> None:
    name = sets["name"]
    if sets["export"]:
        variables.exported.add(name)
    known = sets["sign"] in ("=", ":=", "::=", ":::=") and not depends and variables.values.get(name, line) is not None
    end = line.value.find("#", sets.end())
    end = len(line.value) if end < 0 else end
    kept = len(line.value[:end].rstrip())
    variables.values[name] = line.part(sets.end(), max(sets.end(), kept)) if known and "\n" not in line.value else None


def _lines(text: str) -> Iterator[Line]:
    """Iterate over lines, those that go on taken together."""
    at = 0
    while at < len(text):
        start = at
        while True:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            goes_on = text.endswith("\\", at, end) and end < len(text)
            at = end + 1
            if not goes_on:
                break
        yield Line(start, end)


def _expanded(text: Text, values: Mapping[str, Text | None], depth: int = 0) -> Text:
    """Return a text with make's variables filled in."""
    value = text.value
    at = value.find("$")
    if at < 0:
        return text.quoted("dollar", text.spots[0]) if depth == 0 else text
    weaver, done, stretch = Weaver(text), 0, Stretch("dollar", text.spots[0])
    while 0 <= at < len(value):
        weaver.take(done, at, stretch)
        opening = value[at + 1 : at + 2]
        if opening == "$":
            done = at + 2
            weaver.put("$", at, done, stretch)
        else:
            done = _end(value, at + 1)
            weaver.fill(_value(value[at + 2 : done - 1] if opening in _CLOSES else opening, values, depth), at)
        at = value.find("$", done)
    weaver.take(done, len(value), stretch)
    return weaver.text(len(value))


def _end(value: str, at: int) -> int:
    """Return where a reference ends whose bracket, or whose only sign, is at ``at``."""
    closing = _CLOSES.get(value[at : at + 1])
    if closing is None:
        return min(at + 1, len(value))
    depth = 0
    for place in range(at, min(len(value), at + _LONGEST)):
        depth += (value[place] == value[at]) - (value[place] == closing)
        if depth == 0:
            return place + 1
    return min(len(value), at + _LONGEST)


def _value(name: str, values: Mapping[str, Text | None], depth: int) -> str:
    known = values.get(name) if _NAME.fullmatch(name) else None
    if known is None or depth >= _MOST_NESTED:
        return HOLE
    return _expanded(known, values, depth + 1).value
