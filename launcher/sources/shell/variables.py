"""What statements of a shell script do to its variables: assignments, declarations, the shell's own commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pd_launch.launcher.sources.shell.arrays import Keyed
from pd_launch.launcher.sources.shell.flow import Flow
from pd_launch.launcher.sources.shell.model import MAX_EXPORTED
from pd_launch.launcher.sources.shell.state import MAX_ITEMS, Scope
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Text

_CHANGED = lazy_pattern(r"(?<!\w)([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)")
LINES = ("mapfile", "readarray")
_READS = ("read", *LINES, "getopts")
_SOURCES = ("source", ".")
_SETS_NO_MORE = lazy_pattern(r"set_?env(?:_vars)?\.sh\Z|(?:^|/)(?:activate|conda\.sh)\Z")
"""Files of CANN and of Python's environments: none sets what the engine's rules look for."""
_FROM_ELSEWHERE = ("command_substitution", "expansion", "simple_expansion", "string", "concatenation")
"""What ``export`` may be given instead of names: ``export $(cat .env)``."""
_HYPHENS = lazy_pattern(r"[A-Za-z_]\w*-[\w-]*=")


def shift(scope: Scope, count: int) -> None:
    """Let the positional parameters move to the left."""
    moved = {number - count: value for number, value in scope.positional.items() if number > count}
    own = scope.positional.get(0)
    scope.positional = moved if own is None else {0: own, **moved}


class Variables(Flow):
    """Follows what changes variables."""

    def on_variable_assignment(self, node: Any, scope: Scope) -> None:
        """Set a variable."""
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
            limit = Msg(f"more than {MAX_EXPORTED} exported variables", f"导出的变量超过 {MAX_EXPORTED} 个")
            self.cut(node, limit, Msg("those from here on are not checked", "从这里起的变量没有检查"))
        else:
            scope.exported[name] = True

    def on_postfix_expression(self, node: Any, scope: Scope) -> None:
        """Set what arithmetic changes."""
        self._calculate(self.words.raw(node), scope, node)

    on_unary_expression = on_binary_expression = on_assignment_expression = on_postfix_expression

    def _calculate(self, text: str, scope: Scope, node: Any) -> None:
        """Let the variables that an arithmetic expression changes be what it makes of them, unknown where it is not."""
        names = {name[0] or name[1] for name in _CHANGED.findall(text)}
        start, end = self.words.span(node)

        def assign(name: str, value: int | None) -> None:
            names.discard(name)
            scope.variables[name] = self.words.spread(HOLE if value is None else str(value), start, end)

        self.words.calculated(text, scope, assign)
        self._unknown(names, node, scope)

    def _assigned(self, node: Any, scope: Scope) -> tuple[str, Text | list[Text] | None]:
        target = node.children[0] if node.children else None
        if target is None or target.type != "variable_name":
            self._hold(*self.words.span(node))
            if target is not None and target.type == "subscript":
                return self._element(target, node, scope)
            return "", None
        name = scope.real(self.words.raw(target))
        written = self.base.part(*self.words.span(target))
        scope.names[name] = written.quoted("word", written.spots[0])
        append = any(child.type == "+=" for child in node.children)
        self._hold(*self.words.span(node))
        right = node.children[-1] if node.children[-1].type not in ("=", "+=", "variable_name") else None
        old = scope.variables.get(name)
        if isinstance(old, Text) and append:
            old = self.words.local(old, *self.words.span(node))
        if right is not None and right.type == "array":
            listed = [child for child in right.children if child.is_named and child.type != "comment"]
            if name in scope.keyed:
                return name, self._keyed(listed, old if append else None, node, scope)
            items = [word for child in listed for word in self.words.expand(child, scope)]
            items = [*old, *items] if append and isinstance(old, list) else items
            if len(items) > MAX_ITEMS:
                self.words.too_many(node)
            return name, items[:MAX_ITEMS]
        end = self.words.span(node)[1]
        value = self.words.single(right, scope) if right is not None else self.words.spread("", end, end)
        if name in scope.integers:
            text = f"({old.value})+({value.value})" if append and isinstance(old, Text) else value.value
            number = self.words.calculated(text, scope)
            return name, self.words.spread(HOLE if number is None else str(number), *self.words.span(node))
        if append and isinstance(old, Text) and self.words.affords(len(old.value)):
            return name, concat([old, value], self.source, end)
        return name, value

    def _keyed(self, listed: list[Any], old: Any, node: Any, scope: Scope) -> list[Text]:
        """Return what ``A=([key]=value …)`` makes of an array of keys."""
        entries = self.words.entries(listed, scope)
        before = list(zip(old.keys, old, strict=True)) if isinstance(old, Keyed) else []
        if entries is None or (old is not None and not isinstance(old, Keyed)):
            return [self._many(node)]
        if len(before) + len(entries) > MAX_ITEMS:
            self.words.too_many(node)
            return [self._many(node)]
        return Keyed([*before, *entries])

    def _entry(self, name: str, target: Any, node: Any, scope: Scope) -> list[Text]:
        """Return an array of keys with one entry set."""
        before, key = scope.variables.get(name, Keyed()), self.words.key(target, scope)
        value = self.words.single(node.children[-1], scope) if node.children[-1].type != "=" else None
        if not isinstance(before, Keyed) or key is None or any(child.type == "+=" for child in node.children):
            return [self._many(node)]
        if len(before) >= MAX_ITEMS and key not in before.keys:
            self.words.too_many(node)
            return [self._many(node)]
        end = self.words.span(node)[1]
        return before.having(key, self.words.spread("", end, end) if value is None else value)

    def _element(self, target: Any, node: Any, scope: Scope) -> tuple[str, list[Text] | Text | None]:
        """Return an array with one element set: at its end, or in the place of another; else it is not known."""
        name = scope.real(self.words.raw(target.children[0]))
        if name in scope.keyed:
            return name, self._entry(name, target, node, scope)
        before = scope.variables.get(name)
        items = [] if before is None else before if isinstance(before, list) else [before]
        index = self.words.index(target, scope)
        right = node.children[-1] if node.children[-1].type not in ("=", "+=", "subscript") else None
        plain = right is not None and right.type != "array" and not any(child.type == "+=" for child in node.children)
        sure = all(not item.value.startswith(HOLE) for item in items)
        if right is None or index is None or index > len(items) or not (plain and sure) or name in scope.integers:
            return name, self._hole(node) if before is None or isinstance(before, Text) else [self._many(node)]
        if index >= MAX_ITEMS:
            self.words.too_many(node)
            return name, [self._many(node)]
        return name, [*items[:index], self.words.single(right, scope), *items[index + 1 :]]

    def _many(self, node: Any) -> Text:
        """Return a word that stands for any number of them."""
        start, end = self.words.span(node)
        return self.words.spread(HOLE * 2, start, end)

    def on_declaration_command(self, node: Any, scope: Scope) -> None:
        """Follow ``export``, ``local``, ``declare`` and ``readonly``."""
        exports = any(child.type == "export" for child in node.children)
        flags = [self.words.raw(child) for child in node.children if child.type == "word"]
        exports = exports or scope.export_all or any(flag.startswith("-") and "x" in flag for flag in flags)
        local = bool(self.calls) and any(child.type in ("local", "declare", "typeset") for child in node.children)
        if any(flag.startswith("-") and "i" in flag for flag in flags):
            named = [child.children[0] if child.type == "variable_assignment" else child for child in node.children]
            scope.integers.update(self.words.raw(child) for child in named if child.type == "variable_name")
        letters = "".join(flag[1:] for flag in flags if re.fullmatch(r"-[a-zA-Z]{1,20}", flag))
        for child in node.children:
            if "n" in letters and child.type == "variable_assignment":
                scope.refs[self.words.raw(child.children[0])] = self._stands_for(child, scope)
                continue
            if "A" in letters:
                self._declare_keyed(child, scope)
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
                if exports and child.type in _FROM_ELSEWHERE:
                    self._opens(node, scope)
                continue
            if exports and name:
                self._export(name, child, scope)

    def _stands_for(self, node: Any, scope: Scope) -> str:
        """Return the variable that ``declare -n NAME=VARIABLE`` names, or "" where that is not known."""
        value = self.words.single(node.children[-1], scope).value if len(node.children) > 2 else ""
        return value if value.isidentifier() and value != self.words.raw(node.children[0]) else ""

    def _declare_keyed(self, node: Any, scope: Scope) -> None:
        """Take in that ``declare -A`` names an array of keys; one that is there already keeps what it has."""
        named = node.children[0] if node.type == "variable_assignment" else node
        if named.type == "variable_name":
            name = scope.real(self.words.raw(named))
            scope.keyed.add(name)
            if node.type == "variable_name" and not isinstance(scope.variables.get(name), list):
                scope.variables[name] = Keyed()

    def on_unset_command(self, node: Any, scope: Scope) -> None:
        """Forget variables that are unset."""
        for child in node.children:
            if child.type == "variable_name":
                scope.variables.drop(self.words.raw(child))

    def on_function_definition(self, node: Any, scope: Scope) -> None:
        """Take in a function."""
        name = next((self.words.raw(child) for child in node.children if child.type == "word"), "")
        scope.functions[name], scope.owners[name] = node.children[-1], self
        self.weights.define(name, *self.words.span(node.children[-1]))

    def _builtin(self, words: list[Text], scope: Scope, node: Any, inline: Mapping[str, tuple[Text, str]]) -> None:
        """Follow what the shell's own commands do to variables."""
        name, *rest = [word.value for word in words]
        read = name in _SOURCES and rest and not _SETS_NO_MORE.search(rest[0])
        if read:
            self._source(words, scope, node)
        elif name == "eval" and any(HOLE in word for word in rest):
            self._opens(node, scope)
        if name == "set":
            for sign, on in (("-", True), ("+", False)):
                if f"{sign}o allexport" in " ".join(rest) or any(re.fullmatch(rf"\{sign}[b-z]*a\w*", w) for w in rest):
                    scope.export_all = on
        elif name in _READS or (name == "printf" and rest[:1] == ["-v"]):
            for word in rest[1:2] if name == "printf" else rest:
                if word.isidentifier():
                    scope.variables[word] = self._hole(node)
            if name == "printf":
                self._hold(*self.words.span(node))
                given = self.words.formatted(words[3], words[4:]) if len(words) > 3 else None
                self._give(rest[1:2], given, scope)
            else:
                self._give(rest[-1:], self._read_words(words, scope, node, inline), scope)
        if name == "set" and "--" in rest:
            self._set_positional(words[rest.index("--") + 2 :], scope, node)
        elif name == "alias":
            for given in words[1:]:
                alias, sign, _ = given.value.partition("=")
                if sign:
                    scope.aliases[alias] = given.part(len(alias) + 1, len(given.value))
        elif name == "shift":
            shift(scope, int(rest[0][:9]) if rest and rest[0].isdecimal() else 1)
        elif name == "let":
            for expression in rest:
                self._calculate(expression, scope, node)

    def _source(self, words: list[Text], scope: Scope, node: Any) -> None:
        """Take in that a file was read (see ``sourced``)."""
        self._opens(node, scope)

    def _opens(self, node: Any, scope: Scope) -> None:
        """Take in that further variables are set here which nobody knows."""
        if scope.env_open is None:
            scope.env_open = self.base.origin(*self.words.span(node))

    def _set_positional(self, words: list[Text], scope: Scope, node: Any) -> None:
        """Follow ``set -- WORD…``."""
        if len(words) > MAX_ITEMS:
            self.words.too_many(node)
            words = []
        own = scope.positional.get(0)
        scope.positional = dict(enumerate(words, 1)) if own is None else {0: own, **dict(enumerate(words, 1))}

    def _give(self, names: list[str], value: Text | list[Text] | None, scope: Scope) -> None:
        """Set the variable that a command fills, where what it is filled with is known."""
        if value is not None and names and names[0].isidentifier():
            scope.variables[names[0]] = value

    def _read_words(
        self, words: list[Text], scope: Scope, node: Any, inline: Mapping[str, tuple[Text, str]]
    ) -> Text | list[Text] | None:
        """Return what ``read`` or ``mapfile`` is given after ``<<<``, or None where that is not known."""
        given = next((child for child in node.children if child.type == "herestring_redirect"), None)
        if given is None:
            return None
        text, said = self.words.single(given.children[-1], scope), [word.value for word in words]
        if said[0] in LINES:
            return self.lines(said, text)
        return self._read_array(said, text, scope, inline) or self._read_line(said, text)

    def lines(self, words: list[str], text: Text) -> list[Text] | None:
        """Return the lines that ``mapfile -t NAME`` makes of a text without its last newline; None: not known."""
        if len(words) != 3 or words[1] != "-t" or HOLE in text.value or text.value.count("\n") >= MAX_ITEMS:
            return None
        ends = [match.start() for match in re.finditer("\n", text.value)]
        return [text.part(*one) for one in zip([0, *(end + 1 for end in ends)], [*ends, len(text.value)], strict=True)]

    def _read_line(self, words: list[str], text: Text) -> Text | None:
        """Return the line that ``read -r NAME <<< "$LINE"`` takes, or None where it is not known."""
        name, *rest = words
        if name != "read" or rest[:-1] not in ([], ["-r"]) or not rest[-1].isidentifier():
            return None
        end = text.value.find("\n")
        return text if end < 0 else text.part(0, end)

    def _read_array(
        self, words: list[str], text: Text, scope: Scope, inline: Mapping[str, tuple[Text, str]]
    ) -> list[Text] | None:
        """Return the words that ``IFS=, read -ra NAME <<< "$LIST"`` takes apart, or None where they are not known."""
        name, *rest = words
        options = "".join(word[1:] for word in rest[:-1] if word.startswith("-"))
        known = name == "read" and set(options) in ({"a"}, {"a", "r"}) and rest[-1].isidentifier()
        if not known or sum(not word.startswith("-") for word in rest) != 1:
            return None
        own = scope.variables.get("IFS")
        between = inline["IFS"][0].value if "IFS" in inline else own.value if isinstance(own, Text) else " "
        if HOLE in text.value or len(between) != 1 or "\n" in text.value:
            return None
        pattern = r"\S+" if between.isspace() else f"[^{re.escape(between)}]+"
        return [text.part(*found.span()) for found in re.finditer(pattern, text.value)]
