"""What following a shell script gives, and what is kept while it is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from pd_launch.launcher.sources.text.interpolate import Words
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Origin, Text

MAX_COMMANDS = 2000
"""Commands that can matter."""
MAX_CALLS = 20
MAX_STEPS = 10_000
"""Statements that are followed again, in loops and functions: the first time is free."""
PLAIN_STEPS = 500
"""After so many, what cannot matter is not followed again: nothing is missed."""
MAX_DEPTH = 200
MAX_EXPORTED = 2000
INSIDE = Msg("what is inside is not checked", "里面的内容没有检查")
Value = Text | list[Text]
WORDS = (
    *("word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "expansion"),
    *("simple_expansion", "arithmetic_expansion", "command_substitution", "process_substitution", "brace_expression"),
)
NO_FLOW = ("comment", "heredoc_body", "heredoc_redirect", "file_redirect", "herestring_redirect")
NO_OPERATORS = ("==", "=~")
"""Signs that the parser takes for operators of a test also where they are words of a command."""


@dataclass
class Command:
    """A simple command as it would run: words, environment, and where it is."""

    words: Words
    env: Mapping[str, tuple[Text, str]]
    """Name to value and how it was set: ``export`` or ``inline``. Commands that cannot matter are given none."""
    origin: Origin
    body: Text | None = None
    """The here-document that it is given."""
    alone: bool = False
    """Whether it alone is given the here-document: a loop hands one on to all that is in it."""
    target: str = ""
    """The file that its output goes to."""
    prints: Text | None = None
    """What it prints, where that is known and speaks of an engine."""
    unread: Text | None = None
    """What it is given to read, where that speaks of an engine and is not known as it will be read."""
    branches: tuple[tuple[int, int], ...] = ()
    """The branches of conditions that lead to it: where the condition is, and which branch."""
    foreground: bool = False
    """Whether the script waits for its end before it goes on."""
    names: dict[str, Text] = field(default_factory=dict)
    """The names of its variables as they are written, where they are."""
    env_open: Origin | None = None
    """Where it may be given further variables that are not known."""
    kept: Mapping[str, Text] = field(default_factory=dict)
    """Variables that the shell keeps to itself, and nothing in the script reads: their names, as they are written."""


@dataclass
class Script:
    """What a script would run, in order, and what is wrong with its text."""

    commands: list[Command] = field(default_factory=list)
    held: list[Text] = field(default_factory=list)
    """Values and here-documents that speak of an engine: the script may run them in ways that are not followed."""
    faults: list[Fault] = field(default_factory=list)


@dataclass
class Called:
    """A function that is being followed."""

    body: int
    started: int
    """How many different commands had been started before it."""
    mark: int
    hidden: dict[str, Text | list[Text] | None] = field(default_factory=dict)
    """Its local variables, with what they hide."""


@dataclass
class Loop:
    """A loop that is being followed."""

    body: Any
    matters: bool
    mark: int
    settled: bool = False
    """Whether its last round started nothing new, and set only what is unknown: another one brings nothing."""


def is_unknown(value: Value | None) -> bool:
    """Whether a value has an unknown part, or there is none."""
    if isinstance(value, Text):
        return HOLE in value.value
    return value is None or any(HOLE in word.value for word in value)


def same_words(left: list[Text], right: list[Text]) -> bool:
    """Whether two lists hold the same known words."""
    return all(one is other or same(one, other) for one, other in zip(left, right, strict=True))


def same(left: Text | list[Text] | None, right: Text | list[Text] | None) -> bool:
    """Whether two values are known to be the same."""
    if isinstance(left, Text) and isinstance(right, Text):
        return left.value == right.value and HOLE not in left.value
    return left is right
