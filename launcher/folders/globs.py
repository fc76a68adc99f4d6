"""One segment of a pattern of ``.gitignore``, matched without going back more than once for each star.

Who checks a folder did not write its patterns: as regular expressions, a few stars in one of them can take for ever.
"""

from __future__ import annotations

import string
from collections.abc import Callable

Matches = Callable[[str], bool]
_ANY, _STAR = "any", "star"
_One = Callable[[str], bool]
_Token = str | _One
_CLASSES: dict[str, _One] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "blank": lambda c: c in " \t",
    "punct": lambda c: c in string.punctuation,
    "xdigit": lambda c: c in string.hexdigits,
    "cntrl": lambda c: ord(c) < 32 or ord(c) == 127,
    "graph": lambda c: c.isprintable() and c != " ",
    "print": str.isprintable,
}


def matcher(pattern: str) -> Matches | None:
    """Return what tells whether a name matches a segment; None where the pattern is broken and matches nothing."""
    tokens = _tokens(pattern)
    if tokens is None:
        return None
    plain = "".join(token[1] for token in tokens if isinstance(token, str) and token[0] == "=")
    stars = [index for index, token in enumerate(tokens) if token == _STAR]
    if len(plain) == len(tokens):
        return plain.__eq__
    if len(plain) + 1 == len(tokens) and stars == [0]:
        return lambda name: name.endswith(plain)
    if len(plain) + 1 == len(tokens) and stars == [len(tokens) - 1]:
        return lambda name: name.startswith(plain)
    return lambda name: _fits(tokens, name)


def _tokens(pattern: str) -> list[_Token] | None:
    """Return the parts of a pattern: ``=c`` for a character, a test of one character, any character, a star."""
    found: list[_Token] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            if not found or found[-1] != _STAR:
                found.append(_STAR)
        elif character == "?":
            found.append(_ANY)
        elif character == "[":
            read = _class(pattern, at)
            if read is None:
                return None
            test, at = read
            found.append(test)
        else:
            if character == "\\":
                if at == len(pattern):
                    return None
                character = pattern[at]
                at += 1
            found.append(f"={character}")
    return found


def _class(pattern: str, at: int) -> tuple[_One, int] | None:
    """Read ``[…]`` from after its bracket; return its test and where it ends, or None if it does not end."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    tests: list[_One] = []
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        if at >= len(pattern):
            return None
        if pattern.startswith("[:", at) and (end := pattern.find(":]", at)) > 0:
            if pattern[at + 2 : end] not in _CLASSES:
                return None
            tests.append(_CLASSES[pattern[at + 2 : end]])
            at = end + 2
            continue
        low, at = _character(pattern, at)
        high = low
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _character(pattern, at + 1)
        if not low or not high:
            return None
        tests.append(lambda c, low=low, high=high: low <= c <= high)  # type: ignore[misc]
    return (lambda c: any(test(c) for test in tests) != negated), at + 1


def _character(pattern: str, at: int) -> tuple[str, int]:
    """Return the character at a place of a class, and where the next one is."""
    at += pattern[at : at + 1] == "\\"
    return pattern[at : at + 1], at + 1


def _fits(tokens: list[_Token], name: str) -> bool:
    """Whether a name fits: after a star the rest is tried from each place on, and only for the last star met."""
    at = token = 0
    star = back = -1
    while at < len(name):
        if token < len(tokens) and tokens[token] == _STAR:
            star, back, token = token, at, token + 1
        elif token < len(tokens) and _is(tokens[token], name[at]):
            at, token = at + 1, token + 1
        elif star >= 0:
            back += 1
            at, token = back, star + 1
        else:
            return False
    return all(left == _STAR for left in tokens[token:])


def _is(token: _Token, character: str) -> bool:
    if isinstance(token, str):
        return token == _ANY or (token[0] == "=" and token[1:] == character)
    return token(character)
