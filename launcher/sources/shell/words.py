"""Words of a shell script: quoting, variables and arrays, with the place of every character.

Nothing is executed. What only a running shell could know becomes a hole in the text: command substitution, variables
that the script does not set, files. What plain commands print inside a substitution is known, and here-documents are.
"""

from __future__ import annotations

import re
from typing import Any

from pd_launch.launcher.sources.shell.arithmetic import counted_up, printed_by
from pd_launch.launcher.sources.shell.expansions import Expansions
from pd_launch.launcher.sources.shell.pieces import Piece
from pd_launch.launcher.sources.shell.state import MAX_ITEMS, Scope
from pd_launch.launcher.sources.text.weave import Stretch, concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Text

_HEREDOC_ESCAPE = lazy_pattern(r"\\([$`\\\n])")
_CALCULATION = lazy_pattern(r"\$\(\([^()]{0,500}(?:\([^()]{0,200}\)[^()]{0,200}){0,20}\)\)")
_CALCULATES = lazy_pattern(r"(?:/\S{1,80}/)?(?:expr[ \t]|python3?[ \t]{1,9}-c[ \t]|echo[^|]{1,300}\| bc\b)")
_DIRECTIVE = lazy_pattern(r"%.?|\\.", re.DOTALL)
_POSITIONAL = lazy_pattern(r"(?<!\\)\$(\d)")
_PRINT = ("echo", "printf", "cat")
_FILES = lazy_pattern(r"[*?~[]")
_MOST_CALLS = 10
_MOST_PRINTED = 2_000
"""Functions whose output is followed, in one script."""
_SEQ = lazy_pattern(r"seq(?: (?:-s ?|--separator[= ])(?P<between>\S))? (?P<numbers>-?\d{1,9}(?: -?\d{1,9}){0,2})")
_PASTE = lazy_pattern(r"paste (?:-sd ?|-s -d ?)(?P<between>\S)(?: -)?")
"""Counting, and what puts its lines together: ``seq 0 7 | paste -sd,``."""


