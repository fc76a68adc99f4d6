"""Arithmetic of a shell script, and the sequences that its loops count through: of what is known.

Expressions are read from their text, as the parser sees none in here-documents and after ``let``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.whole import whole

Lookup = Callable[[str], int | None]
Assign = Callable[[str, int | None], None]
MAX_TOKENS = 500
_LIMIT = 1 << 63
_TOKEN = lazy_pattern(
    r"[ \t\n]{0,200}(?:(?P<number>0[xX][0-9a-fA-F]{1,16}|\d{1,2}#\w{1,64}|\d{1,39})(?!\w)"
    r"|\$?(?P<name>[A-Za-z_]\w*)|\$(?P<digit>\d)|\$\{(?P<braced>\w+)(?P<more>[^{}]{0,200})\}|(?P<hole>\ue000)"
    r"|(?P<sign>\*\*|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),]))"
)
_PLAIN = lazy_pattern(r"[\d()*+ <>-]{1,200}")
"""An expression of which a shell, ``bc`` and Python make the same."""
_PRINTED = lazy_pattern(r"print\((.{1,200})\)")
_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_POWER = 11
_ASSIGNS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")


class _Unreadable(Exception):
    """An expression is none that is read here."""


def evaluate(text: str, lookup: Lookup, assign: Assign | None = None) -> int | None:
    """Return the value of an expression; None where it is not known, or is no expression that is read here.

    Args:
        text: what is between ``$((`` and ``))``.
        lookup: the value of a variable or positional parameter, None where it is not known.
        assign: takes in what the expression sets, None where that is not known.
    """
    try:
        return _Reader(text, lookup, assign).whole()
    except (_Unreadable, RecursionError):
        return None


class _Reader:
    def __init__(self, text: str, lookup: Lookup, assign: Assign | None) -> None:
        self.lookup, self.assign = lookup, assign
        self.tokens = list(_tokens(text))
        self.at = 0

    def whole(self) -> int | None:
        value = self.listed()
        if self.at < len(self.tokens):
            raise _Unreadable
        return value

    def sign(self) -> str:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        return text if kind == "sign" else ""

    def take(self, *signs: str) -> str:
        found = self.sign()
        if found not in signs or not found:
            return ""
        self.at += 1
        return found

    def listed(self) -> int | None:
        value = self.chosen()
        while self.take(","):
            value = self.chosen()
        return value

    def chosen(self) -> int | None:
        """Read ``a ? b : c`` and what binds closer; an assignment may be only where a name may."""
        name = self.assigned()
        if name is not None:
            return name[0]
        condition = self.binary(1)
        if not self.take("?"):
            return condition
        yes = self.chosen()
        if not self.take(":"):
            raise _Unreadable
        no = self.chosen()
        return None if condition is None else yes if condition else no

    def assigned(self) -> tuple[int | None] | None:
        kind, name = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        behind = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ("", "")
        if kind != "name" or behind[0] != "sign" or behind[1] not in _ASSIGNS:
            return None
        self.at += 2
        value = self.chosen()
        if behind[1] != "=":
            value = operate(behind[1][:-1], self.lookup(name), value)
        self.put(name, value)
        return (value,)

    def put(self, name: str, value: int | None) -> None:
        if self.assign is not None:
            self.assign(name, value)

    def binary(self, least: int) -> int | None:
        value = self.power()
        while (level := _BINARY.get(self.sign(), 0)) >= least:
            operator = self.take(self.sign())
            value = operate(operator, value, self.binary(level + 1))
        return value

    def power(self) -> int | None:
        value = self.unary()
        return operate("**", value, self.power()) if self.take("**") else value

    def unary(self) -> int | None:
        operator = self.take("-", "+", "!", "~", "++", "--")
        if not operator:
            return self.single()
        if operator in ("++", "--"):
            return self.stepped(operator, before=True)
        value = self.unary()
        if value is None:
            return None
        return {"-": -value, "+": value, "!": int(not value), "~": ~value}[operator]

    def stepped(self, operator: str, before: bool) -> int | None:
        """Read ``++n`` and, with the name just read, ``n++``."""
        kind, name = self.tokens[self.at] if before and self.at < len(self.tokens) else self.tokens[self.at - 2]
        if kind != "name":
            raise _Unreadable
        self.at += before
        old = self.lookup(name)
        new = operate(operator[0], old, 1)
        self.put(name, new)
        return new if before else old

    def single(self) -> int | None:
        if self.take("("):
            value = self.listed()
            if not self.take(")"):
                raise _Unreadable
            return value
        if self.at >= len(self.tokens) or self.tokens[self.at][0] == "sign":
            raise _Unreadable
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            number = _number(text)
            return number if number is not None and number < _LIMIT else None
        if kind == "name" and (step := self.take("++", "--")):
            return self.stepped(step, before=False)
        return None if kind == "unknown" else self.lookup(text)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip(" \t\n"))
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or len(found) > MAX_TOKENS:
            raise _Unreadable
        at = match.end()
        if match["number"]:
            found.append(("number", match["number"]))
        elif match["name"] or match["digit"]:
            found.append(("name" if match["name"] else "read", match["name"] or match["digit"]))
        elif match["braced"]:
            found.append(("unknown" if match["more"] else "read", match["braced"]))
        else:
            found.append(("sign", match["sign"]) if match["sign"] else ("unknown", ""))
    return found


def _number(text: str) -> int | None:
    try:
        if "#" in text:
            base, _, digits = text.partition("#")
            return int(digits, int(base)) if int(base) <= 36 else None
        if text[:2].lower() == "0x":
            return int(text, 16)
        return int(text, 8) if text[:1] == "0" and len(text) > 1 else whole(text)
    except ValueError:
        return None


def operate(operator: str, left: int | None, right: int | None) -> int | None:
    """Return what an operator makes of two integers; None where one is not known, or the result is not."""
    if left is None or right is None:
        return None
    value = _calculated(operator, left, right)
    return value if value is not None and -_LIMIT <= value < _LIMIT else None


def _calculated(operator: str, left: int, right: int) -> int | None:
    if operator in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>", "**"):
        if not 0 <= right < 64:
            return None
        return left << right if operator == "<<" else left >> right if operator == ">>" else left**right
    results = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "<": int(left < right),
        "<=": int(left <= right),
        ">": int(left > right),
        ">=": int(left >= right),
        "!=": int(left != right),
        "==": int(left == right),
        "&": left & right,
        "|": left | right,
        "^": left ^ right,
        "&&": int(bool(left and right)),
        "||": int(bool(left or right)),
    }
    return results.get(operator)


def printed_by(words: Sequence[str]) -> int | None:
    """Return the number that ``expr 2 + 3``, ``echo 2*3 | bc`` or ``python3 -c 'print(2*3)'`` prints; None for others.

    ``words`` are those of both sides of the pipe, with ``|`` between them.
    """
    name = words[0].rpartition("/")[2] if words else ""
    if name == "expr":
        text = " ".join(words[1:])
    elif "|" in words and list(words[words.index("|") + 1 :][:1]) == ["bc"]:
        text = " ".join(words[1 : words.index("|")]).replace("^", "**")
    elif name.startswith("python") and len(words) == 3 and words[1] == "-c":
        printed = _PRINTED.fullmatch(words[2].strip())
        text = printed[1] if printed else ""
    else:
        return None
    return evaluate(text, lambda _: None) if _PLAIN.fullmatch(text) else None


def counted_up(numbers: list[int]) -> range | None:
    """Return what ``seq`` counts with one to three numbers; None for a step of zero."""
    first, step, last = {
        1: (1, 1, numbers[0]),
        2: (numbers[0], 1, numbers[-1]),
        3: (numbers[0], numbers[len(numbers) // 2], numbers[-1]),
    }[len(numbers)]
    if step == 0:
        return None
    return range(first, last + (1 if step > 0 else -1), step)
