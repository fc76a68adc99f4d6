"""What ``${NAME#PATTERN}``, ``${NAME//PATTERN/TEXT}``, ``${NAME^^}``, ``${NAME:1:3}`` and their like make of a value.

Patterns with one star at most are followed: what more of them fit takes longer to find out than a script is worth.
"""

from __future__ import annotations

import re
from collections.abc import Callable

CUTS = ("#", "##", "%", "%%")
"""Operators that take off what a pattern fits, at the beginning or at the end."""
PUTS = ("/", "//", "/#", "/%")
"""Operators that put a text for what a pattern fits."""
_CASES: dict[str, Callable[[str], str]] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": lambda value: value[:1].upper() + value[1:],
    ",": lambda value: value[:1].lower() + value[1:],
    "@U": str.upper,
    "@L": str.lower,
    "@u": lambda value: value[:1].upper() + value[1:],
}
_LONGEST = 1_000
_OF_BASH = ("$", "`", "(", "\\", "'", '"')
"""Signs in a pattern that stand for something else."""


def in_case(value: str, operator: str) -> str | None:
    """Return what an operator for upper and lower case makes of a value; None if it is none of these."""
    change = _CASES.get(operator)
    return change(value) if change is not None else None


def as_pattern(written: str, literal: bool) -> re.Pattern[str] | None:
    """Return a shell's pattern, or the text that a quoted one is; None where it is not followed."""
    if literal:
        return re.compile(re.escape(written))
    if any(sign in written for sign in _OF_BASH) or written.count("*") > 1 or len(written) > _LONGEST:
        return None
    parts, at = list[str](), 0
    while at < len(written):
        sign = written[at]
        end = written.find("]", at + 2) if sign == "[" else -1
        if sign == "[" and (end < 0 or "[" in written[at + 1 : end]):
            return None
        if sign == "[":
            inner = written[at + 1 : end]
            excludes = inner[0] in "!^"
            parts.append(f"[{'^' * excludes}{_in_set(inner[excludes:])}]")
            at = end
        else:
            parts.append({"*": ".*", "?": "."}.get(sign) or re.escape(sign))
        at += 1
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        return None


def _in_set(inner: str) -> str:
    """Return what is between the brackets of a pattern as Python writes it: signs that mean something there alone."""
    return inner.replace("^", "\\^").replace("&", "\\&").replace("|", "\\|").replace("~", "\\~")


def without(value: str, operator: str, pattern: re.Pattern[str]) -> str | None:
    """Return a value without what the pattern fits: at its beginning, or at its end; None if it is too long."""
    if len(value) > _LONGEST:
        return None
    places = range(len(value) + 1)
    front = operator[0] == "#"
    for at in places if (len(operator) == 1) == front else reversed(places):
        if pattern.fullmatch(value, 0, at) if front else pattern.fullmatch(value, at):
            return value[at:] if front else value[:at]
    return value


def instead(value: str, operator: str, pattern: re.Pattern[str], new: str) -> str | None:
    """Return a value with a text for what the pattern fits: the first time, each time, at the beginning or the end."""
    if not _LONGEST >= len(value) > 0 or "&" in new or "\\" in new:  # newer shells put what fits for &
        return None
    if operator == "/#":
        found = pattern.match(value)
        return value if found is None else new + value[found.end() :]
    if operator == "/%":
        at = next((at for at in range(len(value) + 1) if pattern.fullmatch(value, at)), None)
        return value if at is None else value[:at] + new
    parts, at = list[str](), 0
    for found in pattern.finditer(value):
        if not found.group():
            continue
        parts += [value[at : found.start()], new]
        at = found.end()
        if operator == "/":
            break
    return "".join([*parts, value[at:]])


def sliced(value: str, first: int, count: int | None) -> str | None:
    """Return what ``${NAME:FIRST:COUNT}`` takes of a value; None where the shell would refuse it."""
    begin = first + len(value) if first < 0 else first
    if begin < 0 or begin > len(value):
        return ""
    end = len(value) if count is None else begin + count if count >= 0 else len(value) + count
    return value[begin:end] if end >= begin else None