class Words(Expansions):
    """Expands syntax nodes of one script in a scope, with what substitutions and here-documents stand for."""

    def _substitution(self, node: Any, scope: Scope, quoted: bool) -> list[Piece]:
        """Follow ``$(seq …)``, ``$(cat <<EOF …)``, ``$(printf …)``, functions of those; the rest would have to run."""
        start, end = self.span(node)
        if _CALCULATION.fullmatch(self.raw(node)):  # in a here-document, the parser sees no arithmetic
            return [Piece(self._result(node, self._arithmetic(node, scope)), True)]
        inner = [child for child in node.children if child.is_named]
        text = self.printed(inner[0], scope) if len(inner) == 1 else None
        if text is not None:
            return [Piece(text.part(0, len(text.value.rstrip("\n"))), quoted)]
        commands = inner[0].children if inner and inner[0].type == "pipeline" else inner
        commands = [child for child in commands if child.type == "command"]
        raw = " | ".join(self.raw(command) for command in commands[:2])
        if len(commands) <= 2 and _CALCULATES.match(raw):
            words = [word for command in commands[:2] for word in [*self._words_of(command, scope), "|"]][:-1]
            return [Piece(self._result(node, printed_by(words)), quoted)]
        counts = bool(commands) and self.raw(commands[0]).startswith("seq")  # else nothing inside is expanded again
        written = [self._written(command, scope) for command in commands[: 2 if counts else 0]]
        joins = _PASTE.fullmatch(written[1]) if len(written) == 2 else None
        counted = _SEQ.fullmatch(written[0]) if written and (joins or len(commands) == 1) else None
        values = counted_up([int(number) for number in counted["numbers"].split()]) if counted else None
        if values is not None and len(values) > MAX_ITEMS:
            self.too_many(node)
        elif counted and values is not None:
            between = joins["between"] if joins else counted["between"] or " "
            return [Piece(self.spread(between.join(map(str, values)), start, end), quoted)]
        return [Piece(self.spread(HOLE, start, end), quoted)]

    def printed(self, node: Any, scope: Scope) -> Text | None:
        """Return what ``echo``, ``printf``, ``cat`` of a here-document, or a function of one of them prints."""
        if node.type == "redirected_statement":
            named = [child for child in node.children if child.is_named]
            if [child.type for child in named] == ["command", "heredoc_redirect"] and self.raw(named[0]) == "cat":
                return self.heredoc(named[1], scope)
        if node.type != "command":
            return None
        name = self.raw(node.children[0]).strip("'\"\\")
        if name not in _PRINT and name not in scope.functions:
            return None  # what its words stand for is of no use, and may be long to find out
        words = [word for part in node.children for word in self.expand(part, scope)]
        if name in scope.functions and scope.owners[name].words is not self:
            return None  # it is written in another file
        if name in scope.functions:
            return self._function(words, scope)
        if name == "printf" and len(words) > 1:
            return self.formatted(words[1], words[2:])
        if name == "echo":
            return self._said([word for word in words[1:] if word.value not in ("-n", "-e")])
        given = next((child for child in node.children if child.type == "herestring_redirect"), None)
        if name == "cat" and len(words) == 1 and given is not None:
            return self.single(given.children[-1], scope)
        return None

    def _said(self, words: list[Text]) -> Text | None:
        """Return what ``echo`` makes of its words; of several, none may be a pattern that names files."""
        if len(words) < 2:
            return words[0] if words else None
        if any(_FILES.search(word.value) for word in words):
            return None
        parts = [part for word in words for part in (word.stand_in(" "), word)]
        return concat(parts[1:], self.source, words[0].spots[0])

    def _written(self, node: Any, scope: Scope) -> str:
        return " ".join(self._words_of(node, scope))

    def _words_of(self, node: Any, scope: Scope) -> list[str]:
        return [word.value for part in node.children for word in self.expand(part, scope)]

    def _function(self, words: list[Text], scope: Scope) -> Text | None:
        """Return what a function prints that only names its parameters before it prints."""
        if self._inside > _MOST_CALLS or self.effort.printed >= _MOST_PRINTED:
            return None
        self._inside += 1
        self.effort.printed += 1
        positional, mark = scope.positional, scope.variables.mark()
        scope.positional = dict(enumerate(words))
        printed = self._last_printed(scope.functions[words[0].value], scope)
        scope.variables.back(mark)
        scope.positional = positional
        self._inside -= 1
        return printed

    def _last_printed(self, body: Any, inner: Scope) -> Text | None:
        printed: Text | None = None
        for child in (child for child in body.children if child.is_named):
            assigned = child.children if child.type == "declaration_command" else [child]
            named = [part for part in assigned if part.type == "variable_assignment"]
            if child.type == "comment" or (child.type == "declaration_command" and not named):
                continue
            if printed is not None or (not named and (printed := self.printed(child, inner)) is None):
                return None
            for part in named:
                value = part.children[-1]
                inner.variables[self.raw(part.children[0])] = (
                    self.spread("", *self.span(part)) if value.type == "=" else self.single(value, inner)
                )
        return printed

    def formatted(self, form: Text, values: list[Text]) -> Text | None:
        """Return what ``printf`` makes of its format, where that takes each value as it is and each of them once."""
        parts: list[Text] = []
        rest = list(values)
        at = 0
        for match in _DIRECTIVE.finditer(form.value):
            parts.append(form.part(at, match.start()))
            at = match.end()
            if match[0] in ("%s", "%b", "%d") and rest:
                parts.append(rest.pop(0))
            elif match[0] in ("%%", "\\n"):
                parts.append(form.part(at - 1, at).stand_in("%" if match[0] == "%%" else "\n"))
            else:
                return None
        parts.append(form.part(at, len(form.value)))
        return None if rest else concat(parts, self.source, form.spots[0])

    def heredoc(self, redirect: Any, scope: Scope, filtered: bool = False) -> Text | None:
        """Return a here-document's text, expanded unless its delimiter is quoted.

        None if a pipe comes after it, unless ``filtered``: then it is what goes into the pipe that is asked for.
        """
        parts = {child.type: child for child in redirect.children}
        stretch = Stretch("heredoc", self.base.spots[self.span(redirect)[0]])
        if not {"heredoc_start", "heredoc_end"} <= parts.keys() or ("pipeline" in parts and not filtered):
            return None
        begin, finish = self.span(parts["heredoc_start"])[1], self.span(parts["heredoc_end"])[0]
        at = self.base.value.find("\n", begin) + 1
        if not begin < at <= finish:
            return None
        if self.raw(parts["heredoc_start"])[:1] in ("'", '"', "\\"):
            return self.base.part(at, finish)
        body, found = parts.get("heredoc_body"), []
        for child in body.children if body is not None else ():
            if child.is_named and child.type != "heredoc_content":
                start, end = self._inner_span(child)
                found += self._between(at, start, scope, stretch)
                found += [piece.text for piece in self.pieces(child, scope, True)]
                at = end
        return concat([*found, *self._between(at, finish, scope, stretch)], self.source, self.base.spots[at])

    def _between(self, start: int, end: int, scope: Scope, stretch: Stretch) -> list[Text]:
        """Return what is between two expansions of a here-document; the parser does not see ``$1`` there."""
        found: list[Text] = []
        for match in _POSITIONAL.finditer(self.base.value, start, end):
            value = scope.positional.get(int(match[1]))
            found.append(self._unescape(start, match.start(), _HEREDOC_ESCAPE, stretch))
            place = match.start(), match.end()
            found.append(self.spread(HOLE, *place) if value is None else self.local(value, *place))
            start = match.end()
        return [*found, self._unescape(start, end, _HEREDOC_ESCAPE, stretch)]
