"""What is shown while a text is being typed.

A quote that was just opened, or a bracket, changes what all text after it means, as far as the next one: what is found
there is not about what is there. So as long as an edit leaves a text that cannot be read as it is, and could be
before, only what is found on the edited lines is new; of all other lines the findings of the last whole text stay, at
the places where those lines are now. When the text is whole again, or saved, it is taken as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import SequenceMatcher

from pd_launch.launcher.lsp.model import Answer, Shown, Span, Spot
from pd_launch.schemas.core.record import dataclass

_GOES_ON = ("\\", "<", ">", "|", "&&", "(")
"""What a line ends with that is not finished."""
_MOST_LINES = 2_000
"""Changed lines that are compared with each other one by one."""


@dataclass(frozen=True)
class Lines:
    """Which lines of a text are new, and where those of the text before are now. Lines count from 0."""

    changed: frozenset[int]
    now: Mapping[int, int]
    dangling: bool = False
    """Whether an edited line goes on in one that was not edited, and that belonged to none before."""


def compared(old: str, new: str) -> Lines:
    """Compare two texts line by line."""
    before, after = old.split("\n"), new.split("\n")
    most = min(len(before), len(after))
    head = 0
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    now = {line: line for line in range(head)}
    now |= {len(before) - 1 - back: len(after) - 1 - back for back in range(tail)}
    middle, middle_now = before[head : len(before) - tail], after[head : len(after) - tail]
    changed = set(range(head, len(after) - tail))
    if len(middle) + len(middle_now) <= _MOST_LINES:
        for a, b, size in SequenceMatcher(None, middle, middle_now, autojunk=False).get_matching_blocks():
            now |= {head + a + at: head + b + at for at in range(size)}
            changed -= {head + b + at for at in range(size)}
    dangling = _dangles(before, after, changed, now)
    if old != new and not changed:  # lines were only taken out: the places at both sides are where that was done
        changed = {line for line in (head - 1, head) if 0 <= line < len(after)}
    return Lines(frozenset(changed), now, dangling)


def _dangles(before: list[str], after: list[str], changed: Collection[int], now: Mapping[int, int]) -> bool:
    was = {there: line for line, there in now.items()}
    return any(
        after[line].rstrip().endswith(_GOES_ON)
        and line + 1 in was
        and not (was[line + 1] > 0 and before[was[line + 1] - 1].rstrip().endswith(_GOES_ON))
        for line in changed
    )


def is_torn(before: Answer, answer: Answer, path: str, lines: Lines) -> bool:
    """Whether an edit of a file left a text that cannot be read as it is, and could be before."""
    if lines.dangling or (path in answer.open and path not in before.open):
        return True
    known, found = _grammar(before), _grammar(answer, path, lines.changed)
    return any(count > known[key] for key, count in found.items())


def held(before: Answer, answer: Answer, path: str, lines: Lines) -> list[Shown]:
    """Return what is shown of a text that is torn: new on the edited lines, of all else what was found before."""
    new = [shown for shown in answer.shown if shown.path == path and shown.span.start.line in lines.changed]
    kept = [moved for shown in before.shown if (moved := _moved(shown, path, lines)) is not None]
    return sorted([*new, *kept], key=lambda shown: (shown.path, shown.span, shown.code))


def _grammar(answer: Answer, path: str = "", near: frozenset[int] = frozenset()) -> Counter[tuple[str, str]]:
    """Count what says that a text cannot be read; a blank too many on an edited line keeps to that line."""
    return Counter(
        (shown.path, shown.code)
        for shown in answer.shown
        if shown.grammar and not (shown.code == "PD003" and shown.path == path and shown.span.start.line in near)
    )


def _moved(shown: Shown, path: str, lines: Lines) -> Shown | None:
    """Return a finding of the text before where it is now; None where its line was edited."""
    related = []
    for file, span, message in shown.related:
        place = _span(span, lines) if file == path else span
        if place is not None:
            related.append((file, place, message))
    span_now = _span(shown.span, lines) if shown.path == path else shown.span
    if span_now is None:
        return None
    return replace(shown, span=span_now, related=tuple(related), repair=None)


def _span(span: Span, lines: Lines) -> Span | None:
    start = lines.now.get(span.start.line)
    if start is None:
        return None
    end = lines.now.get(span.end.line, start)
    if end < start:
        end = start
    end_column = span.end.column if end - start == span.end.line - span.start.line else span.start.column
    return Span(Spot(start, span.start.column), Spot(end, end_column))
