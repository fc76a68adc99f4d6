"""Words of a shell script: quoting, variables and arrays, with the place of every character.

Nothing is executed. What only a running shell could know becomes a hole in the text: command substitution, variables
that the script does not set, files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pd_launch.launcher.sources.limits import not_followed
from pd_launch.launcher.sources.shell_scope import Environments, Journal
from pd_launch.launcher.sources.weave import MAX_TEXT, Stretch, Weaver, concat
from pd_launch.schemas.launch import Fault
from pd_launch.schemas.values import HOLE, SourceFile, Text, as_integer
from pd_launch.schemas.whole import whole

_WORD_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_STRING_ESCAPE = re.compile(r'\\([$`"\\\n])')
_HEREDOC_ESCAPE = re.compile(r"\\([$`\\\n])")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI_PART = re.compile(
    r"\\(?:(?P<hex>x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8})|(?P<octal>[0-7]{1,3})|(?P<sign>.))|.",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"%.?|\\.", re.DOTALL)
_KEYED = re.compile(r"\[[^]]*\]=")
_POSITIONAL = re.compile(r"(?<!\\)\$(\d)")
_MOST_CALLS = 10
_MOST_PRINTED = 2_000
"""Functions whose output is followed, in one script."""
_SEQ = re.compile(r"seq(?: (?:-s ?|--separator[= ])(?P<between>\S))? (?P<numbers>-?\d{1,9}(?: -?\d{1,9}){0,2})")
_PASTE = re.compile(r"paste (?:-sd ?|-s -d ?)(?P<between>\S)(?: -)?")
"""Counting, and what puts its lines together: ``seq 0 7 | paste -sd,``."""
MAX_MADE = 10_000_000
"""Characters that the values of the scripts of one file may be put together to."""
MAX_ITEMS = 4_000
"""Elements of an array or a sequence."""


@dataclass
class Scope:
    """Variables of a running script. A value is a list of texts for an array, one text otherwise."""

    variables: Journal[Text | list[Text]] = field(default_factory=Journal)
    exported: Journal[bool] = field(default_factory=Journal)
    positional: dict[int, Text] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    names: dict[str, Text] = field(default_factory=dict)
    """Where a variable was assigned last: its name there."""
    export_all: bool = False
    """Whether assignments export, as behind ``set -a``."""
    environments: Environments = field(default_factory=Environments, repr=False)

    def lookup(self, name: str) -> Text | list[Text] | None:
        """Return a variable's or a positional parameter's value, or None where it is not known."""
        if name.isdecimal():
            number = whole(name)
            return None if number is None else self.positional.get(number)
        if name in ("@", "*") and self.positional:
            return [self.positional[i] for i in sorted(self.positional) if i > 0]
        return self.variables.get(name)


@dataclass
class Effort:
    """What following the scripts of one file has taken so far; scripts inside others count with them."""

    repeats: int = 0
    """Statements that were followed again."""
    made: int = 0
    """Characters that values were put together to."""
    printed: int = 0
    """Functions whose output was followed."""
    read: set[tuple[str, int]] = field(default_factory=set)
    """Where scripts begin that were read."""

    def again(self, text: Text) -> bool:
        """Whether a script was read before; that counts, as far less than statements in a loop do."""
        place = (text.source.path, text.spots[0])
        if place not in self.read:
            self.read.add(place)
            return False
        self.repeats += text.value.count("\n") // 8 + 1
        return True


@dataclass
class _Piece:
    text: Text
    quoted: bool
    words: list[Text] | None = None
    """The words of ``"${ARRAY[@]}"``, which stay apart although quoted."""


class Words:
    """Expands syntax nodes of one script in a scope. ``base`` is the script's text with its places."""

    def __init__(self, base: Text, effort: Effort) -> None:
        self.base = base
        self.effort = effort
        self.source = base.source
        self._ascii = base.value.isascii()
        self._chars: list[int] | None = None
        self._inside = 0
        self.cuts: list[Fault] = []
        """Where a value was longer than is followed."""

    def cut(self, node: Any, limit: str, limit_zh: str) -> None:
        """Say that what a syntax node stands for is not known to its end."""
        origin = self.base.origin(*self.span(node))
        left, left_zh = "what this stands for is not checked", "这里的值没有检查"
        self.cuts.append(not_followed(origin, limit, limit_zh, left, left_zh))

    def char(self, byte: int) -> int:
        """Return the character offset of a byte offset."""
        if self._ascii:
            return byte
        if self._chars is None:
            self._chars = [0] * (len(self.base.value.encode("utf-8", "surrogatepass")) + 1)
            at = 0
            for index, character in enumerate(self.base.value):
                width = len(character.encode("utf-8", "surrogatepass"))
                for offset in range(width):
                    self._chars[at + offset] = index
                at += width
            self._chars[at] = len(self.base.value)
        return self._chars[min(byte, len(self._chars) - 1)]

    def span(self, node: Any) -> tuple[int, int]:
        """Return a syntax node's character offsets."""
        return self.char(node.start_byte), self.char(node.end_byte)

    def _inner_span(self, node: Any) -> tuple[int, int]:
        """Return the offsets of an expansion inside a string; the parser counts blanks before its ``$`` in."""
        start, end = self.span(node)
        raw = self.base.value[start:end]
        return start + len(raw) - len(raw.lstrip()), end

    def raw(self, node: Any) -> str:
        """Return a syntax node's text as it stands."""
        start, end = self.span(node)
        return self.base.value[start:end]

    def expand(self, node: Any, scope: Scope) -> list[Text]:
        """Return the words that one syntax node expands to, split at blanks of unquoted expansions."""
        place = self.base.spots[self.span(node)[0]]
        if self.full:
            return [self._lost(node)]
        for at, child in enumerate(node.children if node.type == "concatenation" else ()):
            chosen, width = self.choices(child)
            if chosen:
                before, behind = (
                    [piece for part in parts for piece in self.pieces(part, scope, False)]
                    for parts in (node.children[:at], node.children[at + width :])
                )
                if not self._affords(node, [*before, *behind], len(chosen)):
                    return [self._lost(node)]
                words = (_join([*before, _Piece(text, True), *behind], self.source, place) for text in chosen)
                return [word for found in words for word in found]
        pieces = self.pieces(node, scope, quoted=False)
        return _join(pieces, self.source, place) if self._affords(node, pieces) else [self._lost(node)]

    @property
    def full(self) -> bool:
        """Whether values were put together to as much as one script may."""
        return self.effort.made > MAX_MADE

    def affords(self, characters: int) -> bool:
        """Count characters that are put together once more; return whether that may be."""
        self.effort.made += characters
        return not self.full

    def _affords(self, node: Any, pieces: list[_Piece], times: int = 1) -> bool:
        """Count what is put together to a word; return whether it may be."""
        sizes = [len(piece.text.value) for piece in pieces if piece.text.value]
        if len(sizes) > 1 and sum(sizes) > MAX_TEXT:
            self.cut(node, f"a value of more than {MAX_TEXT} characters", f"值超过 {MAX_TEXT} 个字符")
        words = sum(1 + len(word.value) for piece in pieces for word in piece.words or ())
        return self.affords(times * (sum(sizes) + words))

    def _lost(self, node: Any) -> Text:
        self.cut(node, f"values of more than {MAX_MADE} characters", f"值超过 {MAX_MADE} 个字符")
        return self.spread(HOLE, *self.span(node))

    def choices(self, node: Any) -> tuple[list[Text], int]:
        """Return what ``{0..7}`` or ``{a,b}`` stands for, and the syntax nodes that it takes; nothing for another."""
        start, end = self.span(node)
        if node.type == "brace_expression":
            first, dots, last = self.raw(node).strip("{}").partition("..")
            if not dots or whole(first) is None or whole(last) is None:
                return [], 1
            low, high = int(first[:9]), int(last[:9])
            if high - low >= MAX_ITEMS:
                self.too_many(node)
            numbers = range(low, min(high + 1, low + MAX_ITEMS))
            return [self.spread(str(number), start, end) for number in numbers], 1
        listed = node.next_sibling if self.raw(node) == "{" else None
        closing = listed.next_sibling if listed is not None and listed.type == "word" else None
        if listed is None or closing is None or self.raw(closing) != "}" or "," not in self.raw(listed):
            return [], 1
        start = self.span(listed)[0]
        parts = list(re.finditer("[^,]+", self.raw(listed)))
        if len(parts) > MAX_ITEMS:
            self.too_many(node)
            del parts[MAX_ITEMS:]
        stretch = Stretch("word", self.base.spots[start])
        return [self.base.part(start + p.start(), start + p.end()).quoted(*stretch) for p in parts], 3

    def too_many(self, node: Any) -> None:
        """Say that not all elements of a syntax node are known."""
        self.cut(node, f"more than {MAX_ITEMS} elements", f"超过 {MAX_ITEMS} 个元素")

    def single(self, node: Any, scope: Scope) -> Text:
        """Return the one text that a node expands to where the shell does not split, as in an assignment."""
        pieces = [] if self.full else self.pieces(node, scope, quoted=True)
        if self.full or not self._affords(node, pieces):
            return self._lost(node)
        return concat([p.text for p in pieces], self.source, self.base.spots[self.span(node)[0]])

    def pieces(self, node: Any, scope: Scope, quoted: bool) -> list[_Piece]:
        """Return what a syntax node expands to, before words are put together; ``quoted`` keeps blanks."""
        kind = node.type
        start, end = self.span(node)
        if kind in ("concatenation", "command_name", "subscript"):
            return self._adjacent(node, scope, quoted)
        if kind == "string":
            return self._string(node, scope)
        if kind == "raw_string":
            return [_Piece(self.base.part(start + 1, end - 1).quoted("'", self.base.spots[start]), True)]
        if kind == "ansi_c_string":
            return [_Piece(self._ansi(start + 2, end - 1), True)]
        if kind == "translated_string":
            return [p for child in node.children for p in self.pieces(child, scope, True)]
        if kind in ("simple_expansion", "expansion"):
            return self._expansion(node, scope, quoted)
        if kind == "arithmetic_expansion":
            value = self._arithmetic(node, scope)
            return [_Piece(self.spread(HOLE if value is None else str(value), start, end), True)]
        if kind == "command_substitution":
            return self._substitution(node, scope, quoted)
        if kind in ("process_substitution", "brace_expression"):
            return [_Piece(self.spread(HOLE, start, end), True)]
        return [_Piece(self._unescape(start, end, _WORD_ESCAPE, Stretch("word", self.base.spots[start])), True)]

    def _adjacent(self, node: Any, scope: Scope, quoted: bool) -> list[_Piece]:
        found: list[_Piece] = []
        for child in node.children:
            found += self.pieces(child, scope, quoted)
        return found

    def _string(self, node: Any, scope: Scope) -> list[_Piece]:
        """Expand a double-quoted string; text between its expansions is taken from the file, blanks included."""
        start, end = self.span(node)
        closed = node.children and node.children[-1].type == '"' and len(node.children) > 1
        stretch = Stretch('"', self.base.spots[start])
        found: list[_Piece] = [_Piece(self._unescape(start + 1, start + 1, _STRING_ESCAPE, stretch), True)]
        at = start + 1
        for child in node.children[1:]:
            if child.type in ("string_content", '"'):
                continue
            begin, finish = self._inner_span(child)
            found.append(_Piece(self._unescape(at, begin, _STRING_ESCAPE, stretch), True))
            found += self.pieces(child, scope, True)
            at = finish
        found.append(_Piece(self._unescape(at, end - 1 if closed else end, _STRING_ESCAPE, stretch), True))
        arrays = [piece for piece in found if piece.words is not None]
        if arrays and not any(piece.words or piece.text.value for piece in found):
            return arrays  # "${EMPTY[@]}" is no word at all
        return found

    def _unescape(self, start: int, end: int, escape: re.Pattern[str], stretch: Stretch) -> Text:
        if "\\" not in self.base.value[start:end]:
            return self.base.part(start, end).quoted(*stretch)
        weaver = Weaver(self.base)
        at = start
        for match in escape.finditer(self.base.value, start, end):
            weaver.take(at, match.start(), stretch)
            if match[1] != "\n":
                weaver.put(match[1], match.start(), match.end(), stretch)
            at = match.end()
        weaver.take(at, end, stretch)
        return weaver.text(end)

    def _ansi(self, start: int, end: int) -> Text:
        """Return the text of ``$'…'``."""
        weaver, stretch = Weaver(self.base), Stretch("$'", self.base.spots[start])
        for match in _ANSI_PART.finditer(self.base.value, start, end):
            code = match["hex"] or match["octal"]
            if code:
                number = int(code.lstrip("xuU"), 16 if match["hex"] else 8)
                character = chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
            else:
                character = _ANSI.get(match["sign"], match["sign"]) if match["sign"] else match.group()
            weaver.put(character, match.start(), match.end(), stretch)
        return weaver.text(end)

    def spread(self, value: str, start: int, end: int) -> Text:
        """Return ``value`` with all its characters at the expansion that it came from."""
        return Text(value, self.source, [self.base.spots[start]] * len(value) + [self.base.spots[end]])

    def _expansion(self, node: Any, scope: Scope, quoted: bool) -> list[_Piece]:
        start, end = self.span(node)
        name, operator, default = self._parameter(node)
        value = scope.lookup(name) if name else None
        counts = operator == "#"
        if isinstance(value, list) and operator in ("[]", "!", "#"):
            value, operator = self._of_array(node, operator, value, scope), ""
        elif operator.startswith("#") or operator == "!":
            value = None
        elif operator in (":-", "-", ":=", "="):
            empty = isinstance(value, Text) and not value.value and operator.startswith(":")
            if value is None or empty:
                return self._default(default, scope, quoted, start)
        elif operator:
            value = None  # another operator: what it makes of the value is not followed
        if value is None:
            many = not counts and (name in ("@", "*") or self._is_array(node))
            unknown = HOLE * 2 if many else HOLE
            return [_Piece(self.spread(unknown, start, end), quoted)]
        if isinstance(value, list):
            self.effort.made += len(value)
            values = [] if self.full else value
            return [_Piece(self.spread("", start, end), quoted, [self._local(v, start, end) for v in values])]
        return [_Piece(self._local(value, start, end), quoted)]

    def _of_array(self, node: Any, operator: str, values: list[Text], scope: Scope) -> Text | list[Text] | None:
        """Return an array's element, the numbers of its elements for ``!``, how many there are for ``#``; or None."""
        start, end = self.span(node)
        subscript = next((child for child in node.children if child.type == "subscript"), None)
        if subscript is None or any(_KEYED.match(value.value) for value in values):
            return None
        sure = next((at for at, value in enumerate(values) if value.value.startswith(HOLE)), len(values))
        if operator == "[]":
            index = self._index(subscript, scope)
            return values[index] if index is not None and index < sure else None
        if not self._is_array(node) or sure < len(values):
            return None  # one of them may be any number of words
        if operator == "#":
            return self.spread(str(len(values)), start, end)
        return [self.spread(str(number), start, end) for number in range(len(values))]

    def _index(self, subscript: Any, scope: Scope) -> int | None:
        inner = [child for child in subscript.children[1:] if child.is_named]
        if len(inner) != 1:
            return None
        number = self.arithmetic(inner[0], scope)
        if number is None and inner[0].type == "arithmetic_expansion":
            number = as_integer(self.single(inner[0], scope).value)
        return number if number is not None and number >= 0 else None

    def _is_array(self, node: Any) -> bool:
        """Whether an expansion is one of all an array's elements: it may be any number of words."""
        return any(child.type == "subscript" and self.raw(child).endswith(("[@]", "[*]")) for child in node.children)

    def _default(self, node: Any, scope: Scope, quoted: bool, start: int) -> list[_Piece]:
        if node is None:
            return [_Piece(self.spread("", start, start), quoted)]
        return self.pieces(node, scope, quoted)

    def _local(self, value: Text, start: int, end: int) -> Text:
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
            elif default is None:
                default = child
        return name, operator, default

    def _substitution(self, node: Any, scope: Scope, quoted: bool) -> list[_Piece]:
        """Follow ``$(seq …)``, ``$(cat <<EOF …)``, ``$(printf …)``, functions of those; the rest would have to run."""
        start, end = self.span(node)
        inner = [child for child in node.children if child.is_named]
        text = self._printed(inner[0], scope) if len(inner) == 1 else None
        if text is not None:
            return [_Piece(text.part(0, len(text.value.rstrip("\n"))), quoted)]
        commands = inner[0].children if inner and inner[0].type == "pipeline" else inner
        commands = [child for child in commands if child.type == "command"]
        written = [" ".join(w.value for part in c.children for w in self.expand(part, scope)) for c in commands[:2]]
        joins = _PASTE.fullmatch(written[1]) if len(written) == 2 else None
        counted = _SEQ.fullmatch(written[0]) if written and (joins or len(commands) == 1) else None
        values = _sequence([int(number) for number in counted["numbers"].split()]) if counted else None
        if values is not None and len(values) > MAX_ITEMS:
            self.too_many(node)
        elif counted and values is not None:
            between = joins["between"] if joins else counted["between"] or " "
            return [_Piece(self.spread(between.join(map(str, values)), start, end), quoted)]
        return [_Piece(self.spread(HOLE, start, end), quoted)]

    def _printed(self, node: Any, scope: Scope) -> Text | None:
        """Return what ``echo``, ``printf``, ``cat`` of a here-document, or a function of one of them prints."""
        if node.type == "redirected_statement":
            named = [child for child in node.children if child.is_named]
            if [child.type for child in named] == ["command", "heredoc_redirect"] and self.raw(named[0]) == "cat":
                return self.heredoc(named[1], scope)
        if node.type != "command":
            return None
        words = [word for part in node.children for word in self.expand(part, scope)]
        name = words[0].value if words else ""
        if name in scope.functions:
            return self._function(words, scope)
        if name == "printf" and len(words) > 1:
            return self._formatted(words[1], words[2:])
        if name == "echo":
            said = [word for word in words[1:] if word.value not in ("-n", "-e")]
            return said[0] if len(said) == 1 else None
        return None

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
            if printed is not None or (not named and (printed := self._printed(child, inner)) is None):
                return None
            for part in named:
                value = part.children[-1]
                inner.variables[self.raw(part.children[0])] = (
                    self.spread("", *self.span(part)) if value.type == "=" else self.single(value, inner)
                )
        return printed

    def _formatted(self, form: Text, values: list[Text]) -> Text | None:
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

    def heredoc(self, redirect: Any, scope: Scope) -> Text | None:
        """Return a here-document's text, expanded unless its delimiter is quoted; None if a filter reads it."""
        parts = {child.type: child for child in redirect.children}
        stretch = Stretch("heredoc", self.base.spots[self.span(redirect)[0]])
        if not {"heredoc_start", "heredoc_end"} <= parts.keys() or "pipeline" in parts:
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
        """Return what stands between two expansions of a here-document; the parser does not see ``$1`` there."""
        found: list[Text] = []
        for match in _POSITIONAL.finditer(self.base.value, start, end):
            value = scope.positional.get(int(match[1]))
            found.append(self._unescape(start, match.start(), _HEREDOC_ESCAPE, stretch))
            place = match.start(), match.end()
            found.append(self.spread(HOLE, *place) if value is None else self._local(value, *place))
            start = match.end()
        return [*found, self._unescape(start, end, _HEREDOC_ESCAPE, stretch)]

    def _arithmetic(self, node: Any, scope: Scope) -> int | None:
        inner = [child for child in node.children if child.type not in ("$((", "))", "$[", "]")]
        return self.arithmetic(inner[0], scope) if len(inner) == 1 else None

    def arithmetic(self, node: Any, scope: Scope) -> int | None:
        """Return the value of an arithmetic expression of known integers, or None."""
        kind = node.type
        if kind in ("number", "word", "variable_name"):
            text = self.raw(node)
            if text.isascii() and text.isdigit() and len(text) < 19:
                return int(text)
            value = scope.lookup(text)
            return as_integer(value.value) if isinstance(value, Text) else None
        if kind in ("simple_expansion", "expansion"):
            return as_integer(self.single(node, scope).value)
        if kind == "parenthesized_expression":
            return self.arithmetic(node.children[1], scope) if len(node.children) == 3 else None
        if kind == "binary_expression" and len(node.children) == 3:
            left = self.arithmetic(node.children[0], scope)
            right = self.arithmetic(node.children[2], scope)
            return _operate(node.children[1].type, left, right)
        return None


