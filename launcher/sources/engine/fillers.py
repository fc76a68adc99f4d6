"""Programs that put what they read into the words of another: ``xargs``, ``find``, ``parallel``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pd_launch.launcher.sources.text.interpolate import split_words
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Text

FILLS = ("xargs", "find", "parallel")
"""Programs that write something for ``{}`` into the words after them."""
_GAP = lazy_pattern(r"\{(?:\d{1,3}|[./#%]{1,2})?\}")
_SIGN = lazy_pattern(r"-I(?P<short>.{0,80})|--replace(?:=(?P<long>.{0,80}))?|-i(?P<old>.{0,80})")
_IN_PARTS = lazy_pattern(r"-[nL]\d{0,9}|--max-(?:args|lines)(?:=\d{1,9})?")
_VALUED = ("-j", "-P", "-n", "-N", "-L", "-S", "-a", "-C", "-d", "-E", "-s", "-t", "--jobs", "--max-procs")
_VALUED_LONG = (
    *("--delay", "--joblog", "--sshlogin", "--slf", "--timeout", "--retries", "--tmpdir", "--results", "--colsep"),
    *("--halt", "--load", "--memfree", "--nice", "--tagstring", "--delimiter", "--workdir", "--wd", "--env"),
)
_OWN_INPUT = (":::", ":::+", "::::", "::::+")


def unfilled(text: Text, sign: str = "{}") -> Text:
    """Return a text in which ``{}``, or another sign, for which something is put, is unknown."""
    pattern = _GAP if sign == "{}" else re.compile(re.escape(sign))
    parts, at = [], 0
    for match in pattern.finditer(text.value):
        parts += [text.part(at, match.start()), text.part(*match.span()).stand_in(HOLE)]
        at = match.end()
    return concat([*parts, text.part(at, len(text.value))], text.source, text.spots[0]) if at else text


def sign_of(words: Sequence[Text]) -> str:
    """Return what stands for the input in the words after ``xargs -I NAME``; ``{}`` if nothing else is named."""
    for word, behind in zip(words, [*words[1:], None], strict=True):
        given = _SIGN.fullmatch(word.value)
        if given is not None and word is not words[0]:
            own = given["short"] or given["long"] or given["old"]
            return own or (behind.value if behind is not None and word.value == "-I" else "") or "{}"
    return "{}"


def runs_lines(words: Sequence[Text]) -> bool:
    """Whether each line of the input is a command: ``parallel`` without one, ``xargs -I{} sh -c '{}'``."""
    name = words[0].value.rpartition("/")[2] if words else ""
    if name not in ("xargs", "parallel") or any(word.value in _OWN_INPUT for word in words):
        return False
    operands = list(_operands(words))
    if not operands:
        return name == "parallel"
    last, sign = operands[-1].value, sign_of(words)
    if len(operands) > 1 and operands[-2].value.startswith("-") and operands[-2].value.endswith("c"):
        return last.strip("'\"") == sign
    return (len(operands) == 1 and last == sign) or (
        len(operands) == 2 and re.fullmatch(r"-\w{0,9}c", last) is not None
    )


def _operands(words: Sequence[Text]) -> Iterator[Text]:
    """Iterate over the command after the options of a program that fills."""
    at = 1
    while at < len(words) and words[at].value.startswith("-") and words[at].value != "--":
        at += 2 if words[at].value in (*_VALUED, *_VALUED_LONG, "-I") else 1
    yield from words[at:]


def with_input(words: Sequence[Text], given: Text | None) -> list[Text] | None:
    """Return the words that ``xargs COMMAND`` runs where all of its input is known and goes after them, else None."""
    if not words or words[0].value.rpartition("/")[2] != "xargs" or given is None or HOLE in given.value:
        return None
    operands = list(_operands(words))
    own = words[: len(words) - len(operands)]
    if not operands or any(_SIGN.fullmatch(word.value) or _IN_PARTS.match(word.value) for word in own[1:]):
        return None
    return [*operands, *split_words(given)[0]]
