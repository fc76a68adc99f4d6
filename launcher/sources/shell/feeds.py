"""What commands of a shell script are given to read, and what runs inside of words: pipes, ``<<<``, ``$(…)``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pd_launch.launcher.sources.shell.commands import Commands
from pd_launch.launcher.sources.shell.model import NO_FLOW, Command
from pd_launch.launcher.sources.shell.parser import masked, parser_of_scripts
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.launcher.sources.shell.unknown_words import may_make_engine
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Text

_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_PARTS = frozenset(
    {"command_name", "word", "string", "concatenation", "array", "subscript", "expansion", "simple_expansion"}
    | {"arithmetic_expansion", "file_redirect", "herestring_redirect", "heredoc_redirect", "heredoc_body"}
    | {"unary_expression", "binary_expression", "parenthesized_expression", "ternary_expression", "translated_string"}
    | {"variable_assignments", "postfix_expression", "ERROR"}
)
"""What is part of a statement and no statement itself."""
_ASSIGNS = ("command", "declaration_command", "variable_assignments")
_PIPED = ("pipeline", "list")
_SPEAKERS = ("echo", "printf")
_HANDS_ON = lazy_pattern(r"cat|(?:sudo\s+)?tee(?:\s+(?:-a\s+)?[\w./$-]{1,200})?")
"""Commands that print what they read."""
_SHOWS = lazy_pattern(r"(?:sudo\s+)?(?:cat|tee|:|grep|less)(?![\w-])")
"""Programs that do nothing with a here-document but to show it, or to write it to a file."""
_UNCALLED = -2


class Feeds(Commands):
    """Follows what commands are given, and what runs beside them."""

    def statement(self, node: Any, scope: Scope) -> None:
        """Follow one statement, and what is started inside of its own words."""
        super().statement(node, scope)
        if self.engines.within(*self.words.span(node)) and not _is_part_of_part(node):
            for inner in self._substitutions(node):
                self._aside(inner, scope)

    def _substitutions(self, node: Any) -> Iterator[Any]:
        """Iterate over the substitutions in a statement's own words that an engine is in."""
        waiting = list(node.children)
        assigns = node.type in _ASSIGNS
        while waiting:
            child = waiting.pop()
            if not self.engines.within(*self.words.span(child)):
                continue
            if child.type in _SUBSTITUTIONS:
                yield child
            elif child.type == "word" and "`" in self.words.raw(child):  # ${X:-`…`}: the parser sees a word
                self.cut(child, Msg("the script cannot be read here", "脚本从这里起无法读取"))
            elif child.type in _PARTS or (assigns and child.type == "variable_assignment"):
                waiting += child.children

    def _aside(self, node: Any, scope: Scope) -> None:
        """Follow a substitution: what it starts is none of the commands that the words around it belong to."""
        outer, self.script.commands = self.script.commands, []
        self.on_subshell(node, scope)
        self.asides += self.script.commands
        self.script.commands = outer

    def on_pipeline(self, node: Any, scope: Scope) -> None:
        """Follow a pipeline; what a command prints as it is known is what the next one reads."""
        self._pipe([child for child in node.children if child.is_named], None, scope)

    def _pipe(self, stages: list[Any], before: Any, scope: Scope) -> None:
        start = self.words.span(stages[0] if before is None else before)[0]
        text = None
        for stage in stages:
            mark = len(self.script.commands)
            self._stage(stage, scope)
            if before is not None:
                text = text if _HANDS_ON.fullmatch(self.words.raw(before)) else self._printed(before, scope)
                self._feed(self.script.commands[mark:], text, start, self.words.span(before)[1])
            before = stage

    def _stage(self, stage: Any, scope: Scope) -> None:
        """Follow one stage of a pipeline, which is a shell of its own: what it sets ends with it."""
        variables, exported = scope.variables.mark(), scope.exported.mark()
        self.statement(stage, scope)
        scope.variables.back(variables)
        scope.exported.back(exported)

    def _feed(self, commands: list[Command], text: Text | None, start: int, end: int) -> None:
        """Give a command what the stages before it, at ``[start, end)``, print."""
        if len(commands) != 1:
            self._hold(start, end)
        elif text is not None:
            commands[0].body = commands[0].body or text
        elif self.engines.within(start, end) or may_make_engine(self.base.value[start:end]):
            commands[0].unread = self.base.part(start, end)

    def _printed(self, node: Any, scope: Scope) -> Text | None:
        """Return what a stage of a pipeline prints, or hands on of what it was given."""
        if node.type == "redirected_statement":
            redirect = next((child for child in node.children if child.type == "heredoc_redirect"), None)
            if redirect is not None and self.words.raw(node.children[0]) == "cat":
                return self.words.heredoc(redirect, scope, filtered=True)
        return self.words.printed(node, scope)

    def on_redirected_statement(self, node: Any, scope: Scope) -> None:
        """Follow a statement, and the pipe that the parser puts into its here-document."""
        before = len(self.script.commands)
        super().on_redirected_statement(node, scope)
        self._from_substitution(node, self.script.commands[before:], scope)
        self._from_string(node, self.script.commands[before:], scope)
        for redirect in (child for child in node.children if child.type == "heredoc_redirect"):
            if not _SHOWS.match(self.words.raw(node.children[0])):
                self._hold(*self.words.span(redirect))
            for part in (child for child in redirect.children if child.type in _PIPED):
                self._pipe(_stages(part), node, scope)
            self._after_document(redirect, scope)

    def _from_string(self, node: Any, commands: list[Command], scope: Scope) -> None:
        """Give a command what is written after ``<<<`` and another redirection, or hold back what a loop reads."""
        for child in node.children:
            if child.type == "herestring_redirect":  # of a whole loop or group
                self._hold(*self.words.span(child))
        for error, redirect in pairwise(node.children):  # the parser knows ``cmd <<< X >f``, not ``cmd >f <<< X``
            if error.type != "ERROR" or self.words.raw(error) != "<<" or redirect.start_byte != error.end_byte:
                continue
            if len(commands) == 1 and commands[0].body is None:
                commands[0].body = self.words.single(redirect.children[-1], scope)
            else:
                self._hold(*self.words.span(redirect))

    def _from_substitution(self, node: Any, commands: list[Command], scope: Scope) -> None:
        """Give a command what it reads of ``< <(…)``."""
        for child in node.children:
            if child.type != "file_redirect" or not any(part.type == "<" for part in child.children):
                continue
            for part in (part for part in child.children if part.type == "process_substitution"):
                place = self._engine_of(part, scope)
                if place is not None and len(commands) == 1 and commands[0].body is None:
                    self._file(commands[0], part, place, scope)

    def _after_document(self, redirect: Any, scope: Scope) -> None:
        """Follow what follows a here-document on its line: ``cat <<E >f && bash f``, ``cat <<E >f; bash f``."""
        joined = False
        for child in redirect.children:
            if joined and child.is_named and child.type not in (*NO_FLOW, *_PIPED, "heredoc_end"):
                self._branches(child, scope, [[child]])
            joined = child.type in ("&&", "||")
            lost = next((part for part in child.children if part.type == "ERROR"), None)
            if child.type == "file_redirect" and lost is not None and self.words.raw(lost).lstrip()[:1] == ";":
                self._rest_of_line(self.words.span(lost)[0], scope)

    def _rest_of_line(self, start: int, scope: Scope) -> None:
        """Follow the commands after a semicolon that the parser takes for a part of a redirection."""
        value = self.base.value
        start = value.index(";", start) + 1
        end = value.find("\n", start)
        rest = self.base.part(start, len(value) if end < 0 else end)
        inner = type(self)(rest, self.script, self.effort)
        tree = parser_of_scripts().parse(masked(rest.value).encode("utf-8", "surrogatepass"))
        inner.inside, inner.calls = self.inside, self.calls
        inner.statement(tree.root_node, scope)
        self.script.faults += inner.words.cuts

    def on_command(self, node: Any, scope: Scope) -> None:
        """Collect a simple command, with what it is given and what it prints."""
        mark = len(self.script.commands)
        super().on_command(node, scope)
        added = self.script.commands[mark:]
        if len(added) != 1 or added[0].body is not None:
            return
        command = added[0]
        for child in node.children:
            if child.type == "herestring_redirect":
                command.body = self.words.single(child.children[-1], scope)
            elif child.type == "process_substitution" and (place := self._engine_of(child, scope)) is not None:
                self._file(command, child, place, scope)
        if command.words[0].value in _SPEAKERS and self.engines.within(*self.words.span(node)):
            command.prints = self.words.printed(node, scope)

    def _engine_of(self, substitution: Any, scope: Scope) -> Any:
        """Return what speaks of an engine in ``<(…)``: itself, or a function that it calls; None if nothing does."""
        inner = [child for child in substitution.children if child.is_named]
        name = self.words.raw(inner[0].children[0]) if len(inner) == 1 and inner[0].type == "command" else ""
        places = [substitution, *([scope.functions[name]] if name in scope.functions else [])]
        if may_make_engine(self.words.raw(substitution)):
            return substitution
        return next((place for place in places if self.engines.within(*self.words.span(place))), None)

    def _file(self, command: Command, substitution: Any, place: Any, scope: Scope) -> None:
        """Give a command what ``<(…)`` prints, which it reads as a file."""
        inner = [child for child in substitution.children if child.is_named]
        text = self._printed(inner[0], scope) if len(inner) == 1 else None
        if text is not None:
            command.body, command.alone = text, True
        else:
            command.unread = self.base.part(*self.words.span(place))

    def follow_uncalled(self, scope: Scope) -> None:
        """Follow functions that start engines and that nothing calls by name: ``"start_$1"``, ``trap f EXIT``.

        Only one of them, or none, runs beside the rest.
        """
        own = [body for name, body in scope.functions.items() if scope.owners.get(name, self) is self]
        bodies = [body for body in own if self.engines.within(*self.words.span(body))]
        waiting = [body for body in bodies if body.id not in self.seen]
        if not waiting:
            return
        for command in self.script.commands:
            command.branches = (*command.branches, (_UNCALLED, 0))
        for number, body in enumerate(waiting, 1):
            if body.id not in self.seen:  # another one may have called it
                self.inside, self.calls = ((_UNCALLED, number),), []
                self.statement(body, scope)


def _is_part_of_part(node: Any) -> bool:
    """Whether a statement is a part of a part of another one, which looked for substitutions in all of its parts."""
    return node.type in _PARTS and node.parent is not None and node.parent.type in _PARTS


def _stages(node: Any) -> list[Any]:
    """Return the commands of a pipeline, those of pipelines in it included."""
    if node.type != "pipeline":
        return [node]
    return [stage for child in node.children if child.is_named for stage in _stages(child)]
