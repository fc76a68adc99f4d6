"""Makefiles: each line of a recipe is a script of its own, into which make fills its variables first.

``$(NAME)`` and ``${NAME}`` are make's, ``$$`` is the sign that the shell sees. What a variable is given with ``=`` or
``:=`` is known, unless another value may count: with ``?=`` the environment's, or one that a condition sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from typing import NamedTuple

from pd_launch.launcher.sources.engine.found import Found, Nested
from pd_launch.launcher.sources.engine.unfollowed import not_started
from pd_launch.launcher.sources.engine.wrapped import STARTS
from pd_launch.launcher.sources.text.kinds import opens_like_yaml
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.launcher.sources.text.templates import filled
from pd_launch.launcher.sources.text.weave import Stretch, Weaver, concat
from pd_launch.schemas.core.launch import EnvVar, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Origin, SourceFile, Text
from pd_launch.schemas.engine.machines import ASSUMED
from pd_launch.schemas.engine.sides import spoken_side

_RULE = lazy_pattern(r"^(?P<targets>[\w.%/$(){}-][\w.%/$(){} \t-]{0,500}?)[ \t]{0,40}::?(?![:=])")
_SET = (
    r"(?P<export>export[ \t]{1,20})?(?:override[ \t]{1,20})?(?P<name>[\w.-]{1,200})[ \t]{0,40}"
    r"(?P<sign>[:?+!]?=|:::?=)[ \t]{0,40}"
)
_SETS = lazy_pattern(rf"^[ ]{{0,40}}{_SET}")
_OWN = lazy_pattern(rf"[ \t]{{0,40}}(?:private[ \t]{{1,20}})?{_SET}")
_DEFINES = lazy_pattern(
    r"^[ ]{0,40}define[ \t]{1,40}(?P<name>[\w.-]{1,200})[ \t]{0,40}(?P<sign>[:?+!]?=|:::?=)?[ \t]{0,40}$", re.MULTILINE
)
_EXPORTS = lazy_pattern(r"^[ ]{0,40}export(?:[ \t]{1,20}(?P<names>[\w \t.-]{1,500}))?$")
_CONDITION = lazy_pattern(r"^[ ]{0,40}(?P<word>ifn?eq|ifn?def|else|endif|define|endef|-?include|sinclude)\b")
_RECIPE = lazy_pattern(r"^[\w.%/$(){}-][^\n=#:]{0,500}:[^\n=]{0,1000}\n(?:#[^\n]{0,500}\n|\n){0,20}\t", re.MULTILINE)
_SILENT = lazy_pattern(r"[ \t]{0,40}[@+-]{0,3}[ \t]{0,40}")
_NAME = lazy_pattern(r"[\w.-]{1,200}")
_CLOSES = {"(": ")", "{": "}"}
_BEFORE = lazy_pattern(
    r"[ \t@+-]{0,40}(?:[\w.-]{1,80}=\S{0,200}[ \t]{1,40}){0,20}"
    r"(?:(?:eval|exec|nohup|env|time|setsid|sudo|(?:ba|z)?sh -l?c)[ \t]{1,40}){0,5}"
    r"(?:[\w.-]{1,80}=\S{0,200}[ \t]{1,40}){0,20}[\"']?"
)
"""What may be before the name of a command in a recipe."""
_ENDS_COMMAND = lazy_pattern(r"[;&|({\n]|\b(?:then|do|else|if|while|until)\b")
_USES = lazy_pattern(r"\$[({](?P<name>[\w.-]{1,200})[)}]")
_SAYS = lazy_pattern(r"\$\((?:info|warning|error)\b")
_CALL = lazy_pattern(r"call[ \t]{1,40}(?P<name>[\w.-]{1,200})[ \t]{0,40}(?:,(?P<given>.{0,2000}))?", re.DOTALL)
_REFERENCE = lazy_pattern(r"\$[({]([\w.-]{1,200})[)}]")
_MOST_NAMES = 50
_MOST_REFERENCES = 20_000
"""References that are looked up in one file; beyond them a value is not known."""
_WEIGHS = 100
"""Characters of a value that count as one reference more."""
_LONGEST_VALUE = 50_000
_MOST_NEEDED = 500
"""Targets that one is made of."""
_MOST_NESTED = 5
"""How often a variable's value is looked into for others."""
_LONGEST = 2_000
"""Characters of one reference."""


