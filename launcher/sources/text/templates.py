"""What Helm, Jinja, ERB, envsubst and their like fill in, in whatever form the text around it has.

A value that is filled in is unknown. A line of nothing but control (``{% if big %}``, ``{{- end }}``) is no text.
Where such lines part branches of which one is taken, a text is read once for each: see :func:`variants`. One pass.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import pairwise
from typing import NamedTuple

from pd_launch.launcher.sources.text.chart import Bodies, left_out
from pd_launch.launcher.sources.text.weave import Weaver, with_holes
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, SourceFile, Text

MAX_VARIANTS = 12
"""Ways to choose branches that are read."""
BRANCH = -5
"""Marks branches among those of an engine where a template has several."""
_OPENING = lazy_pattern(
    r"\{\{|\{%|\{#(?=[\s-])|<%(?=[\w\s=#-])|(?<![\w@.-])@(?=[A-Z])|(?<![\w%{])%(?=[A-Z])|\$\{(?=[A-Za-z_])"
)
_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}", "<%": "%>"}
_NAME = lazy_pattern(r"([@%])[A-Z][A-Z0-9_]{1,60}\1(?![\w@%])")
_DOTTED = lazy_pattern(
    r"\$\{[A-Za-z_][\w-]{0,60}(?:\[\w{1,20}\])?\.\w[\w-]{0,60}(?:\.\w[\w-]{0,60}|\[[\w\"'-]{1,40}\]){0,8}"
    r"(?:[:|?][^{}\n]{0,200})?\}"
)
"""``${accelerator.dtypeArgs}``: no parameter of a shell has a dot in its name, so that another program fills it in."""
_WORD = lazy_pattern(r"[\s*=#-]{0,40}(?P<word>else[ \t]{1,9}if|[A-Za-z_]\w{0,30}|\})?")
_OPENS = frozenset({"if", "unless", "for", "foreach", "range", "with", "block", "macro", "call", "filter", "define"})
_PARTS = frozenset({"else", "elif", "elsif", "elseif"})
_FOLDED = ("yaml>", "yaml", "yaml-flow", 'yaml"', "yaml'")
_HOLES = lazy_pattern(f"{HOLE}{{3,}}")
_LONGEST_CALCULATION = 500
_LINE_ENDS = lazy_pattern(r"\n+")
_DEFAULT = lazy_pattern(r"""\bdefault\b[ \t(]{0,20}(["'])(?P<value>[^"'\n]{1,200})\1""")
"""``default "decode"`` of Helm, ``default('decode')`` of Jinja."""
_LONGEST = 2_000
"""Characters of one thing that is filled in."""


class Part(NamedTuple):
    """What is filled in: its place, whether it is alone on its line, and what it does."""

    start: int
    end: int
    alone: bool
    """``start`` and ``end`` are then those of the line, without its end."""
    does: str = ""
    """``open``, ``else`` or ``close`` a choice; ``control`` for what gives no text itself; empty for a value."""


def parts_of(text: str) -> list[Part]:
    """Return the parts that are filled in, in order.

    What holds a quoted key, as JSON with doubled braces does, is none unless it is alone.
    """
    return list(_parts(text)) if _OPENING.search(text) else []


def _parts(text: str) -> Iterator[Part]:
    closes: dict[str, int] = {}
    quotes = _Quotes(text)
    at = line = 0
    while (opening := _OPENING.search(text, at)) is not None:
        start, sign = opening.start(), opening.group()
        closing = _CLOSING.get(sign)
        if closing is None:
            name = (_DOTTED if sign == "${" else _NAME).match(text, start)
            at = name.end() if name else start + 1
            if name:
                yield Part(start, at, False)
            continue
        if closes.get(sign, -1) != len(text) and closes.get(sign, -1) < start + 2:
            found = text.find(closing, start + 2)
            closes[sign] = len(text) if found < 0 else found
        stop = closes[sign] + 2
        if stop > len(text) or stop - start > _LONGEST:
            at = start + 2
            continue
        line = max(line, text.rfind("\n", at, start) + 1)
        end = _end_of_line(text, line, at, start, stop)
        does = _what(sign, text[start + 2 : stop - 2])
        if end is not None:
            yield Part(line, end, True, does)
            at = end
        elif sign == "{{" and quotes.keyed(start):
            at = start + 1
        else:
            yield Part(start - (text[start - 1 : start] == "$"), stop, False, does)
            at = stop


class _Quotes:
    """Tells of a ``{{`` whether a quoted key is between it and the next brace."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.brace = self.quote = 0

    def keyed(self, start: int) -> bool:
        if self.brace < start + 2:
            before, self.brace = self.brace, self.text.find("}", start + 2)
            self.quote = max(self.text.rfind(mark, before, self.brace) for mark in ("':", '":'))
        return self.quote >= start + 2


def _end_of_line(text: str, line: int, at: int, start: int, stop: int) -> int | None:
    """Return the end of the line after a part with nothing else before and after it; None for another."""
    if line < at or text[line:start].strip(" \t"):
        return None
    end = text.find("\n", stop)
    end = len(text) if end < 0 else end
    return None if text[stop:end].strip(" \t\r") else end


def _what(sign: str, inside: str) -> str:
    if sign == "{#":
        return "control"
    match = _WORD.match(inside)
    word = (match["word"] if match is not None else None) or ""
    if sign == "<%" and inside[:1] == "=":
        return ""
    if word.startswith("else") or word in _PARTS or (word == "}" and "else" in inside):
        return "else"
    if word.startswith("end") or word == "}":
        return "close"
    if word in _OPENS or (sign == "<%" and inside.rstrip(" -").endswith("{")):
        return "open"
    if sign == "{{":
        begun = inside.lstrip("- ")
        return "control" if begun.startswith("/*") or (begun.startswith("$") and "=" in begun) else ""
    return "control"


class _Choice(NamedTuple):
    """Branches of which one is taken: the places between lines of control."""

    branches: tuple[tuple[int, int], ...]


def _choices(parts: list[Part]) -> list[_Choice]:
    """Return what lines of control choose between."""
    opened: list[list[Part]] = []
    found = []
    for part in parts:
        if part.does == "open":
            opened.append([part])
        elif part.does == "else" and opened:
            opened[-1].append(part)
        elif part.does == "close" and opened:
            marks = [*opened.pop(), part]
            if len(marks) > 2 and all(mark.alone for mark in marks):
                pairs = pairwise(marks)
                found.append(_Choice(tuple((min(one.end + 1, other.start), other.start) for one, other in pairs)))
    return found


@dataclass
class Variant:
    """A text as one choice of its branches makes it: the parts to fill, and the places that are left out."""

    number: int
    of: int
    parts: list[Part]
    left_out: list[tuple[int, int]] = field(default_factory=list)
    cut: bool = False
    """Whether there are further variants, which are not read."""

    @property
    def branch(self) -> tuple[tuple[int, int], ...]:
        """What an engine of it has among its branches."""
        return ((BRANCH, self.number),) if self.of > 1 else ()


def variants(text: str) -> list[Variant]:
    """Return how a text may be filled in, so that each branch is read in one of them; at least one."""
    parts = parts_of(text)
    if not parts:
        return [Variant(0, 1, [])]
    chosen = list(left_out([choice.branches for choice in _choices(parts)], MAX_VARIANTS + 1))
    kept, cut = chosen[:MAX_VARIANTS], len(chosen) > MAX_VARIANTS
    return [Variant(number, len(kept), parts, spans, cut) for number, spans in enumerate(kept)]


def woven(text: Text, variant: Variant) -> Text:
    """Return a text with one unknown sign for each value, and without the lines of control."""
    weaver, at = Weaver(text), 0
    value = text.value
    for start, end, hole in _cuts(value, variant):
        if start < at:
            continue
        weaver.take(at, start, None)
        if hole:
            weaver.put(HOLE, start, end, None)
        at = end
    weaver.take(at, len(value), None)
    made = weaver.text(len(value))
    return with_holes(made, _calculations(made.value))


def _calculations(text: str) -> Iterator[tuple[int, int]]:
    """Give the spans of a shell's ``$((…))`` with an unknown part: its parser would read on after the sign."""
    at = 0 if HOLE in text else len(text)
    while (start := text.find("$((", at)) >= 0:
        at = start + 3
        depth = 2
        for end in range(at, min(len(text), at + _LONGEST_CALCULATION)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                if HOLE in text[start:end]:
                    yield start, end + 1
                    at = end + 1
                break


def _cuts(text: str, variant: Variant) -> list[tuple[int, int, bool]]:
    """Return what is not read as it is: where it is, and whether something unknown takes its place."""
    cuts = [(start, end, False) for start, end in variant.left_out]
    for part in variant.parts:
        if not part.alone or "\n" not in text:
            cuts.append((part.start, part.end, True))
        elif part.does:
            cuts.append((part.start, min(part.end + 1, len(text)), False))
        else:
            inner = text[part.start : part.end]
            blanks = len(inner) - len(inner.lstrip())
            cuts.append((part.start + blanks, part.end, True))
    return sorted(cuts, key=lambda cut: (cut[0], -cut[1]))


def filled(text: Text) -> Text:
    """Return a text with its values unknown; of branches, the first is taken."""
    found = variants(text.value)[0]
    return _one_hole_each(woven(text, found) if found.parts else text)


def _one_hole_each(text: Text) -> Text:
    """Return a text of a filled file with one unknown sign for each value, of which the file has many."""
    if not isinstance(text.source, FilledFile) or HOLE * 3 not in text.value:
        return text
    return with_holes(text, (run.span() for run in _HOLES.finditer(text.value)))


def as_written(source: SourceFile) -> str:
    """Return a file's text before anything was filled in."""
    return source.written if isinstance(source, FilledFile) else source.text


def usual(text: Text) -> str | None:
    """Return what stands for a value that is filled in where nobody says another: the last default that it names.

    It may well be another, so that it tells what a part is meant for, and is no value to judge.
    """
    if HOLE not in text.value or not isinstance(text.source, FilledFile):
        return None
    found = list(_DEFAULT.finditer(text.source.written, text.spots[0], text.spots[-1]))
    return found[-1]["value"] if found else None


def _covered(text: str, cuts: Iterable[tuple[int, int, str]]) -> str:
    """Return a text of the same length with each cut filled by a sign; of cuts that overlap, the first and longest."""
    pieces, at = [], 0
    for start, end, sign in sorted(cuts, key=lambda cut: (cut[0], -cut[1])):
        if start >= at:
            pieces += [text[at:start], sign * (end - start)]
            at = end
    return "".join([*pieces, text[at:]])


class FilledFile(SourceFile):
    """A file as one variant makes it, all characters in their places.

    What is no text at all becomes line ends: in YAML a line of blanks may be one too deep. What is filled in is one
    line. All are counted as in the file.
    """

    def __init__(self, source: SourceFile, variant: Variant) -> None:
        blank: list[tuple[int, int, str]] = [(start, end, "\n") for start, end in variant.left_out]
        blank += [(part.start, part.end, "\n" if part.alone else HOLE) for part in variant.parts]
        text = _covered(source.text, blank)
        text = _covered(text, [(start, end, HOLE) for start, end in _calculations(text)])
        super().__init__(source.path, text, source.exact, source.starts)
        self.written = source.text
        self.branch = variant.branch
        self.bodies = Bodies.of(variant.parts)
        self.cut = variant.cut
        own = ((part.start, part.end, not part.does) for part in variant.parts if part.alone)
        self.gone = sorted([*((start, end, False) for start, end in variant.left_out), *own])
        """Where lines are that are no text at all, and whether something unknown is filled in instead."""

    def gone_at(self, offset: int) -> tuple[int, int, bool] | None:
        """Return the lines at a place that are no text, their end included."""
        place = bisect_right(self.gone, (offset, len(self.text), True)) - 1
        return self.gone[place] if place >= 0 and offset <= self.gone[place][1] else None


def is_gone(source: SourceFile, offset: int) -> bool:
    """Whether the line at a place is no text of a file as it was filled in."""
    return isinstance(source, FilledFile) and source.gone_at(offset) is not None


def files_of(source: SourceFile) -> list[SourceFile]:
    """Return a file as each of its variants makes it; itself where nothing is filled in."""
    found = variants(source.text)
    return [FilledFile(source, variant) for variant in found] if found[0].parts else [source]


def _is_folded(text: Text, index: int) -> bool:
    """Whether a line end is in YAML of a style in which lines are put together."""
    quoting = text.quoting(index)
    while quoting is not None and quoting.outer is not None:
        quoting = quoting.outer
    return quoting is not None and quoting.kind in _FOLDED


def without_gone(text: Text) -> Text:
    """Return a script of a filled file without the lines that are no text: a command goes on after them."""
    source, text = text.source, _one_hole_each(text)
    if not isinstance(source, FilledFile) or not source.gone:
        return text
    weaver, at, value = Weaver(text), 0, text.value
    for run in _LINE_ENDS.finditer(value):
        gone = [index for index in range(*run.span()) if source.gone_at(text.spots[index])]
        if not gone:
            continue
        weaver.take(at, run.start() if _is_folded(text, run.start()) else gone[0], None)
        at = gone[-1] + 1
        values = any(found[2] for index in gone if (found := source.gone_at(text.spots[index])) is not None)
        if values:
            weaver.put(f" {HOLE}", gone[0], at, None)
        if _is_folded(text, run.start()) or values:
            weaver.put(" " if _is_folded(text, run.start()) else "\n", gone[0], at, None)
    weaver.take(at, len(value), None)
    return weaver.text(len(value)) if at else text
