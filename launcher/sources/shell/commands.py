"""Simple commands of a shell script: their words, here-documents and redirections, and calls of functions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from pd_launch.launcher.sources.shell.loops import Loops
from pd_launch.launcher.sources.shell.model import (
    INSIDE,
    MAX_CALLS,
    MAX_COMMANDS,
    NO_FLOW,
    NO_OPERATORS,
    PLAIN_STEPS,
    WORDS,
    Called,
    Command,
)
from pd_launch.launcher.sources.shell.scope import Environment
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.launcher.sources.shell.variables import LINES
from pd_launch.launcher.sources.shell.weight import word_matters
from pd_launch.launcher.sources.text.interpolate import SHELL, Words
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Text

NOTHING = Environment()
_STOPS = ("kill", "pkill", "killall", "wait")
_STAGE = -1
_WORD = lazy_pattern(r"[^ \t]+")
_PLAIN = lazy_pattern(r"[\w./:@%+,=-]{1,4000}")
"""What a shell reads as it is written."""


def _redirections(node: Any) -> Iterator[Any]:
    """Iterate over the redirections of a statement, those on the line of a here-document included."""
    for child in node.children:
        if child.type in ("file_redirect", "heredoc_redirect"):
            yield child
        if child.type == "heredoc_redirect":
            yield from _redirections(child)


def in_background(node: Any) -> bool:
    """Whether a command, or a group that it is in, is followed by ``&``."""
    while node is not None and node.type != "function_definition":
        if node.next_sibling is not None and node.next_sibling.type == "&":
            return True
        node = node.parent
    return False


def _aliased(name: Text, alias: Text, rest: Sequence[Text]) -> list[Text]:
    """Return the words of a command whose first is an alias. That is a piece of a script, and the others are read."""
    words = [alias.part(found.start(), found.end()) for found in _WORD.finditer(alias.value)]
    if words and "=" not in words[0].value and all(_PLAIN.fullmatch(word.value) for word in words):
        return [*words, *rest]
    return [name.stand_in("eval"), alias, *(_quoted(word) for word in rest)]


def _quoted(word: Text) -> Text:
    """Return a word as a shell has to read it again to get the same."""
    if _PLAIN.fullmatch(word.value):
        return word
    quote, parts, start = word.stand_in("'"), list[Text](), 0
    for at, character in enumerate(word.value):
        if character == "'":
            parts += [word.part(start, at), word.stand_in("'\\''")]
            start = at + 1
    parts.append(word.part(start, len(word.value)))
    return concat([quote, *parts, quote], word.source, word.spots[0])


_OUTPUT = (">", ">>", ">|", "&>", "&>>")
"""Operators that send standard output into a file."""


class Commands(Loops):
    """Follows simple commands: what a script starts."""

    def on_redirected_statement(self, node: Any, scope: Scope) -> None:
        """Follow a statement, and give what it starts its here-document and the file that its output goes to."""
        before = len(self.script.commands)
        for child in node.children:
            if child.is_named and child.type not in NO_FLOW:
                self.statement(child, scope)
        body = self._heredoc(node, scope)
        self._read_into(self.script.commands[before:], node, scope)
        target = ""
        behind = [part for child in node.children if child.type == "heredoc_redirect" for part in child.children]
        for child in [*node.children, *behind]:
            if child.type == "file_redirect" and self._takes_output(child):
                first = next((part for part in child.children if part.type in WORDS), None)
                words = self.words.expand(first, scope) if first is not None else []
                target = words[0].value if words else ""
        self._behind_redirections(node, self.script.commands[before:], scope)
        for command in self.script.commands[before:]:
            command.alone = command.alone or (command.body is None and node.children[0].type == "command")
            command.body = command.body or body
            command.target = command.target or target

    def _takes_output(self, redirect: Any) -> bool:
        """Whether a redirection is of standard output into a file."""
        descriptor = next((part for part in redirect.children if part.type == "file_descriptor"), None)
        goes = any(part.type in _OUTPUT for part in redirect.children)
        return goes and (descriptor is None or self.words.raw(descriptor) == "1")

    def _behind_redirections(self, node: Any, commands: list[Command], scope: Scope) -> None:
        """Give a command the words that come after its redirections, which the parser takes for part of these."""
        if len(commands) != 1 or not any(child.type == "command" for child in node.children):
            return
        for redirection in _redirections(node):
            known = itertools.takewhile(lambda part: part.type != "ERROR", redirection.children)
            parts = [part for part in known if part.type in WORDS]
            for part in parts[1:] if redirection.type == "file_redirect" else parts:  # the first is where to
                commands[0].words += self.words.expand(part, scope)

    def _read_into(self, commands: list[Command], node: Any, scope: Scope) -> None:
        """Follow ``read -r -d '' NAME <<EOF`` and ``mapfile -t NAME <<EOF``, which take in a here-document."""
        words = [word.value for word in commands[0].words] if len(commands) == 1 else []
        redirect = next((child for child in node.children if child.type == "heredoc_redirect"), None)
        if redirect is None or not words or not words[-1].isidentifier():
            return
        text = self.words.heredoc(redirect, scope)
        if text is not None and words[0] == "read" and "-d" in words:
            self._give(words[-1:], text, scope)
        elif text is not None and words[0] in LINES:
            self._give(words[-1:], self.lines(words, text.part(0, len(text.value) - 1)), scope)

    def _heredoc(self, node: Any, scope: Scope) -> Text | None:
        for child in node.children:
            if child.type == "heredoc_redirect":
                text = self.words.heredoc(child, scope)
                bodies = [part for part in child.children if part.type == "heredoc_body"]
                return self.base.part(*self.words.span(bodies[0])) if text is None and bodies else text
        return None

    def on_command(self, node: Any, scope: Scope) -> None:
        """Collect a simple command, or follow the function that it calls."""
        words: list[Text] = []
        inline: dict[str, tuple[Text, str]] = {}
        cuts = len(self.words.cuts)
        for child in node.children:
            if child.type == "variable_assignment" and not words:
                name, value = self._assigned(child, scope)
                if name and isinstance(value, Text):
                    inline[name] = (value, "inline")
            elif (child.is_named and child.type not in NO_FLOW) or child.type in NO_OPERATORS:
                words += self.words.expand(child, scope)
        if not words:
            return
        if words[0].value in scope.aliases:
            words = _aliased(words[0], scope.aliases[words[0].value], words[1:])
        if words[0].value in scope.functions:
            outer, self.background = self.background, self.background or in_background(node)
            self._call(words, scope, node)
            self.background = outer
            return
        self._builtin(words, scope, node, inline)
        start, end = self.words.span(node)
        command = Command(Words(words, SHELL), NOTHING, self.base.origin(start, end))
        if words[0].value in _STOPS or (words[0].value == "xargs" and any(w.value in _STOPS for w in words[1:])):
            self.stage += 1
        command.env_open = scope.env_open
        command.branches = self._branches_now()
        torn_off = words[0].value.startswith(("-", "{"))
        if torn_off or any(word_matters(word.value) for word in words) or "<" in self._behind(node):
            self._count(command, node)
            command.env = scope.environments.of(scope.variables, scope.exported, scope.names).with_inline(
                inline, scope.names
            )
            kept = scope.environments.kept(scope.variables, scope.exported, scope.names, self.base.value)
            command.kept = {name: written for name, written in kept.items() if name not in inline}
            command.foreground = not self.background and not in_background(node)
        elif not self.engines.within(start, end):
            del self.words.cuts[cuts:]
        if not self.full:
            self.script.commands.append(command)

    def _count(self, command: Command, node: Any) -> None:
        """Count a command that can matter."""
        self.counted += 1
        self.started.add(tuple(word.value for word in command.words))
        if self.full:
            self.cut(node, Msg(f"more than {MAX_COMMANDS} commands", f"超过 {MAX_COMMANDS} 条命令"))

    def _behind(self, node: Any) -> str:
        """Return what is between a command and the end of its line: a here-document may be a script."""
        end = self.words.span(node)[1]
        stop = self.base.value.find("\n", end)
        return self.base.value[end : min(end + 200, len(self.base.value) if stop < 0 else stop)]

    def _branches_now(self) -> tuple[tuple[int, int], ...]:
        """What was started before a ``kill`` or ``wait`` no longer runs after it, as if in another branch."""
        return (*self.inside, (_STAGE, self.stage)) if self.stage else self.inside

    def _call(self, words: list[Text], scope: Scope, node: Any) -> None:
        """Follow a function. One that calls itself is followed again only if it started something new."""
        body = scope.functions[words[0].value]
        if self.effort.repeats > PLAIN_STEPS and not self.matters(body):
            return
        earlier = next((call for call in reversed(self.calls) if call.body == body.id), None)
        if earlier is not None and len(self.started) == earlier.started:
            self._unknown(scope.variables.changed(earlier.mark), node, scope)
            return
        if self.spent and body.id in self.seen:
            self.cut_repeats(node)
            return
        if len(self.calls) >= MAX_CALLS:
            limit = Msg(f"functions that call each other more than {MAX_CALLS} deep", f"函数调用超过 {MAX_CALLS} 层")
            self.cut(node, limit, INSIDE)
            return
        positional, refs = scope.positional, scope.refs
        scope.positional, scope.refs = dict(enumerate(words)), dict(refs)
        call = Called(body.id, len(self.started), scope.variables.mark())
        self.calls.append(call)
        self.statement(body, scope)
        self.calls.pop()
        scope.variables.keep(call.mark)
        for name, value in call.hidden.items():
            scope.variables.put(name, value)
        scope.positional, scope.refs = positional, refs
