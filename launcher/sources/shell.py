"""Shell scripts as people write them: followed statement by statement, never executed.

Every simple command is collected with its expanded words and the environment it would be given. Both branches of a
condition are followed; loops over known values are unrolled, others are followed once with an unknown variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pd_launch.launcher.sources.shell_scan import scan
from pd_launch.launcher.sources.shell_words import MAX_ITEMS, MAX_SEQUENCE, Scope, Words
from pd_launch.launcher.sources.weave import concat
from pd_launch.schemas.launch import Fault
from pd_launch.schemas.values import HOLE, Origin, Text

MAX_COMMANDS = 2000
MAX_CALLS = 20
MAX_STEPS = 10_000
_CHANGED = re.compile(r"([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%&|^]?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)")
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
_NO_FLOW = ("comment", "heredoc_body", "heredoc_redirect", "file_redirect", "herestring_redirect")


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
    env: dict[str, tuple[Text, str]]
    """Name to value and how it was set: ``export`` or ``inline``."""
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
class Script:
    """What a script would run, in order, and what is wrong with its text."""

    commands: list[Command] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def read_shell(text: Text, scope: Scope | None = None) -> Script:
    """Follow a script from a scope (default: an empty one).

    Raises:
        ShellUnavailable: tree-sitter-bash is not installed.
    """
    parser = _parser()
    tree = parser.parse(_masked(text.value).encode("utf-8", "surrogatepass"))
    script = Script(faults=scan(text))
    try:
        _Runner(text, script).statement(tree.root_node, scope or Scope())
    except RecursionError:
        detail, detail_zh = "nested too deep: nothing behind this is followed", "嵌套过深:后面的内容没有检查"
        script.faults.append(Fault("shell", text.origin(0, 0), detail, detail_zh))
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
    def __init__(self, base: Text, script: Script) -> None:
        self.base = base
        self.source = base.source
        self.script = script
        self.words = Words(base)
        self.calls = 0
        self.depth = 0
        self.steps = 0
        self.locals: set[str] = set()
        self.background = False
        self.inside: tuple[tuple[int, int], ...] = ()
        self.stage = 0
        self.forked: Any = None
        """The condition for each of whose branches the rest is being followed."""

    @property
    def full(self) -> bool:
        """Whether enough was followed: a script of more does not end in reasonable time."""
        return len(self.script.commands) >= MAX_COMMANDS or self.steps > MAX_STEPS

    def statement(self, node: Any, scope: Scope) -> None:
        self.steps += 1
        if self.full or self.depth > 200:
            return
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
        text = self.words.raw(node)
        return _SIDE.search(text) is not None and _ENGINE.search(text) is None

    def _fork(self, node: Any, rest: list[Any], scope: Scope) -> None:
        """Follow what stands behind a condition once for each of its branches, with what that branch sets."""
        start, outer, ends = dict(scope.variables), self.inside, []
        self.forked = node
        for number, group in enumerate(self._groups(node)):
            scope.variables = dict(start)
            self.inside = (*outer, (self.base.spots[self.words.span(node)[0]], number))
            self._sequence(group, scope)
            if not any(_LEAVES.search(self.words.raw(part)) for part in group):
                self._sequence(rest, scope)
            ends.append(scope.variables)
        self.inside = outer
        changed = {name for end in ends for name, value in end.items() if start.get(name) is not value}
        if changed <= start.keys() and not self._takes_all(node):
            scope.variables = dict(start)
            self._sequence(rest, scope)
            ends.append(scope.variables)
        self.forked = None
        self._meet(start, ends, node, scope)

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
        inner = replace(scope, variables=dict(scope.variables), exported=set(scope.exported))
        self._children(node, inner)

    def on_variable_assignment(self, node: Any, scope: Scope) -> None:
        name, value = self._assigned(node, scope)
        if name and value is not None:
            scope.variables[name] = value
            if scope.export_all:
                scope.exported.add(name)

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
            return name, ([*old, *items] if append and isinstance(old, list) else items)[:MAX_ITEMS]
        end = self.words.span(node)[1]
        value = self.words.single(right, scope) if right is not None else self.words.spread("", end, end)
        if append and isinstance(old, Text):
            return name, concat([old, value], self.source, end)
        return name, value

    def on_declaration_command(self, node: Any, scope: Scope) -> None:
        exports = any(child.type == "export" for child in node.children)
        flags = [self.words.raw(child) for child in node.children if child.type == "word"]
        exports = exports or scope.export_all or any(flag.startswith("-") and "x" in flag for flag in flags)
        local = any(child.type in ("local", "declare", "typeset") for child in node.children)
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = self._assigned(child, scope)
                if name and value is not None:
                    scope.variables[name] = value
                if local:
                    self.locals.add(name)
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
                scope.exported.add(name)

    def on_unset_command(self, node: Any, scope: Scope) -> None:
        for child in node.children:
            if child.type == "variable_name":
                scope.variables.pop(self.words.raw(child), None)

    def on_function_definition(self, node: Any, scope: Scope) -> None:
        name = next((self.words.raw(child) for child in node.children if child.type == "word"), "")
        scope.functions[name] = node.children[-1]

    def on_for_statement(self, node: Any, scope: Scope) -> None:
        name = next((self.words.raw(child) for child in node.children if child.type == "variable_name"), "")
        body = next((child for child in node.children if child.type == "do_group"), None)
        seen_in = False
        values: list[Text] = []
        for child in node.children:
            if child.type == "in":
                seen_in = True
            elif seen_in and child.type not in (";", "do_group", "\n"):
                values += self.words.choices(child)[0] or self.words.expand(child, scope)
        if body is None:
            return
        for value in values[:MAX_SEQUENCE] or [self._hole(node)]:
            if self.full:
                return
            scope.variables[name] = value
            self._children(body, scope)

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
        for _ in range(MAX_SEQUENCE):
            if self.full:
                return
            goes_on = self.words.arithmetic(parts[1], scope)
            if goes_on is None:
                scope.variables[name] = self._hole(node)
                self._children(body, scope)
                return
            if not goes_on:
                return
            self._children(body, scope)
            if not self._step(parts[2], name, scope):
                return

    def _step(self, node: Any, name: str, scope: Scope) -> bool:
        text = self.words.raw(node).replace(" ", "")
        value = scope.variables.get(name)
        number = int(value.value) if isinstance(value, Text) and value.value.isdigit() else None
        steps = {f"{name}++": 1, f"++{name}": 1, f"{name}--": -1}
        amount = steps.get(text)
        if amount is None and text.startswith(f"{name}+=") and text[len(name) + 2 :].isdigit():
            amount = int(text[len(name) + 2 :][:9])
        if number is None or amount is None:
            return False
        start, end = self.words.span(node)
        after = str(number + amount)
        scope.variables[name] = self.words.spread(after, start, end)
        return True

    def on_while_statement(self, node: Any, scope: Scope) -> None:
        before = dict(scope.variables)
        self._children(node, scope)
        for name, value in scope.variables.items():
            if before.get(name) is not value:
                scope.variables[name] = self._hole(node)

    def on_if_statement(self, node: Any, scope: Scope) -> None:
        self._branches(node, scope)

    on_case_statement = on_if_statement

    def _branches(self, node: Any, scope: Scope, groups: list[list[Any]] | None = None) -> None:
        """Follow every branch from the same start; a variable that they leave different is unknown behind them."""
        start = dict(scope.variables)
        ends = []
        groups = groups or self._groups(node)
        outer = self.inside
        for number, group in enumerate(groups):
            scope.variables = dict(start)
            self.inside = (*outer, (self.base.spots[self.words.span(node)[0]], number))
            for child in group:
                self.statement(child, scope)
            ends.append(scope.variables)
        self.inside = outer
        if not self._takes_all(node):
            ends.append(start)
        self._meet(start, ends, node, scope)

    def _meet(self, start: dict[str, Any], ends: list[dict[str, Any]], node: Any, scope: Scope) -> None:
        """Let a variable that branches leave different be unknown."""
        scope.variables = dict(start)
        for name in {name for end in ends for name in end}:
            values = [end.get(name) for end in ends]
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
                words = [w for part in child.children if part.is_named for w in self.words.expand(part, scope)]
                target = words[-1].value if words else ""
        for command in self.script.commands[before:]:
            command.body = command.body or body
            command.target = command.target or target

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
            self._call(words, scope)
            self.background = outer
            return
        self._builtin(words, scope, node, inline)
        env: dict[str, tuple[Text, str]] = {}
        for name in scope.exported:
            value = scope.variables.get(name)
            if isinstance(value, Text):
                env[name] = (value, "export")
        start, end = self.words.span(node)
        place = self.base.origin(start, end)
        if words[0].value in _STOPS or (words[0].value == "xargs" and any(w.value in _STOPS for w in words[1:])):
            self.stage += 1
        waits = not self.background and not _in_background(node)
        branches = self._branches_now()
        env.update(inline)
        names = {name: scope.names[name] for name in env if name in scope.names}
        self.script.commands.append(Command(words, env, place, branches=branches, foreground=waits, names=names))

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
            _shift(scope, int(rest[0][:9]) if rest and rest[0].isdigit() else 1)
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

    def _call(self, words: list[Text], scope: Scope) -> None:
        if self.calls >= MAX_CALLS:
            return
        self.calls += 1
        positional, variables, outer = scope.positional, dict(scope.variables), self.locals
        scope.positional, self.locals = dict(enumerate(words)), set()
        self.statement(scope.functions[words[0].value], scope)
        for name in self.locals:
            scope.variables.pop(name, None)
            if name in variables:
                scope.variables[name] = variables[name]
        scope.positional, self.locals = positional, outer
        self.calls -= 1


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


def _same_words(left: list[Text], right: list[Text]) -> bool:
    return all(one is other or _same(one, other) for one, other in zip(left, right, strict=True))


def _same(left: Text | list[Text] | None, right: Text | list[Text] | None) -> bool:
    if isinstance(left, Text) and isinstance(right, Text):
        return left.value == right.value and HOLE not in left.value
    return left is right
