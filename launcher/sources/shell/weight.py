"""Which parts of a script can matter: only these are followed again and again, and count against limits.

What neither starts an engine nor sets a variable leaves no trace, however often it runs: ``echo``, ``sleep``, ``curl``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Sequence
from functools import cached_property

from pd_launch.schemas.core.lazy import lazy_pattern

_STARTS = r"vllm|api_server|dynamo|pd-launch|online_dp|proxy|docker|podman|nerdctl"
_SHELLS = r"(?<![\w.-])(?:ba|z|da)?sh(?![\w.-])|\b(?:eval|ssh|source)\b"
_STATES = r"\b(?:read|mapfile|readarray|getopts|let|set|unset|export|declare|typeset|kill|pkill|killall|wait)\b"
_SETS = r"(?<![\w$./{-])[A-Za-z_]\w*(?:\[[^]\n]{0,80}\])?\+?=|\(\("
_RUNS = r"(?:^|[;&|({]|\b(?:do|then|else|exec|nohup)\b)[ \t]*[\"']?\$(?!\()"
_LOCAL = r"\blocal[ \t]+[A-Za-z_]\w*="
MATTERS = lazy_pattern(f"(?P<local>{_LOCAL})|{_STARTS}|{_SHELLS}|{_STATES}|{_SETS}|{_RUNS}", re.MULTILINE)
"""What can matter, by its text: more than needed is taken for it, never less. A local variable ends with its call."""
_WORD_MATTERS = lazy_pattern(f"{_STARTS}|{_SHELLS}")
_NAME = lazy_pattern(r"[\w.:-]+")


def word_matters(word: str) -> bool:
    """Whether an expanded word may belong to what starts an engine."""
    return _WORD_MATTERS.search(word) is not None


class Places:
    """Where in a text a pattern fits, to ask for parts of it."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self.pattern, self.text = pattern, text

    @cached_property
    def at(self) -> Sequence[int]:
        """The offsets, in order."""
        return [match.start() for match in self.pattern.finditer(self.text)]

    def within(self, start: int, end: int) -> bool:
        """Whether there is one in ``[start, end)``."""
        return _within(self.at, start, end)


def _within(places: Sequence[int], start: int, end: int) -> bool:
    first = bisect_left(places, start)
    return first < len(places) and places[first] < end


class Weights:
    """Tells of parts of one script whether they can matter, with the functions that they call."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.defined: dict[tuple[str, int], tuple[int, int]] = {}
        self.heavy: set[str] = set()
        self.callers: dict[str, set[tuple[str, int]]] = {}
        """For each word, the functions that matter by nothing so far but have it in their body."""

    @cached_property
    def places(self) -> list[int]:
        """Where something can matter, by itself or as the name of a function that does, in order."""
        return [match.start() for match in MATTERS.finditer(self.text) if match["local"] is None]

    @cached_property
    def words(self) -> tuple[list[int], list[str]]:
        """Where each word begins, and the words."""
        found = list(_NAME.finditer(self.text))
        return [match.start() for match in found], [match.group() for match in found]

    @cached_property
    def mentions(self) -> dict[str, list[int]]:
        """Where each word is."""
        found: dict[str, list[int]] = {}
        for at, word in zip(*self.words, strict=True):
            found.setdefault(word, []).append(at)
        return found

    def matters(self, start: int, end: int) -> bool:
        """Whether ``[start, end)`` can matter."""
        return _within(self.places, start, end)

    def define(self, name: str, start: int, end: int) -> None:
        """Take in that a function was defined, with its body."""
        key = (name, start)
        if key in self.defined:
            return
        self.defined[key] = (start, end)
        if self.matters(start, end):
            self.weighs(name)
            return
        starts, words = self.words
        for word in words[bisect_left(starts, start) : bisect_left(starts, end)]:
            self.callers.setdefault(word, set()).add(key)

    def weighs(self, name: str) -> None:
        """Take in that a function matters, and with it those that call it."""
        waiting = [name]
        while waiting:
            name = waiting.pop()
            if name in self.heavy:
                continue
            self.heavy.add(name)
            for at in self.mentions.get(name, ()):
                insort(self.places, at)
            waiting += [caller for caller, _ in self.callers.pop(name, ())]
