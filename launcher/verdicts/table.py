"""The verdicts: one table for ``logs`` and ``status``, gravest first, with title, exit status and colour of each."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.logs import Problem, Verdict

Severity = Literal["error", "warning", "info"]
Status = Literal[0, 1, 2]


@dataclass(frozen=True)
class Row:
    """One verdict: what it is called, the exit status that goes with it, and the colour of a terminal."""

    title: Msg
    status: Status
    colour: str


VERDICTS: dict[Verdict, Row] = {
    "errors": Row(Msg("ERRORS", "有错误"), 1, "31"),
    "inactive": Row(Msg("INACTIVE", "未启用"), 1, "33"),
    "fallbacks": Row(Msg("FALLBACKS", "有回退"), 1, "33"),
    "idle": Row(Msg("ACTIVE, IDLE", "已启用，空闲"), 0, "32"),
    "healthy": Row(Msg("HEALTHY", "正常"), 0, "32"),
    "not_an_engine": Row(Msg("NOT AN ENGINE'S LOG", "不是引擎日志"), 2, "31"),
}
COLOURS: dict[Severity, str] = {"error": "31", "warning": "33", "info": "36"}
COLON, COMMA, SEMICOLON = Msg(": ", "："), Msg(", ", "，"), Msg("; ", "；")
"""Marks between texts that are put together one by one."""


@dataclass(frozen=True)
class Trouble:
    """One thing to change. Line 0: it is about the whole."""

    code: str
    severity: Severity
    message: Msg
    help: Msg = NOTHING
    line: int = 0
    count: int = 1
    text: str = ""


def problem_of(trouble: Trouble, lang: str) -> Problem:
    """Return a trouble as reports write it, in one language."""
    return Problem(
        code=trouble.code or None,
        severity=trouble.severity,
        message=trouble.message.text(lang),
        help=trouble.help.text(lang),
        line=trouble.line or None,
        count=trouble.count,
        text=trouble.text,
    )


def over_all(verdicts: Collection[Verdict]) -> Verdict:
    """Return what stands for several engines: the gravest, but one that worked makes up for those that only wait."""
    gravest: Verdict = next((v for v in VERDICTS if v in verdicts), "not_an_engine")
    return "healthy" if gravest == "idle" and "healthy" in verdicts else gravest