def _operate(operator: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if operator in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    results = {
        "+": left + right,
        "-": left - right,
        "<": int(left < right),
        "<=": int(left <= right),
        ">": int(left > right),
        ">=": int(left >= right),
        "!=": int(left != right),
        "==": int(left == right),
    }
    return left * right if operator == "*" else results.get(operator)


def _sequence(numbers: list[int]) -> range | None:
    first, step, last = {
        1: (1, 1, numbers[0]),
        2: (numbers[0], 1, numbers[-1]),
        3: (numbers[0], numbers[len(numbers) // 2], numbers[-1]),
    }[len(numbers)]
    if step == 0:
        return None
    return range(first, last + (1 if step > 0 else -1), step)


def _join(pieces: list[_Piece], source: SourceFile, start: int) -> list[Text]:
    """Put pieces together to words: unquoted ones are split at blanks, arrays at their elements."""
    words: list[list[Text]] = []
    current: list[Text] | None = None
    for piece in pieces:
        if piece.words is not None:
            for index, word in enumerate(piece.words):
                if index and current is not None:
                    words.append(current)
                    current = None
                current = _with(current, word)
            continue
        if piece.quoted:
            current = _with(current, piece.text)
            continue
        value = piece.text.value
        for match in re.finditer(r"[ \t\n]+|[^ \t\n]+", value):
            if match.group()[0] in " \t\n":
                if current is not None:
                    words.append(current)
                    current = None
            else:
                current = _with(current, piece.text.part(match.start(), match.end()))
    if current is not None:
        words.append(current)
    return [concat(word, source, start) for word in words]


def _with(parts: list[Text] | None, part: Text) -> list[Text]:
    """Return the parts of a word with one more; a new word begins where there are none."""
    if parts is None:
        return [part]
    parts.append(part)
    return parts