class Line(NamedTuple):
    """A line with those that a backslash continues it with: its place in the file."""

    start: int
    end: int


class Values(dict[str, "Text | None"]):
    """What make's variables are, and how many references to them were looked up so far in the file."""

    looked_up = 0


@dataclass
class Variables:
    """What make's variables are where a recipe is run; of one that is not known, None."""

    values: Values = field(default_factory=Values)
    exported: set[str] = field(default_factory=set)
    all_exported: bool = False
    more: Origin | None = None
    """Where another file is taken in."""
    own: dict[str, Values] = field(default_factory=dict)
    """What variables are only for one target, and for what it is made of."""
    needs: dict[str, set[str]] = field(default_factory=dict)
    """What each target is made of."""
    held: dict[str, list[Text]] = field(default_factory=dict)
    """Values that speak of an engine and are not known to be what a variable has; "": of variables that make names."""

    def of(self, targets: str) -> Variables:
        """Return the variables as the recipe of some targets has them.

        What is set for another target holds there too if it is made for that one: then it is not known.
        """
        if not self.own:
            return self
        names, values = targets.split(), Values(self.values)
        for target, own in self.own.items():
            if names == [target]:
                values.update(own)
            elif target in names or "%" in target or any(name in self._below(target) for name in names):
                values.update(dict.fromkeys(own))
        values.looked_up = self.values.looked_up
        return replace(self, values=values)

    def _below(self, target: str) -> set[str]:
        """Return what a target is made of, directly or not; a variable among it may be anything."""
        found, waiting = set[str](), [target]
        while waiting and len(found) < _MOST_NEEDED:
            more = self.needs.get(waiting.pop(), set()) - found
            found |= more
            waiting += more
        return found

    def hold(self, name: str, value: Text | None) -> None:
        """Take in a value that a variable may have, if it speaks of an engine."""
        if value is not None and STARTS.search(value.value):
            self.held.setdefault(name, []).append(value)


def recognise(source: SourceFile) -> bool:
    """Whether a file has a rule with a recipe: a line that begins with a tab after one with a colon."""
    if source.path.endswith((".yaml", ".yml", ".json")) or opens_like_yaml(source.text):
        return False  # a tab in YAML is a mistake of its own
    return _RECIPE.search(source.text) is not None


def read(given: SourceFile, source: SourceFile, found: Found) -> None:
    """Add the lines of each recipe as scripts."""
    shared, recipes = _read(source)
    full = False
    variables, env, last = shared, _exported(shared, source), None
    for targets, line in recipes:
        if shared.own and targets is not last:
            shared.values.looked_up, last = variables.values.looked_up, targets
            variables = shared.of(targets)
            env = _exported(variables, source)
        text = Text.verbatim(source, *line)
        begun = _SILENT.match(text.value)
        text = text.part(begun.end() if begun else 0, len(text.value))
        lost = list(_lost(text, variables.values)) if "$" in text.value else []
        expanded = filled(_expanded(text, variables.values))
        lost += [value for name in _run_by(text.value) for value in _held_of(name, variables)] if variables.held else []
        if variables.values.looked_up > _MOST_REFERENCES and not full:
            full = True
            if STARTS.search(source.text):
                limit = Msg(
                    f"more than {_MOST_REFERENCES} references to variables", f"引用变量超过 {_MOST_REFERENCES} 次"
                )
                found.add_faults([not_followed(text.origin(), limit)])
        for part in lost:
            found.add_faults(list(not_started(part)))
        found.nested.append(Nested(expanded, partial(_complete, (targets, source.path), env, variables.more), env))


