"""Commands that a missing or broken line continuation tears apart are put together again.

The shell runs something else then, and the finding says so; but what was meant is plain, and the other rules look at
that: neither is a fault in the torn-off options missed, nor an option reported as missing that is in the next line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pd_launch.launcher.sources.shell.model import Command
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Origin

_OPTION = lazy_pattern(r"--?[A-Za-z][\w.-]*(=.*)?", re.DOTALL)


def put_together(commands: Sequence[Command], faults: Sequence[Fault]) -> tuple[list[Command], list[Fault]]:
    """Return commands with torn-off options back at their command, and a fault for each place without one yet."""
    whole: list[Command] = []
    found: list[Fault] = []
    for command in commands:
        before = whole[-1] if whole else None
        if not _is_torn_off(command, before):
            whole.append(command)
            continue
        start = before.origin if before is not None else command.origin
        if not _filled_in(before) and not any(_between(fault.origin, start, command.origin) for fault in faults):
            found.append(_fault(command))
        if before is None:
            whole.append(command)
        else:
            kept = before.words[:-1] if before.words[-1].value == "\\" else before.words
            joined = before.words.having([*kept, *command.words])
            whole[-1] = replace(before, words=joined, origin=_up_to(start, command.origin), body=command.body)
    return whole, found


def _filled_in(before: Command | None) -> bool:
    """Whether a command ends with what a template fills in, which may well let the line go on."""
    word = before.words[-1] if before is not None else None
    return word is not None and word.value == HOLE and word.source.text[word.spots[0]] not in "$`"


def _is_torn_off(command: Command, before: Command | None) -> bool:
    """Whether a command begins with an option, or with the JSON value of one."""
    first = command.words[0].value
    if before is None or before.branches != command.branches:
        return first.startswith("--")
    words = [word.value for word in before.words if word.value != "\\"]
    awaited = words[-1:] != [] and words[-1].startswith("--") and "=" not in words[-1]
    return _OPTION.fullmatch(first) is not None or (awaited and first.startswith("{"))


def _between(origin: Origin, start: Origin, end: Origin) -> bool:
    """Whether a fault lies after the beginning of one command, up to that of the next."""
    return (start.line, start.column) <= (origin.line, origin.column) < (end.line, end.column)


def _up_to(start: Origin, end: Origin) -> Origin:
    return replace(start, end_line=end.end_line, end_column=end.end_column)


def _fault(command: Command) -> Fault:
    word = command.words[0]
    return Fault(
        "shell",
        word.origin(),
        Msg(
            f"{word.value[:40]} starts a new command: the line before it does not continue",
            f"{word.value[:40]} 成了一条新命令：上一行没有续行",
        ),
        help=Msg(
            "end the line before with a backslash, and keep comments out of the middle of a command",
            "在上一行末尾加反斜杠；命令中间不要插入注释行",
        ),
    )
