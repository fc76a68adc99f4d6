"""Variables, arrays, quoted strings and arithmetic of a shell script: what each expands to in a scope."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pd_launch.launcher.sources.shell.arithmetic import Assign, Lookup, evaluate
from pd_launch.launcher.sources.shell.arrays import Arrays
from pd_launch.launcher.sources.shell.braces import Stretched, TooMuch, expanded, has_braces
from pd_launch.launcher.sources.shell.changed import CUTS, PUTS, as_pattern, in_case, instead, sliced, without
from pd_launch.launcher.sources.shell.pieces import BLANKS, Piece, join_pieces
from pd_launch.launcher.sources.shell.state import MAX_ITEMS, Scope
from pd_launch.launcher.sources.text.weave import MAX_TEXT, Stretch, concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Text, as_integer

_WORD_ESCAPE = lazy_pattern(r"\\(\n|.)", re.DOTALL)
_STRING_ESCAPE = lazy_pattern(r'\\([$`"\\\n])')
_SIGN = lazy_pattern(r"\\?.", re.DOTALL)
_ATOMS = frozenset(
    {"string", "raw_string", "ansi_c_string", "translated_string", "simple_expansion", "expansion", "subscript"}
    | {"arithmetic_expansion", "command_substitution", "process_substitution"}
)
"""Syntax nodes that braces leave alone."""
_Part = tuple[str, int, int, Any]
"""A character as braces see it, or "", where it is, and the syntax node that it is if any."""
_EXPANDED = ("expansion", "simple_expansion", "command_substitution", "arithmetic_expansion", "string", "raw_string")
_LONGEST_EXPRESSION = 200
_MOST_INSIDE = 3
"""Variables whose values are expressions of further ones."""
_MOST_SIGNS = 20


class Expansions(Arrays):
    """Expands syntax nodes of one script in a scope."""

    def expand(self, node: Any, scope: Scope) -> list[Text]:
        """Return the words that one syntax node expands to, split at blanks of unquoted expansions."""
        place = self.base.spots[self.span(node)[0]]
        if self.full:
            return [self._lost(node)]
        braced = self._braced(node, scope) if has_braces(self.raw(node)) else None
        if braced is not None:
            between = self._between_words(scope)
            return [word for pieces in braced for word in join_pieces(pieces, self.source, place, between)]
        pieces = self.pieces(node, scope, quoted=False)
        if not self._affords(node, pieces):
            return [self._lost(node)]
        return join_pieces(pieces, self.source, place, self._between_words(scope))

    def _between_words(self, scope: Scope) -> str:
        """Return the signs at which words are split: those of ``IFS``, blanks where that is not known."""
        own = scope.variables.get("IFS")
        return own.value if isinstance(own, Text) and HOLE not in own.value and len(own.value) < _MOST_SIGNS else BLANKS

    def _affords(self, node: Any, pieces: list[Piece], times: int = 1) -> bool:
        """Count what is put together to a word; return whether it may be."""
        sizes = [len(piece.text.value) for piece in pieces if piece.text.value]
        if len(sizes) > 1 and sum(sizes) > MAX_TEXT:
            self.cut(node, Msg(f"a value of more than {MAX_TEXT} characters", f"值超过 {MAX_TEXT} 个字符"))
        words = sum(1 + len(word.value) for piece in pieces for word in piece.words or ())
        return self.affords(times * (sum(sizes) + words))

    def _braced(self, node: Any, scope: Scope) -> list[list[Piece]] | None:
        """Return the pieces of each word that braces make of a syntax node; None where they make no other words."""
        parts = self._parts(node)
        try:
            words, whole = expanded([sign for sign, *_ in parts], MAX_ITEMS)
        except TooMuch:
            self.cut(
                node, Msg(f"more than {MAX_ITEMS} words, or nested too often", f"超过 {MAX_ITEMS} 个词，或嵌套过深")
            )
            return [[Piece(self.spread(HOLE * 2, *self.span(node)), True)]]
        if words == [((0, len(parts), None),)]:
            return None
        if not whole:
            self.too_many(node)
        inside = {at: self.pieces(part, scope, False) for at, (_, _, _, part) in enumerate(parts) if part is not None}
        size = sum(end - start for word in words for start, end, _ in word)
        if not self._affords(node, [piece for pieces in inside.values() for piece in pieces], len(words)):
            return [[Piece(self._lost(node), True)]]
        if not self.affords(size):
            return [[Piece(self._lost(node), True)]]
        return [[piece for stretch in word for piece in self._stretched(stretch, parts, inside)] for word in words]

    def _parts(self, node: Any) -> list[_Part]:
        """Return a word as braces see it: characters, and what is quoted, escaped or expanded, with their places."""
        if node.type in ("concatenation", "command_name"):
            return [part for child in node.children for part in self._parts(child)]
        start, end = self.span(node)
        if node.type in _ATOMS:
            return [("", start, end, node)]
        matches = _SIGN.finditer(self.base.value, start, end)
        return [("" if len(match[0]) > 1 else match[0], match.start(), match.end(), None) for match in matches]

    def _stretched(self, stretch: Stretched, parts: list[_Part], inside: dict[int, list[Piece]]) -> list[Piece]:
        """Return the pieces of one stretch of a word; characters that follow each other are one."""
        first, last, made = stretch
        if made is not None:
            return [Piece(self.spread(made, parts[first][1], parts[last - 1][2]), True)]
        found: list[Piece] = []
        begin: int | None = None
        for at in range(first, last + 1):
            if at < last and at not in inside:
                begin = at if begin is None else begin
                continue
            if begin is not None:
                start, end = parts[begin][1], parts[at - 1][2]
                word = Stretch("word", self.base.spots[start])
                found.append(Piece(self._unescape(start, end, _WORD_ESCAPE, word), True))
                begin = None
            found += inside.get(at, ()) if at < last else ()
        return found

    def single(self, node: Any, scope: Scope) -> Text:
        """Return the one text that a node expands to where the shell does not split, as in an assignment."""
        pieces = [] if self.full else self.pieces(node, scope, quoted=True)
        if self.full or not self._affords(node, pieces):
            return self._lost(node)
        return concat([p.text for p in pieces], self.source, self.base.spots[self.span(node)[0]])

    def pieces(self, node: Any, scope: Scope, quoted: bool) -> list[Piece]:
        """Return what a syntax node expands to, before words are put together; ``quoted`` keeps blanks."""
        kind = node.type
        start, end = self.span(node)
        if kind in ("concatenation", "command_name", "subscript"):
            return self._adjacent(node, scope, quoted)
        if kind == "string":
            return self._string(node, scope)
        if kind == "raw_string":
            return [Piece(self.base.part(start + 1, end - 1).quoted("'", self.base.spots[start]), True)]
        if kind == "ansi_c_string":
            return [Piece(self._ansi(start + 2, end - 1), True)]
        if kind == "translated_string":
            return [p for child in node.children for p in self.pieces(child, scope, True)]
        if kind in ("simple_expansion", "expansion"):
            return self._expansion(node, scope, quoted)
        if kind == "arithmetic_expansion":
            return [Piece(self._result(node, self._arithmetic(node, scope)), True)]
        if kind == "command_substitution":
            return self._substitution(node, scope, quoted)
        if kind in ("process_substitution", "brace_expression"):
            return [Piece(self.spread(HOLE, start, end), True)]
        return [Piece(self._unescape(start, end, _WORD_ESCAPE, Stretch("word", self.base.spots[start])), True)]

    def _result(self, node: Any, value: int | None) -> Text:
        """Return the number that an expression is."""
        return self.spread(HOLE if value is None else str(value), *self.span(node))

    def _adjacent(self, node: Any, scope: Scope, quoted: bool) -> list[Piece]:
        found: list[Piece] = []
        for child in node.children:
            found += self.pieces(child, scope, quoted)
        return found

    def _string(self, node: Any, scope: Scope) -> list[Piece]:
        """Expand a double-quoted string; text between its expansions is taken from the file, blanks included."""
        start, end = self.span(node)
        closed = node.children and node.children[-1].type == '"' and len(node.children) > 1
        stretch = Stretch('"', self.base.spots[start])
        found: list[Piece] = [Piece(self._unescape(start + 1, start + 1, _STRING_ESCAPE, stretch), True)]
        at = start + 1
        for child in node.children[1:]:
            if child.type in ("string_content", '"'):
                continue
            begin, finish = self._inner_span(child)
            found.append(Piece(self._unescape(at, begin, _STRING_ESCAPE, stretch), True))
            found += self.pieces(child, scope, True)
            at = finish
        found.append(Piece(self._unescape(at, end - 1 if closed else end, _STRING_ESCAPE, stretch), True))
        arrays = [piece for piece in found if piece.words is not None]
        if arrays and not any(piece.words or piece.text.value for piece in found):
            return arrays  # "${EMPTY[@]}" is no word at all
        return found

    def _expansion(self, node: Any, scope: Scope, quoted: bool) -> list[Piece]:
        start, end = self.span(node)
        if self.base.value.startswith("$((", start):  # masked for the parser
            return [Piece(self._result(node, self._arithmetic(node, scope)), True)]
        name, operator, default = self._parameter(node)
        value = scope.lookup(name) if name else None
        counts = operator == "#" and node.children[1].type == "#"
        if isinstance(value, list) and (counts or operator in ("[]", "!")):
            value, operator = self._of_array(node, operator, value, scope), ""
        elif isinstance(value, list) and operator == ":":
            value, operator = self._slice(node, name, value, scope), ""
        elif isinstance(value, list) and operator in ("[]:-", "[]-"):
            value, operator = self._of_array(node, "[]", value, scope), operator[2:]
            if not isinstance(value, Text) or not (value.value or operator == "-"):
                return self._default(default, scope, quoted, start)
            operator = ""
        elif counts:
            length = len(value.value) if isinstance(value, Text) and HOLE not in value.value else None
            value = None if length is None else self.spread(str(length), start, end)
        elif operator == "!":
            value = self._indirect(node, value, scope)
        elif operator in ("?", ":?") and isinstance(value, Text):
            pass  # the script ends where it has none
        elif operator in (":-", "-", ":=", "="):
            empty = isinstance(value, Text) and not value.value and operator.startswith(":")
            if value is None and default is None:
                value = None  # nothing is one of the values that it may have
            elif value is None or empty:
                usual = self._default(default, scope, quoted, start)
                if name is not None and operator.endswith("=") and not name.isdecimal() and scope.real(name):
                    scope.variables[scope.real(name)] = concat([piece.text for piece in usual], self.source, start)
                return usual
        elif operator in ("+", ":+") and value is not None:
            given = self._alternative(node, value, operator == ":+", default, scope, quoted)
            if given is not None:
                return given
            value = None
        elif operator:
            value = self._changed(node, operator, value, scope)
        if value is None:
            many = not counts and (name in ("@", "*") or self._is_array(node))
            unknown = HOLE * 2 if many else HOLE
            return [Piece(self.spread(unknown, start, end), quoted)]
        if isinstance(value, list):
            self.effort.made += len(value)
            values = [] if self.full else value
            return [Piece(self.spread("", start, end), quoted, [self.local(v, start, end) for v in values])]
        return [Piece(self.local(value, start, end), quoted)]

    def _default(self, node: Any, scope: Scope, quoted: bool, start: int) -> list[Piece]:
        if node is None:
            return [Piece(self.spread("", start, start), quoted)]
        found: list[Piece] = []
        at = self.span(node)[0]
        for part in node.children if node.type == "concatenation" else [node]:
            begin, finish = self.span(part)
            plain = finish if part.type == "word" else begin  # blanks between two parts are in neither
            if plain > at:
                stretch = Stretch("word", self.base.spots[at])
                found.append(Piece(self._unescape(at, plain, _WORD_ESCAPE, stretch), quoted))
            found += [] if part.type == "word" else self.pieces(part, scope, quoted)
            at = finish
        return found

    def _indirect(self, node: Any, value: Text | list[Text] | None, scope: Scope) -> Text | list[Text] | None:
        """Return the value of the variable that another one names: ``${!NAME}``; None where that is not known."""
        if not isinstance(value, Text) or [child.type for child in node.children] != ["${", "!", "variable_name", "}"]:
            return None
        return scope.lookup(value.value) if value.value.isidentifier() else None

    def _changed(
        self, node: Any, operator: str, value: Text | list[Text] | None, scope: Scope
    ) -> Text | list[Text] | None:
        """Return what an operator makes of a value, or of each element of an array; None where it is not known."""
        values = value if isinstance(value, list) else [value] if value is not None else []
        if not values or any(HOLE in one.value for one in values) or operator.startswith("[]"):
            return None
        if isinstance(value, list) and not self._is_array(node):
            return None
        change = self._change(node, operator, scope)
        made = [change(one.value) for one in values] if change is not None else [None]
        known = [one for one in made if one is not None]
        if len(known) < len(made) or not self.affords(sum(map(len, known))):
            return None
        texts = [self.spread(one, *self.span(node)) for one in known]
        return texts if isinstance(value, list) else texts[0]

    def _change(self, node: Any, operator: str, scope: Scope) -> Callable[[str], str | None] | None:
        """Return what an expansion does to a value; None where that is not followed."""
        kinds = [child.type for child in node.children]
        at = kinds.index(operator)
        behind = node.children[at + 1 : -1]
        if operator in ("^", "^^", ",", ",,", "@"):
            kind = operator + "".join(self.raw(child) for child in behind)
            return lambda value: in_case(value, kind)
        if operator == ":":
            numbers = [self.arithmetic(child, scope) for child in behind if child.is_named]
            first, count = numbers[:1], numbers[1:]
            if first == [None] or not first or count == [None] or len(count) > 1:
                return None
            return lambda value: sliced(value, first[0] or 0, count[0] if count else None)
        slash = next((at for at, child in enumerate(behind) if child.type == "/"), len(behind))
        written, new = behind[:slash], behind[slash + 1 :]
        if operator not in (*CUTS, *PUTS) or len(written) != 1 or len(new) > 1:
            return None
        literal = written[0].type in ("string", "raw_string", "ansi_c_string")
        text = self.single(written[0], scope).value if literal else self.raw(written[0])
        pattern = as_pattern(text, literal) if HOLE not in text else None
        put = self.single(new[0], scope).value if new else ""
        if pattern is None or HOLE in put:
            return None
        if operator in CUTS:
            return lambda value: without(value, operator, pattern)
        return lambda value: instead(value, operator, pattern, put)

    def _alternative(
        self, node: Any, value: Text | list[Text], filled: bool, word: Any, scope: Scope, quoted: bool
    ) -> list[Piece] | None:
        """Return what ``${A+word}`` is for a variable that is set; None where it is not known whether it counts as set.

        With ``filled``, for ``${A:+word}``, an empty one counts as not set; an array without elements is not set.
        """
        start = self.span(node)[0]
        first = value if isinstance(value, Text) else next(iter(value), None)
        if first is not None and first.value.startswith(HOLE) and (filled or first.value == HOLE * 2):
            return None
        if first is None or (filled and not first.value):
            return [Piece(self.spread("", start, start), quoted, [] if isinstance(value, list) else None)]
        return self._default(word, scope, quoted, start)

    def local(self, value: Text, start: int, end: int) -> Text:
        """Return a value of another file at the place where it is used here; one of this file as it is."""
        return value if value.source is self.source else self.spread(value.value, start, end)

    def _parameter(self, node: Any) -> tuple[str | None, str, Any]:
        """Return name, operator and default word of ``$NAME`` or ``${NAME…}``."""
        name: str | None = None
        operator = ""
        default: Any = None
        for child in node.children:
            if child.type in ("variable_name", "special_variable_name") and name is None:
                name = self.raw(child)
            elif child.type == "subscript":
                name, index = self.raw(child.children[0]), self.raw(child).partition("[")[2].rstrip("]")
                if index not in ("@", "*"):
                    operator = "[]"
            elif child.type in ("${", "}", "$"):
                continue
            elif not operator and not child.is_named:
                operator = child.type
            elif operator == "[]" and not child.is_named and child.type != "!":
                operator = f"[]{child.type}"  # ``${A[0]+x}``: not followed
            elif default is None:
                default = child
        return name, operator, default

    def _substitution(self, node: Any, scope: Scope, quoted: bool) -> list[Piece]:
        raise NotImplementedError

    def _arithmetic(self, node: Any, scope: Scope) -> int | None:
        """Return the value of ``$((…))``; what it sets besides is not known after it, as a word may be read again."""
        start, end = self.span(node)

        def forget(name: str, _: int | None) -> None:
            scope.variables[name] = self.spread(HOLE, start, end)

        return evaluate(_inside(self._expression(node, scope)), self._integers(scope), forget)

    def arithmetic(self, node: Any, scope: Scope, assign: Assign | None = None) -> int | None:
        """Return the value of an arithmetic expression of known integers, or None."""
        return evaluate(_inside(self._expression(node, scope)), self._integers(scope), assign)

    def calculated(self, text: str, scope: Scope, assign: Assign | None = None) -> int | None:
        """Return the value of an expression that the parser does not see as one."""
        return evaluate(_inside(text), self._integers(scope), assign)

    def _expression(self, node: Any, scope: Scope) -> str:
        """Return an expression's text with what is expanded in it before it is calculated."""
        raw = self.raw(node)
        if raw.startswith("$((") and node.type != "arithmetic_expansion":
            return raw
        if node.type in _EXPANDED and node.type != "arithmetic_expansion":
            return self._expanded(node, scope)
        parts, at = [], node.start_byte
        waiting = list(reversed(node.children))
        while waiting:
            child = waiting.pop()
            if child.type in _EXPANDED:
                parts += [self._bytes(at, child.start_byte), self._expanded(child, scope)]
                at = child.end_byte
            else:
                waiting += reversed(child.children)
        return "".join([*parts, self._bytes(at, node.end_byte)])

    def _bytes(self, start: int, end: int) -> str:
        return self.base.value[self.char(start) : self.char(end)]

    def _expanded(self, node: Any, scope: Scope) -> str:
        number = as_integer(self.single(node, scope).value)
        return HOLE if number is None else str(number) if number >= 0 else f"({number})"

    def _integers(self, scope: Scope, depth: int = 0) -> Lookup:
        def lookup(name: str) -> int | None:
            value = scope.lookup(name)
            if not isinstance(value, Text) or HOLE in value.value or len(value.value) > _LONGEST_EXPRESSION:
                return None
            number = as_integer(value.value)
            if number is not None or depth >= _MOST_INSIDE or not value.value.strip():
                return number
            return evaluate(value.value, self._integers(scope, depth + 1))  # the shell calculates it in its turn

        return lookup


def _inside(text: str) -> str:
    """Return an expression without what encloses it."""
    text = text.strip()
    for opening, closing in (("$((", "))"), ("((", "))"), ("$[", "]")):
        if text.startswith(opening) and text.endswith(closing) and (opening != "((" or _encloses(text)):
            return text[len(opening) : len(text) - len(closing)]
    return text


def _encloses(text: str) -> bool:
    """Whether the first two brackets are closed by the last two: not in ``((a)+(b))``."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth < 2 and 1 <= at < len(text) - 2:
            return False
    return True
