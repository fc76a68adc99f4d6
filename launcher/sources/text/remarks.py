"""Whether ``#`` begins a comment: not in a text that is quoted on its line, nor in a here-document that is shown."""

from __future__ import annotations

from bisect import bisect_right

from pd_launch.launcher.sources.text.per_file import per_file
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import SourceFile

_FAR = 2_000
"""Characters before and after on the line that are looked at."""
_BEFORE_QUOTE = " \t=,:;[({|&"
_BEHIND_QUOTE = " \t\r,:;])}|&"
_ENGINE = lazy_pattern(r"vllm|api_server|dynamo|pd-launch")
_HERE = lazy_pattern(r"<<-?[ \t]{0,9}(?P<quote>['\"\\]?)(?P<end>[A-Za-z_]\w{0,80})(?P=quote)?")
_LONGEST_END = 200


def is_remark(source: SourceFile, at: int) -> bool:
    """Whether the ``#`` at ``at`` can begin a comment that means the lines around it.

    In quotes that open before it on its line and close after it, it is text; but those may hold a script of their own.
    """
    line, column = source.place(at)
    if column > _FAR:
        return True
    text = source.line(line)
    opening = _open_quote(text, column - 1)
    if opening is None or _ENGINE.search(text[opening : column - 1]):
        return True
    return not _closes(text, column, text[opening])


def opens_script(source: SourceFile, at: int) -> bool:
    """Whether the ``#`` at ``at`` is the first of a text in quotes that goes on after its line: ``bash -c "# …``."""
    line, column = source.place(at)
    text = source.line(line)
    if column > _FAR or len(text) > _FAR:
        return False
    opening = _open_quote(text, column - 1)
    return opening is not None and not text[opening + 1 : column - 1].strip() and text[opening] not in text[column:]


def _open_quote(text: str, end: int) -> int | None:
    """Return the quote before ``end`` that begins a word or value and is not closed before it."""
    opening: int | None = None
    at = 0
    while at < end:
        sign = text[at]
        if sign == "\\" and (opening is None or text[opening] == '"'):
            at += 1
        elif opening is not None:
            opening = None if sign == text[opening] else opening
        elif sign in "'\"" and (at == 0 or text[at - 1] in _BEFORE_QUOTE):
            opening = at
        at += 1
    return opening


def _closes(text: str, at: int, quote: str) -> bool:
    """Whether a quote after ``at`` ends a word or value."""
    end = min(len(text), at + _FAR)
    return any(
        text[spot] == quote and (spot + 1 == len(text) or text[spot + 1] in _BEHIND_QUOTE) for spot in range(at, end)
    )


def is_shown(source: SourceFile, at: int) -> bool:
    """Whether ``at`` is in a here-document without an engine: text to show or to keep."""
    line = source.place(at)[0]
    shown = _shown(source)
    at = bisect_right(shown, line, key=lambda lines: lines.start)
    return at > 0 and line in shown[at - 1]


@per_file
def _shown(source: SourceFile) -> list[range]:
    """Return the lines of here-documents in a script that no engine is in."""
    if "<<" not in source.text:
        return []
    lines = source.text.split("\n")
    ends: dict[str, list[int]] = {}
    for number, text in enumerate(lines, 1):
        if len(text) < _LONGEST_END:
            ends.setdefault(text.strip(), []).append(number)
    found: list[range] = []
    behind = 0
    for number, text in enumerate(lines, 1):
        match = _HERE.search(text[:_FAR]) if number > behind and "<<" in text else None
        stops = ends.get(match["end"], []) if match else []
        at = bisect_right(stops, number)
        if at == len(stops):
            continue
        behind = stops[at]
        inside = lines[number : behind - 1]
        if not any(_ENGINE.search(line) for line in inside if not line.lstrip().startswith("#")):
            found.append(range(number + 1, behind))
    return found