def _exported(variables: Variables, source: SourceFile) -> dict[str, EnvVar]:
    """Return the variables that commands of a recipe get."""
    env = {}
    for name, value in variables.values.items():
        if variables.all_exported or name in variables.exported:
            place = value if value is not None else Text.verbatim(source, 0, 0).stand_in(HOLE)
            text = _expanded(value, variables.values) if value is not None else place
            env[name] = EnvVar.of(name, text, "export")
    return env


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
    variables, targets = Variables(), ""
    recipes: list[tuple[str, Line]] = []
    conditions, one_shell = 0, False
    defining: Line | None = None
    for line in _lines(source.text):
        text = source.text[line.start : line.end]
        said = None if text.startswith("\t") else _CONDITION.match(text)
        if defining is not None:
            if said is not None and said["word"] == "endef":
                _define(variables, defining, line, source, conditions > 0)
                defining = None
        elif text.startswith("\t"):
            if one_shell and recipes and recipes[-1][0] is targets:
                recipes[-1] = targets, Line(recipes[-1][1].start, line.end)
            else:
                recipes += [(targets, line)] if targets and text.strip() else []
        elif said is not None:
            conditions += {"ifeq": 1, "ifneq": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(said["word"], 0)
            defining = line if said["word"] == "define" else None
            if "include" in said["word"]:
                variables.more = variables.more or source.origin(line.start, line.end)
        elif (sets := _SETS.match(text)) is not None:
            _set(variables, sets, Text.verbatim(source, line.start, line.end), conditions > 0)
        elif (exports := _EXPORTS.match(text)) is not None:
            variables.exported |= set((exports["names"] or "").split())
            variables.all_exported = variables.all_exported or not exports["names"]
        elif (rule := _RULE.match(text)) is not None:
            targets = rule["targets"]
            one_shell = one_shell or targets.strip() == ".ONESHELL"
            recipe = _behind_targets(variables, rule, Text.verbatim(source, line.start, line.end), conditions > 0)
            recipes += [(targets, Line(line.start + recipe, line.end))] if recipe else []
        elif text.strip() and not text.lstrip().startswith("#"):
            targets = ""
            if not _SAYS.search(text):
                variables.hold("", Text.verbatim(source, line.start, line.end))
    return variables, recipes


def _behind_targets(variables: Variables, rule: re.Match[str], line: Text, depends: bool) -> int:
    """Take in a variable that is set for targets only, or what they are made of; return where a recipe begins, or 0."""
    targets, behind = rule["targets"].split(), line.part(rule.end(), len(line.value))
    lead = len(behind.value) - len(behind.value.lstrip(" \t"))
    sets = _SETS.match(behind.value, lead) if lead < 40 else None
    if sets is None:
        sets = _OWN.match(behind.value)
    if sets is not None:
        for target in targets:
            one = Variables(Values(variables.values))
            _set(one, sets, behind, depends)
            variables.own.setdefault(target, Values())[sets["name"]] = one.values[sets["name"]]
            variables.hold(sets["name"], one.values[sets["name"]])
            variables.exported |= one.exported
        return 0
    needed, sign, _ = behind.value.partition(";")
    for target in targets:
        variables.needs.setdefault(target, set()).update(needed.split())
    return rule.end() + len(needed) + 1 if sign else 0


def _set(variables: Variables, sets: re.Match[str], line: Text, depends: bool) -> None:
    name = sets["name"]
    if sets["export"]:
        variables.exported.add(name)
    known = sets["sign"] in ("=", ":=", "::=", ":::=") and not depends and variables.values.get(name, line) is not None
    end = line.value.find("#", sets.end())
    end = len(line.value) if end < 0 else end
    kept = len(line.value[:end].rstrip())
    value, old = line.part(sets.end(), max(sets.end(), kept)), variables.values.get(name)
    if sets["sign"] == "+=" and not depends and old is not None:
        known, value = True, concat([old, value.stand_in(" "), value], line.source, old.spots[0])
    known = known and "\n" not in line.value
    if not known:
        variables.hold(name, old)
        variables.hold(name, value)
    variables.values[name] = value if known else None


def _define(variables: Variables, first: Line, last: Line, source: SourceFile, depends: bool) -> None:
    """Take in ``define NAME``, of which each line is one of the recipe that uses it."""
    name = _DEFINES.match(source.text, first.start, first.end)
    start = min(first.end + 1, last.start)
    body = Text.verbatim(source, start, max(start, last.start - 1))
    if name is None:
        return
    known = not depends and name["sign"] in (None, "=", ":=", "::=") and name["name"] not in variables.values
    variables.values[name["name"]] = body if known else None
    if not known:
        variables.hold(name["name"], body)


def _run_by(recipe: str) -> Iterator[str]:
    """Iterate over the variables that a line of a recipe runs as commands."""
    start = 0
    for use in _USES.finditer(recipe):
        for end in _ENDS_COMMAND.finditer(recipe, start, use.start()):
            start = end.end()
        if _BEFORE.fullmatch(recipe, start, use.start()):
            yield use["name"]
        start = use.end() if recipe[use.end() : use.end() + 1] in tuple(";&|") else start


def _held_of(name: str, variables: Variables) -> list[Text]:
    """Return the values that speak of an engine and that a variable, or one that it is made of, may have."""
    waiting, found = [name], list[Text]()
    seen: set[str] = set()
    while waiting and len(seen) < _MOST_NAMES:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        value = variables.values.get(name)
        found += variables.held.get(name if name in variables.values else "", ())
        waiting += _REFERENCE.findall(value.value) if value is not None else []
    return found


def _lost(text: Text, values: Values) -> Iterator[Text]:
    """Iterate over make's functions in a recipe that speak of an engine and are not followed."""
    at = text.value.find("$")
    while at >= 0:
        opening = text.value[at + 1 : at + 2]
        done = at + 2 if opening == "$" else _end(text.value, at + 1)
        inner = text.value[at + 2 : done - 1]
        speaks = opening in _CLOSES and STARTS.search(inner) and not _SAYS.match(text.value, at)
        if speaks and _value(inner, values, 0) == HOLE:
            yield text.part(at, done)
        at = text.value.find("$", done)


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


def _expanded(text: Text, values: Values, depth: int = 0) -> Text:
    """Return a text with make's variables filled in."""
    value = text.value
    at = value.find("$")
    if at < 0:
        return text.quoted("dollar", text.spots[0]) if depth == 0 else text
    weaver, done, stretch = Weaver(text), 0, Stretch("dollar", text.spots[0])
    while 0 <= at < len(value):
        if depth and len(weaver.value) > _LONGEST_VALUE:
            return text.stand_in(HOLE)
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


def _value(name: str, values: Values, depth: int) -> str:
    values.looked_up += 1
    if values.looked_up > _MOST_REFERENCES:
        return HOLE
    call = _CALL.fullmatch(name)
    if call is not None and depth < _MOST_NESTED:
        function = values.get(call["name"])
        if function is None:
            return HOLE
        given = enumerate((call["given"] or "").split(","), 1)
        filled_in = {
            str(number): _expanded(function.stand_in(text.strip()), values, depth + 1) for number, text in given
        }
        inner = Values({**values, **filled_in})
        inner.looked_up = values.looked_up
        made = _expanded(function, inner, depth + 1).value
        values.looked_up = inner.looked_up
        return made
    known = values.get(name) if _NAME.fullmatch(name) else None
    if known is None or depth >= _MOST_NESTED:
        return HOLE
    made = _expanded(known, values, depth + 1).value
    values.looked_up += len(made) // _WEIGHS
    return made
