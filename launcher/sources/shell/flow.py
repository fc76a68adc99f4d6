"""Following a shell script, statement by statement: sequences, subshells, and both branches of its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pd_launch.launcher import budget
from pd_launch.launcher.sources.shell.conditions import Known, Test, asks_given, tests_of
from pd_launch.launcher.sources.shell.model import (
    INSIDE,
    MAX_COMMANDS,
    MAX_DEPTH,
    MAX_STEPS,
    NO_FLOW,
    Called,
    Command,
    Script,
    Value,
    same,
    same_words,
)
from pd_launch.launcher.sources.shell.state import Effort, Scope
from pd_launch.launcher.sources.shell.weight import Places, Weights
from pd_launch.launcher.sources.shell.words import Words
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Text

_SIDE = lazy_pattern(r"kv_role|kv_producer|kv_consumer")
ENGINE = lazy_pattern(
    r"(?:\b|(?<=\\[nrt]))vllm[\"']?(?:[ \t]|\\\n){1,80}[\"']?serve\b|entrypoints[./]openai[./]api_server"
)
_TESTS_OF_A_STEP = 8
_LEAVES = lazy_pattern(r"\b(?:exit|return|die|usage)\b")


class Flow:
    """Follows the statements of one script; each kind of statement has a method ``on_KIND``."""

    def __init__(self, base: Text, script: Script, effort: Effort) -> None:
        self.base = base
        self.source = base.source
        self.script = script
        self.words = Words(base, effort)
        self.weights = Weights(base.value)
        self.sides, self.engines = Places(_SIDE, base.value), Places(ENGINE, base.value)
        self.depth = 0
        self.seen: set[int] = set()
        self.left_out: set[int] = set()
        """Statements of branches that are not taken, as what they depend on is known."""
        self.bodies: set[int] = set()
        """Loops that were followed once."""
        self.effort = effort
        self.counted = 0
        """Commands so far that can matter."""
        self.started: set[tuple[str, ...]] = set()
        self.calls: list[Called] = []
        self.background = False
        self.inside: tuple[tuple[int, int], ...] = ()
        self.stage = 0
        self.tests: dict[int, list[Test | None]] = {}
        self.known = Known()
        """What is known of conditions by the branch that is being followed."""
        self.forked: Any = None
        """The condition for each of whose branches the rest is being followed."""
        self.place: Any = None
        """Where following is, for what ends it from far below."""
        self.cut_at: set[Msg] = set()
        self.held_at: set[int] = set()
        self.asides: list[Command] = []
        """What is started inside of words and redirections: ``$(…)``, ``<(…)``."""

    @property
    def full(self) -> bool:
        """Whether enough commands were followed: a script of more does not end in reasonable time."""
        return self.counted > MAX_COMMANDS

    @property
    def spent(self) -> bool:
        """Whether loops and functions were followed often enough; from then on each statement is followed once."""
        return self.effort.repeats >= MAX_STEPS

    def cut(self, node: Any, limit: Msg, *left: Msg) -> None:
        """Say, once for each limit, that following stopped here."""
        if limit not in self.cut_at:
            self.cut_at.add(limit)
            start = self.words.span(node)[0]
            self.script.faults.append(not_followed(self.base.origin(start, start + 1), limit, *left))

    def cut_repeats(self, node: Any) -> None:
        """Say that a loop or a function is not followed again."""
        limit = Msg(f"more than {MAX_STEPS} steps in loops and functions", f"循环和函数超过 {MAX_STEPS} 步")
        self.cut(node, limit, Msg("they are not followed again from here on", "从这里起不再重复跟踪"))

    def _hold(self, start: int, end: int) -> None:
        """Take in a value that speaks of an engine."""
        if self.engines.within(start, end) and start not in self.held_at:
            self.held_at.add(start)
            self.script.held.append(self.base.part(start, end))

    def matters(self, node: Any) -> bool:
        """Whether a part of the script can start an engine or set a variable."""
        return self.weights.matters(*self.words.span(node))

    def statement(self, node: Any, scope: Scope) -> None:
        """Follow one statement, unless a limit is met."""
        if self.full:
            return
        budget.step()
        if self.depth > MAX_DEPTH:
            if self.matters(node):
                self.cut(node, Msg(f"nested more than {MAX_DEPTH} deep", f"嵌套超过 {MAX_DEPTH} 层"), INSIDE)
            return
        if node.id in self.seen:
            self.effort.repeats += 1
        self.seen.add(node.id)
        self.place = node
        self.depth += 1
        handler = getattr(self, f"on_{node.type}", None)
        if handler is not None:
            handler(node, scope)
        elif node.type not in NO_FLOW:
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
        """Whether a condition sets what makes an engine after it one of prefill or of decode."""
        if node.type not in ("if_statement", "case_statement"):
            return False
        span = self.words.span(node)
        return self.sides.within(*span) and not self.engines.within(*span)

    def _fork(self, node: Any, rest: list[Any], scope: Scope) -> None:
        """Follow what follows a condition once for each of its branches, with what that branch sets."""
        outer, ends = self.inside, []
        self.forked = node
        tests, known = self._tests(node), self.known
        for number, group in enumerate(self._groups(node)):
            self.known = known.having(tests, number, scope.lookup)
            mark = scope.variables.mark()
            self.inside = (*outer, (self.base.spots[self.words.span(node)[0]], number))
            self._sequence(group, scope)
            if not any(_LEAVES.search(self.words.raw(part)) for part in group):
                self._again(rest, scope)
            ends.append(scope.variables.back(mark))
        self.inside = outer
        changed = {name for end in ends for name in end}
        if changed <= scope.variables.keys() and not self._takes_all(node):
            self.known = known.having(tests, len(tests), scope.lookup)
            mark = scope.variables.mark()
            self._again(rest, scope)
            ends.append(scope.variables.back(mark))
        self.forked, self.known = None, known
        self._meet(ends, node, scope)

    def _again(self, rest: list[Any], scope: Scope) -> None:
        """Follow what follows a condition, for one of its branches."""
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
        """Follow a subshell: what it sets ends with it."""
        variables, exported = scope.variables.mark(), scope.exported.mark()
        self._children(node, replace(scope))
        scope.variables.back(variables)
        scope.exported.back(exported)

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

    def on_if_statement(self, node: Any, scope: Scope) -> None:
        """Follow all branches of a condition."""
        self._branches(node, scope)

    on_case_statement = on_if_statement

    def _branches(self, node: Any, scope: Scope, groups: list[list[Any]] | None = None) -> None:
        """Follow every branch from the same start; a variable that they leave different is unknown after them."""
        ends = []
        every, sure = list(range(len(groups))) if groups else [], False
        if groups is None:
            groups = self._groups(node)
            every, sure = list(range(len(groups))), self._takes_all(node)
            if self.known or asks_given(self._tests(node), scope.lookup):
                self.effort.repeats += len(groups) // _TESTS_OF_A_STEP
                every, sure = self.known.branches(self._tests(node), scope.lookup)
                others = (group for number, group in enumerate(groups) if number not in every)
                self.left_out.update(child.id for group in others for child in group)
        outer = self.inside
        for number, group in ((number, groups[number]) for number in every):
            mark = scope.variables.mark()
            self.inside = (*outer, (self.base.spots[self.words.span(node)[0]], number))
            for child in group:
                self.statement(child, scope)
            ends.append(scope.variables.back(mark))
        self.inside = outer
        if not sure:
            ends.append({})
        self._meet(ends, node, scope)

    def _tests(self, node: Any) -> list[Test | None]:
        """Return the tests of a condition, which are read once."""
        if node.id not in self.tests:
            self.tests[node.id] = tests_of(node, self.words.raw)
        return self.tests[node.id]

    def _meet(self, ends: Sequence[Mapping[str, Value | None]], node: Any, scope: Scope) -> None:
        """Let a variable that branches leave different be unknown. Each end holds what one branch changed."""
        for name in {name: None for end in ends for name in end}:
            before = scope.variables.get(name)
            values = [end.get(name, before) for end in ends]
            first = values[0]
            alike = all(same(value, first) for value in values)
            scope.variables[name] = first if alike and first is not None else self._merged(values, node)

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
            if shared and all(same_words(value[: len(shared)], shared) for value in lists):
                return [*shared, rest]
        elif all(isinstance(value, Text) for value in values):
            texts = [self.words.local(value, *self.words.span(node)) for value in values if isinstance(value, Text)]
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

    def _unknown(self, names: Iterable[str], node: Any, scope: Scope) -> None:
        for name in names:
            scope.variables[name] = self._hole(node)
