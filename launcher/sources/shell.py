"""Shell scripts as people write them: followed statement by statement, never executed.

Every simple command is collected with its expanded words and the environment it would be given. Both branches of a
condition are followed; loops over known values are unrolled, others are followed once with an unknown variable.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pd_launch.launcher import budget
from pd_launch.launcher.sources.limits import not_followed
from pd_launch.launcher.sources.shell_scan import scan
from pd_launch.launcher.sources.shell_scope import Environment
from pd_launch.launcher.sources.shell_weight import Places, Weights, word_matters
from pd_launch.launcher.sources.shell_words import MAX_ITEMS, Effort, Scope, Words
from pd_launch.launcher.sources.weave import concat, without_returns
from pd_launch.schemas.launch import Fault
from pd_launch.schemas.values import HOLE, Origin, SourceFile, Text
from pd_launch.schemas.whole import whole

MAX_COMMANDS = 2000
"""Commands that can matter."""
MAX_CALLS = 20
MAX_STEPS = 10_000
"""Statements that are followed again, in loops and functions: the first time is free."""
_PLAIN_STEPS = 500
"""After so many, what cannot matter is not followed again: nothing is missed."""
MAX_DEPTH = 200
MAX_HEREDOCS = 3000
"""Here-documents of a script: the parser's time grows with the square of their number."""
MAX_EXPORTED = 2000
_INSIDE = "what is inside is not checked", "里面的内容没有检查"
_NOTHING = Environment()
Value = Text | list[Text]
_CHANGED = re.compile(r"(?<!\w)([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%&|^]?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)")
_READS = ("read", "mapfile", "readarray", "getopts")
_STOPS = ("kill", "pkill", "killall", "wait")
_STAGE = -1
_HYPHENS = re.compile(r"[A-Za-z_]\w*-[\w-]*=")
_SIDE = re.compile(r"kv_role|kv_producer|kv_consumer")
_ENGINE = re.compile(r"\bvllm serve\b|entrypoints\.openai\.api_server")
_LEAVES = re.compile(r"\b(?:exit|return|die|usage)\b")
_PLACEHOLDER = re.compile(r"(?<![<\w])<\w(?:[\w.:/-]*\w|[\w .:/-]*[A-Za-z_])?>(?=[\s\"',:;)/]|\Z)")
"""``<host_ip>`` of a guide. Nobody writes two redirections in that form, without a blank before the second."""
_TORN = re.compile(r"(?m)^((?:(?!(?:^|\s)#).)*?[^\s\\])\\\n(?=[^\s#])")
"""A word that goes on in the next line: a backslash at its end, and no blank before or behind."""
_STUCK = re.compile(r"(?<=[^\s\\])\\[][ \t!#%&()*+,./:;<=>?@^{|}~-]")
"""An escaped sign inside a word: behind a quoted part the parser would begin a new word there."""
_WORDS = (
    *("word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "expansion"),
    *("simple_expansion", "arithmetic_expansion", "command_substitution", "process_substitution", "brace_expression"),
)
_NO_FLOW = ("comment", "heredoc_body", "heredoc_redirect", "file_redirect", "herestring_redirect")


def _unread(root: Any) -> Iterator[Any]:
    """Iterate over what the parser could not read: errors, and here-documents of which it found no end."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" or (node.type == "heredoc_redirect" and any(c.is_missing for c in node.children)):
            yield node
        else:
            waiting += reversed([child for child in node.children if child.has_error])


def _held(places: Iterable[Origin], source: SourceFile) -> Callable[[int], bool]:
    """Return what tells whether one of ``places`` holds an offset of the file."""
    spans = sorted((source.offset(p.line, p.column), source.offset(p.end_line, p.end_column)) for p in places)
    furthest = list(itertools.accumulate((end for _, end in spans), max))

    def held(offset: int) -> bool:
        before = bisect_right(spans, offset, key=lambda span: span[0])
        return before > 0 and offset < furthest[before - 1]

    return held


def _redirections(node: Any) -> Iterator[Any]:
    """Iterate over the redirections of a statement, those on the line of a here-document included."""
    for child in node.children:
        if child.type in ("file_redirect", "heredoc_redirect"):
            yield child
        if child.type == "heredoc_redirect":
            yield from _redirections(child)


def _masked(text: str) -> str:
    """Return a text of the same length with plain words where the parser would see something else.

    The words' own characters are taken from the file.
    """
    text = _PLACEHOLDER.sub(lambda match: re.sub(r"[<> :;]", "_", match.group()), text)
    text = _STUCK.sub("::", text)
    return _TORN.sub(lambda match: match[1] + "__", text)


class ShellUnavailable(Exception):
    """The parser for shell scripts is not installed; the message says how to get it."""


@dataclass
class Command:
    """A simple command as it would run: words, environment, and where it stands."""

    words: list[Text]
    env: Mapping[str, tuple[Text, str]]
    """Name to value and how it was set: ``export`` or ``inline``. Commands that cannot matter are given none."""
    origin: Origin
    body: Text | None = None
    """The here-document that it is given."""
    target: str = ""
    """The file that its output goes to."""
    branches: tuple[tuple[int, int], ...] = ()
    """The branches of conditions that lead to it: where the condition stands, and which branch."""
    foreground: bool = False
    """Whether the script waits for its end before it goes on."""
    names: dict[str, Text] = field(default_factory=dict)
    """The names of its variables as they are written, where they are."""


@dataclass
class _Called:
    """A function that is being followed."""

    body: int
    started: int
    """How many different commands had been started before it."""
    mark: int
    hidden: dict[str, Text | list[Text] | None] = field(default_factory=dict)
    """Its local variables, with what they hide."""


@dataclass
class _Loop:
    """A loop that is being followed."""

    body: Any
    matters: bool
    mark: int
    settled: bool = False
    """Whether its last round started nothing new, and set only what is unknown: another one brings nothing."""


@dataclass
class Script:
    """What a script would run, in order, and what is wrong with its text."""

    commands: list[Command] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def read_shell(text: Text, scope: Scope | None = None, effort: Effort | None = None) -> Script:
    """Follow a script from a scope (default: an empty one); scripts of one file share their effort.

    Raises:
        ShellUnavailable: tree-sitter-bash is not installed.
    """
    parser = _parser()
    text = without_returns(text)
    if text.value.count("<<") > MAX_HEREDOCS:
        limit, limit_zh = f"more than {MAX_HEREDOCS} here-documents", f"here-document 超过 {MAX_HEREDOCS} 个"
        return Script(faults=[not_followed(text.origin(0, 0), limit, limit_zh)])
    tree = parser.parse(_masked(text.value).encode("utf-8", "surrogatepass"))
    script = Script(faults=scan(text))
    runner = _Runner(text, script, effort or Effort())
    try:
        runner.statement(tree.root_node, scope or Scope())
    except RecursionError:
        runner.cut(runner.place, "nested too deep", "嵌套过深")
    except budget.Spent as spent:
        runner.cut(runner.place or tree.root_node, spent.limit, spent.limit_zh)
    script.faults += runner.words.cuts
    if tree.root_node.has_error:
        runner.look_behind_errors(tree.root_node)
    return script


def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        raise ShellUnavailable(
            "shell scripts need a parser: pip install tree-sitter tree-sitter-bash (the extra [scripts] of pd-launch)"
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Runner:
    def __init__(self, base: Text, script: Script, effort: Effort) -> None:
        self.base = base
        self.source = base.source
        self.script = script
        self.words = Words(base, effort)
        self.weights = Weights(base.value)
        self.sides, self.engines = Places(_SIDE, base.value), Places(_ENGINE, base.value)
        self.depth = 0
        self.seen: set[int] = set()
        self.bodies: set[int] = set()
        """Loops that were followed once."""
        self.effort = effort
        self.counted = 0
        """Commands so far that can matter."""
        self.started: set[tuple[str, ...]] = set()
        self.calls: list[_Called] = []
        self.background = False
        self.inside: tuple[tuple[int, int], ...] = ()
        self.stage = 0
        self.forked: Any = None
        """The condition for each of whose branches the rest is being followed."""
        self.place: Any = None
        """Where following is, for what ends it from far below."""
        self.cut_at: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether enough commands were followed: a script of more does not end in reasonable time."""
        return self.counted > MAX_COMMANDS

    @property
    def spent(self) -> bool:
        """Whether loops and functions were followed often enough; from then on each statement is followed once."""
        return self.effort.repeats >= MAX_STEPS

    def cut(self, node: Any, limit: str, limit_zh: str, *left: str) -> None:
        """Say, once for each limit, that following stopped here."""
        if limit not in self.cut_at:
            self.cut_at.add(limit)
            start = self.words.span(node)[0]
            self.script.faults.append(not_followed(self.base.origin(start, start + 1), limit, limit_zh, *left))

    def cut_repeats(self, node: Any) -> None:
        """Say that a loop or a function is not followed again."""
        limit, limit_zh = f"more than {MAX_STEPS} steps in loops and functions", f"循环和函数超过 {MAX_STEPS} 步"
        self.cut(node, limit, limit_zh, "they are not followed again from here on", "从这里起不再重复跟踪")

    def matters(self, node: Any) -> bool:
        """Whether a part of the script can start an engine or set a variable."""
        return self.weights.matters(*self.words.span(node))

    def look_behind_errors(self, root: Any) -> None:
        """Say where the parser lost its way, if an engine stands in what it could not read."""
        held = _held([command.origin for command in self.script.commands], self.source)
        for node in _unread(root):
            start, end = self.words.span(node)
            if any(
                start <= at < end and not (held(self.base.spots[at]) or self._is_told(at)) for at in self.engines.at
            ):
                self.cut(node, "the script cannot be read here", "脚本从这里起无法读取")
                return

    def _is_told(self, at: int) -> bool:
        """Whether what stands at ``at`` is a comment or a message that speaks of an engine."""
        line = self.base.value[self.base.value.rfind("\n", 0, at) + 1 : at]
        return "#" in line or re.search(r"\b(?:echo|printf)\b", line) is not None

    def statement(self, node: Any, scope: Scope) -> None:
        if self.full:
            return
        budget.step()
        if self.depth > MAX_DEPTH:
            if self.matters(node):
                self.cut(node, f"nested more than {MAX_DEPTH} deep", f"嵌套超过 {MAX_DEPTH} 层", *_INSIDE)
            return
        if node.id in self.seen:
            self.effort.repeats += 1
        self.seen.add(node.id)
        self.place = node
        self.depth += 1
        handler = getattr(self, f"on_{node.type}", None)
        if handler is not None:
            handler(node, scope)
        elif node.type not in _NO_FLOW:
            self._children(node, scope)
        self.depth -= 1

    def _children(self, node: Any, scope: Scope) -> None:
        self._sequence([child for child in node.children if child.is_named], scope)

    def _sequence(self, children: list[Any], scope: Scope) -> None:
        for number, child in enumerate(children):
            if self.forked is None and self._chooses_side(child):
                self._fork(child, children[number + 1 :], scope)
                return
            self.statement(child, scope)

    def _chooses_side(self, node: Any) -> bool:
        """Whether a condition sets what makes an engine behind it one of prefill or of decode."""
        if node.type not in ("if_statement", "case_statement"):
            return False
        span = self.words.span(node)
        return self.sides.within(*span) and not self.engines.within(*span)

    def _fork(self, node: Any, rest: list[Any], scope: Scope) -> None:
        """Follow what stands behind a condition once for each of its branches, with what that branch sets."""
        outer, ends = self.inside, []
        self.forked = node
        for number, group in enumerate(self._groups(node)):
            mark = scope.variables.mark()
            self.inside = (*outer, (self.base.spots[self.words.span(node)[0]], number))
            self._sequence(group, scope)
            if not any(_LEAVES.search(self.words.raw(part)) for part in group):
                self._again(rest, scope)
            ends.append(scope.variables.back(mark))
        self.inside = outer
        changed = {name for end in ends for name in end}
        if changed <= scope.variables.keys() and not self._takes_all(node):
            mark = scope.variables.mark()
            self._again(rest, scope)
            ends.append(scope.variables.back(mark))
        self.forked = None
        self._meet(ends, node, scope)

    def _again(self, rest: list[Any], scope: Scope) -> None:
        """Follow what stands behind a condition, for one of its branches."""
        if self.spent and rest and rest[0].id in self.seen:
            self.cut_repeats(rest[0])
        else:
            self._sequence(rest, scope)

    def _groups(self, node: Any) -> list[list[Any]]:
        """Return the statements of each branch of a condition."""
        if node.type == "case_statement":
            groups = [[child] for child in node.children if child.type == "case_item"]
        else:
            kinds = ("elif_clause", "else_clause")
            groups = [[c for c in node.children if c.is_named and c.type not in kinds]]
            groups += [[c] for c in node.children if c.type in kinds]
        return groups

    def on_subshell(self, node: Any, scope: Scope) -> None:
        variables, exported = scope.variables.mark(), scope.exported.mark()
        self._children(node, replace(scope))
        scope.variables.back(variables)
        scope.exported.back(exported)

    def on_variable_assignment(self, node: Any, scope: Scope) -> None:
        name, value = self._assigned(node, scope)
        if name and value is not None:
            scope.variables[name] = value
            if scope.export_all:
                self._export(name, node, scope)

    def _export(self, name: str, node: Any, scope: Scope) -> None:
        """Let engines get a variable."""
        if name in scope.exported:
            return
        if len(scope.exported) >= MAX_EXPORTED:
            limit, limit_zh = f"more than {MAX_EXPORTED} exported variables", f"导出的变量超过 {MAX_EXPORTED} 个"
            self.cut(node, limit, limit_zh, "those from here on are not checked", "从这里起的变量没有检查")
        else:
            scope.exported[name] = True

    def on_list(self, node: Any, scope: Scope) -> None:
        """Follow ``a && b`` and ``a || b``: what depends on a test, or on a failure, may or may not happen."""
        named = [child for child in node.children if child.is_named]
        if len(named) != 2:
            self._children(node, scope)
            return
        left, right = named
        self.statement(left, scope)
        if any(child.type == "||" for child in node.children) or self._is_test(left):
            self._branches(right, scope, [[right]])
        else:
            self.statement(right, scope)

    def _is_test(self, node: Any) -> bool:
        if node.type == "list":
            return any(self._is_test(child) for child in node.children if child.is_named)
        return node.type == "test_command" or self.words.raw(node).startswith(("test ", "! "))

    def on_postfix_expression(self, node: Any, scope: Scope) -> None:
        self._forget(self.words.raw(node), scope, node)

    on_unary_expression = on_binary_expression = on_assignment_expression = on_postfix_expression

    def _forget(self, text: str, scope: Scope, node: Any) -> None:
        """Let the variables that an arithmetic expression changes be unknown behind it."""
        for name in _CHANGED.findall(text):
            scope.variables[name[0] or name[1]] = self._hole(node)

    def _assigned(self, node: Any, scope: Scope) -> tuple[str, Text | list[Text] | None]:
        target = node.children[0] if node.children else None
        if target is None or target.type != "variable_name":
            return "", None
        name = self.words.raw(target)
        written = self.base.part(*self.words.span(target))
        scope.names[name] = written.quoted("word", written.spots[0])
        append = any(child.type == "+=" for child in node.children)
        right = node.children[-1] if node.children[-1].type not in ("=", "+=", "variable_name") else None
        old = scope.variables.get(name)
        if right is not None and right.type == "array":
            items = [w for child in right.children if child.is_named for w in self.words.expand(child, scope)]
            items = [*old, *items] if append and isinstance(old, list) else items
            if len(items) > MAX_ITEMS:
                self.words.too_many(node)
            return name, items[:MAX_ITEMS]
        end = self.words.span(node)[1]
        value = self.words.single(right, scope) if right is not None else self.words.spread("", end, end)
        if append and isinstance(old, Text) and self.words.affords(len(old.value)):
            return name, concat([old, value], self.source, end)
        return name, value

    def on_declaration_command(self, node: Any, scope: Scope) -> None:
        exports = any(child.type == "export" for child in node.children)
        flags = [self.words.raw(child) for child in node.children if child.type == "word"]
        exports = exports or scope.export_all or any(flag.startswith("-") and "x" in flag for flag in flags)
        local = bool(self.calls) and any(child.type in ("local", "declare", "typeset") for child in node.children)
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = self._assigned(child, scope)
                if local:
                    self.calls[-1].hidden.setdefault(name, scope.variables.get(name))
                if name and value is not None:
                    scope.variables[name] = value
            elif child.type == "variable_name":
                name = self.words.raw(child)
            elif exports and _HYPHENS.match(self.words.raw(child)):  # refused by the shell: nothing gets it
                word = self.words.single(child, scope)
                name = word.value.partition("=")[0]
                scope.variables[name] = word.part(len(name) + 1, len(word.value))
                scope.names[name] = word.part(0, len(name))
            else:
                continue
            if exports and name:
                self._export(name, child, scope)

    def on_unset_command(self, node: Any, scope: Scope) -> None:
        for child in node.children:
            if child.type == "variable_name":
                scope.variables.drop(self.words.raw(child))

    def on_function_definition(self, node: Any, scope: Scope) -> None:
        name = next((self.words.raw(child) for child in node.children if child.type == "word"), "")
        scope.functions[name] = node.children[-1]
        self.weights.define(name, *self.words.span(node.children[-1]))

    def on_for_statement(self, node: Any, scope: Scope) -> None:
        name = next((self.words.raw(child) for child in node.children if child.type == "variable_name"), "")
        body = next((child for child in node.children if child.type == "do_group"), None)
        if body is None:
            return
        cuts = len(self.words.cuts)
        values = self._values(node, scope) or [self._hole(node)]
        loop = _Loop(body, self.matters(body), scope.variables.mark())
        for value in values:
            if not self._goes_on(loop):
                break
            scope.variables[name] = value
            if not self._round(loop, name, scope):
                break
        if not loop.matters or loop.settled:
            del self.words.cuts[cuts:]
            scope.variables[name] = values[-1]
        self._keep(loop, node, scope)

    def _values(self, node: Any, scope: Scope) -> list[Text]:
        """Return what a loop goes over, as far as that is known."""
        values: list[Text] = []
        seen_in = False
        for child in node.children:
            if child.type == "in":
                seen_in = True
            elif seen_in and child.type not in (";", "do_group", "\n"):
                values += self.words.choices(child)[0] or self.words.expand(child, scope)
        return values

    def _goes_on(self, loop: _Loop) -> bool:
        """Whether a loop is followed once more."""
        again = loop.body.id in self.bodies
        self.bodies.add(loop.body.id)
        if again and not loop.matters:
            return self.effort.repeats <= _PLAIN_STEPS
        if again and self.spent:
            self.cut_repeats(loop.body)
        return not self.full and not (again and self.spent)

    def _round(self, loop: _Loop, name: str, scope: Scope) -> bool:
        """Follow a loop once; return whether another round can bring anything."""
        mark, started = scope.variables.mark(), len(self.started)
        self._children(loop.body, scope)
        changed = scope.variables.keep(mark) - {name}
        unknown = all(_is_unknown(scope.variables.get(one)) for one in changed)
        loop.settled = unknown and started == len(self.started)
        return not loop.settled or self.effort.repeats <= _PLAIN_STEPS

    def _keep(self, loop: _Loop, node: Any, scope: Scope) -> None:
        """Keep what a loop left; of one that was not followed to its end, that is not known."""
        changed = scope.variables.keep(loop.mark)
        if self.spent:
            self._unknown(changed, node, scope)

    def _unknown(self, names: Iterable[str], node: Any, scope: Scope) -> None:
        for name in names:
            scope.variables[name] = self._hole(node)

    def on_c_style_for_statement(self, node: Any, scope: Scope) -> None:
        body = next((child for child in node.children if child.type == "do_group"), None)
        parts = [child for child in node.children if child.is_named and child.type != "do_group"]
        if body is None:
            return
        if len(parts) != 3 or parts[0].type != "variable_assignment":
            self._children(body, scope)
            return
        self.on_variable_assignment(parts[0], scope)
        name = self.words.raw(parts[0].children[0])
        loop = _Loop(body, self.matters(body), scope.variables.mark())
        self._rounds(parts[1], parts[2], loop, name, scope)
        self._keep(loop, node, scope)

    def _rounds(self, condition: Any, step: Any, loop: _Loop, name: str, scope: Scope) -> None:
        """Follow a counting loop as long as its condition is known and holds."""
        for _ in range(MAX_ITEMS):
            goes_on = self.words.arithmetic(condition, scope)
            if goes_on == 0:
                return
            if goes_on is None:
                scope.variables[name] = self._hole(condition)
                self._children(loop.body, scope)
                return
            if not self._goes_on(loop) or not self._round(loop, name, scope):
                break
            if not self._step(step, name, scope):
                return
        else:
            limit, limit_zh = f"more than {MAX_ITEMS} rounds of a loop", f"循环超过 {MAX_ITEMS} 轮"
            if loop.matters and not loop.settled:
                self.cut(loop.body, limit, limit_zh, "its further rounds are not followed", "其余各轮没有跟踪")
        scope.variables[name] = self._hole(condition)

    def _step(self, node: Any, name: str, scope: Scope) -> bool:
        text = self.words.raw(node).replace(" ", "")
        value = scope.variables.get(name)
        number = whole(value.value) if isinstance(value, Text) else None
        steps = {f"{name}++": 1, f"++{name}": 1, f"{name}--": -1}
        amount = steps.get(text)
        if amount is None and text.startswith(f"{name}+=") and text[len(name) + 2 :].isdecimal():
            amount = int(text[len(name) + 2 :][:9])
        if number is None or amount is None:
            return False
        start, end = self.words.span(node)
        after = str(number + amount)
        scope.variables[name] = self.words.spread(after, start, end)
        return True

    def on_while_statement(self, node: Any, scope: Scope) -> None:
        mark = scope.variables.mark()
        self._children(node, scope)
        self._unknown(scope.variables.keep(mark), node, scope)

    def on_if_statement(self, node: Any, scope: Scope) -> None:
        self._branches(node, scope)

    on_case_statement = on_if_statement

    def _branches(self, node: Any, scope: Scope, groups: list[list[Any]] | None = None) -> None:
        """Follow every branch from the same start; a variable that they leave different is unknown behind them."""
        ends = []
        groups = groups or self._groups(node)
        outer = self.inside
        for number, group in enumerate(groups):
            mark = scope.variables.mark()
            self.inside = (*outer, (self.base.spots[self.words.span(node)[0]], number))
            for child in group:
                self.statement(child, scope)
            ends.append(scope.variables.back(mark))
        self.inside = outer
        if not self._takes_all(node):
            ends.append({})
        self._meet(ends, node, scope)

    def _meet(self, ends: Sequence[Mapping[str, Value | None]], node: Any, scope: Scope) -> None:
        """Let a variable that branches leave different be unknown. Each end holds what one branch changed."""
        for name in {name: None for end in ends for name in end}:
            before = scope.variables.get(name)
            values = [end.get(name, before) for end in ends]
            first = values[0]
            same = all(_same(value, first) for value in values)
            scope.variables[name] = first if same and first is not None else self._merged(values, node)

    def _takes_all(self, node: Any) -> bool:
        """Whether one of a condition's branches is taken in any case."""
        return any(child.type == "else_clause" or self._is_rest(child) for child in node.children)

    def _is_rest(self, node: Any) -> bool:
        """Whether this is the branch ``*)`` of a ``case``, which takes whatever the others leave."""
        return node.type == "case_item" and any(self.words.raw(child) == "*" for child in node.children[:1])

    def _merged(self, values: list[Text | list[Text] | None], node: Any) -> Text | list[Text]:
        """What branches leave of a variable: where they only add to it, the common beginning and an unknown rest."""
        rest = self._hole(node)
        if all(isinstance(value, list) for value in values):
            lists = [value for value in values if isinstance(value, list)]
            shared = min(lists, key=len)
            if shared and all(_same_words(value[: len(shared)], shared) for value in lists):
                return [*shared, rest]
        elif all(isinstance(value, Text) for value in values):
            texts = [value for value in values if isinstance(value, Text)]
            shortest = min(texts, key=lambda text: len(text.value))
            head = shortest.value.rstrip()
            longer = [text.value[len(head) :] for text in texts if len(text.value) > len(head)]
            adds = all(t.value.startswith(head) for t in texts) and all(more[0] in " \t\n" for more in longer)
            if head and longer and adds:
                start, end = self.words.span(node)
                return concat(
                    [shortest.part(0, len(head)), self.words.spread(f" {HOLE}", start, end)], self.source, end
                )
        return rest

    def _hole(self, node: Any) -> Text:
        start, end = self.words.span(node)
        return self.words.spread(HOLE, start, end)

    def on_redirected_statement(self, node: Any, scope: Scope) -> None:
        before = len(self.script.commands)
        for child in node.children:
            if child.is_named and child.type not in _NO_FLOW:
                self.statement(child, scope)
        body = self._heredoc(node, scope)
        self._read_into(self.script.commands[before:], node, scope)
        target = ""
        behind = [part for child in node.children if child.type == "heredoc_redirect" for part in child.children]
        for child in [*node.children, *behind]:
            if child.type == "file_redirect":
                first = next((part for part in child.children if part.type in _WORDS), None)
                words = self.words.expand(first, scope) if first is not None else []
                target = words[0].value if words else ""
        self._behind_redirections(node, self.script.commands[before:], scope)
        for command in self.script.commands[before:]:
            command.body = command.body or body
            command.target = command.target or target

    def _behind_redirections(self, node: Any, commands: list[Command], scope: Scope) -> None:
        """Give a command the words that stand behind its redirections, which the parser takes for part of these."""
        if len(commands) != 1 or not any(child.type == "command" for child in node.children):
            return
        for redirection in _redirections(node):
            known = itertools.takewhile(lambda part: part.type != "ERROR", redirection.children)
            parts = [part for part in known if part.type in _WORDS]
            for part in parts[1:] if redirection.type == "file_redirect" else parts:  # the first is where to
                commands[0].words += self.words.expand(part, scope)

    def _read_into(self, commands: list[Command], node: Any, scope: Scope) -> None:
        """Follow ``read -r -d '' NAME <<EOF``: the variable holds the whole here-document."""
        words = [word.value for word in commands[0].words] if len(commands) == 1 else []
        redirect = next((child for child in node.children if child.type == "heredoc_redirect"), None)
        if words[:1] == ["read"] and "-d" in words and words[-1].isidentifier() and redirect is not None:
            text = self.words.heredoc(redirect, scope)
            if text is not None:
                scope.variables[words[-1]] = text

    def _heredoc(self, node: Any, scope: Scope) -> Text | None:
        for child in node.children:
            if child.type == "heredoc_redirect":
                text = self.words.heredoc(child, scope)
                bodies = [part for part in child.children if part.type == "heredoc_body"]
                return self.base.part(*self.words.span(bodies[0])) if text is None and bodies else text
        return None

    def on_command(self, node: Any, scope: Scope) -> None:
        words: list[Text] = []
        inline: dict[str, tuple[Text, str]] = {}
        cuts = len(self.words.cuts)
        for child in node.children:
            if child.type == "variable_assignment" and not words:
                name, value = self._assigned(child, scope)
                if name and isinstance(value, Text):
                    inline[name] = (value, "inline")
            elif child.is_named and child.type not in _NO_FLOW:
                words += self.words.expand(child, scope)
        if not words:
            return
        if words[0].value in scope.functions:
            outer, self.background = self.background, self.background or _in_background(node)
            self._call(words, scope, node)
            self.background = outer
            return
        self._builtin(words, scope, node, inline)
        start, end = self.words.span(node)
        command = Command(words, _NOTHING, self.base.origin(start, end))
        if words[0].value in _STOPS or (words[0].value == "xargs" and any(w.value in _STOPS for w in words[1:])):
            self.stage += 1
        command.branches = self._branches_now()
        torn_off = words[0].value.startswith(("-", "{"))
        if torn_off or any(word_matters(word.value) for word in words) or "<" in self._behind(node):
            self._count(command, node)
            command.env = scope.environments.of(scope.variables, scope.exported, scope.names).with_inline(
                inline, scope.names
            )
            command.foreground = not self.background and not _in_background(node)
        else:
            del self.words.cuts[cuts:]
        if not self.full:
            self.script.commands.append(command)

    def _count(self, command: Command, node: Any) -> None:
        """Count a command that can matter."""
        self.counted += 1
        self.started.add(tuple(word.value for word in command.words))
        if self.full:
            self.cut(node, f"more than {MAX_COMMANDS} commands", f"超过 {MAX_COMMANDS} 条命令")

    def _behind(self, node: Any) -> str:
        """Return what stands between a command and the end of its line: a here-document may be a script."""
        end = self.words.span(node)[1]
        stop = self.base.value.find("\n", end)
        return self.base.value[end : min(end + 200, len(self.base.value) if stop < 0 else stop)]

    def _builtin(self, words: list[Text], scope: Scope, node: Any, inline: Mapping[str, tuple[Text, str]]) -> None:
        """Follow what the shell's own commands do to variables."""
        name, *rest = [word.value for word in words]
        if name == "set":
            for sign, on in (("-", True), ("+", False)):
                if f"{sign}o allexport" in " ".join(rest) or any(re.fullmatch(rf"\{sign}[b-z]*a\w*", w) for w in rest):
                    scope.export_all = on
        elif name in _READS or (name == "printf" and rest[:1] == ["-v"]):
            for word in rest[1:2] if name == "printf" else rest:
                if word.isidentifier():
                    scope.variables[word] = self._hole(node)
            array = self._read_array(words, scope, node, inline)
            if array is not None:
                scope.variables[rest[-1]] = array
        elif name == "shift":
            _shift(scope, int(rest[0][:9]) if rest and rest[0].isdecimal() else 1)
        elif name == "let":
            self._forget(" ".join(rest), scope, node)

    def _read_array(
        self, words: list[Text], scope: Scope, node: Any, inline: Mapping[str, tuple[Text, str]]
    ) -> list[Text] | None:
        """Return the words that ``IFS=, read -ra NAME <<< "$LIST"`` takes apart, or None where they are not known."""
        name, *rest = [word.value for word in words]
        given = next((child for child in node.children if child.type == "herestring_redirect"), None)
        options = "".join(word[1:] for word in rest[:-1] if word.startswith("-"))
        known = name == "read" and set(options) in ({"a"}, {"a", "r"}) and rest[-1].isidentifier()
        if given is None or not known or sum(not word.startswith("-") for word in rest) != 1:
            return None
        text = self.words.single(given.children[-1], scope)
        between = inline["IFS"][0].value if "IFS" in inline else " "
        if HOLE in text.value or len(between) != 1 or "\n" in text.value:
            return None
        pattern = r"\S+" if between.isspace() else f"[^{re.escape(between)}]+"
        return [text.part(*found.span()) for found in re.finditer(pattern, text.value)]

    def _branches_now(self) -> tuple[tuple[int, int], ...]:
        """What was started before a ``kill`` or ``wait`` no longer runs behind it, as if in another branch."""
        return (*self.inside, (_STAGE, self.stage)) if self.stage else self.inside

    def _call(self, words: list[Text], scope: Scope, node: Any) -> None:
        """Follow a function. One that calls itself is followed again only if it started something new."""
        body = scope.functions[words[0].value]
        if self.effort.repeats > _PLAIN_STEPS and not self.matters(body):
            return
        earlier = next((call for call in reversed(self.calls) if call.body == body.id), None)
        if earlier is not None and len(self.started) == earlier.started:
            self._unknown(scope.variables.changed(earlier.mark), node, scope)
            return
        if self.spent and body.id in self.seen:
            self.cut_repeats(node)
            return
        if len(self.calls) >= MAX_CALLS:
            limit, limit_zh = (
                f"functions that call each other more than {MAX_CALLS} deep",
                f"函数调用超过 {MAX_CALLS} 层",
            )
            self.cut(node, limit, limit_zh, *_INSIDE)
            return
        positional = scope.positional
        scope.positional = dict(enumerate(words))
        call = _Called(body.id, len(self.started), scope.variables.mark())
        self.calls.append(call)
        self.statement(body, scope)
        self.calls.pop()
        scope.variables.keep(call.mark)
        for name, value in call.hidden.items():
            scope.variables.put(name, value)
        scope.positional = positional


def _in_background(node: Any) -> bool:
    """Whether a command, or a group that it stands in, is followed by ``&``."""
    while node is not None and node.type != "function_definition":
        if node.next_sibling is not None and node.next_sibling.type == "&":
            return True
        node = node.parent
    return False


def _shift(scope: Scope, count: int) -> None:
    """Let the positional parameters move to the left."""
    moved = {number - count: value for number, value in scope.positional.items() if number > count}
    own = scope.positional.get(0)
    scope.positional = moved if own is None else {0: own, **moved}


def _is_unknown(value: Value | None) -> bool:
    """Whether a value has an unknown part, or there is none."""
    if isinstance(value, Text):
        return HOLE in value.value
    return value is None or any(HOLE in word.value for word in value)


def _same_words(left: list[Text], right: list[Text]) -> bool:
    return all(one is other or _same(one, other) for one, other in zip(left, right, strict=True))


def _same(left: Text | list[Text] | None, right: Text | list[Text] | None) -> bool:
    if isinstance(left, Text) and isinstance(right, Text):
        return left.value == right.value and HOLE not in left.value
    return left is right
