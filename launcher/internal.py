"""The guard around every command: a fault of pd-launch itself is one line and a status of its own, no traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import click

from pd_launch import __version__

STATUS = 70
"""EX_SOFTWARE of sysexits.h: nothing is known of the input, since the program failed."""
_ROOT = Path(__file__).resolve().parent.parent
_SPOKEN = (OSError, click.ClickException, click.exceptions.Exit, click.Abort)
"""What the command line itself answers to."""
_OURS = ("launcher", "schemas", "connector")


class Guard:
    """A context that takes up whatever the commands do not handle; ``failed`` says that there was something.

    With ``debug`` the traceback is shown before the line that sums it up.
    """

    def __init__(self, language: Callable[[], str]) -> None:
        self.debug = False
        self.failed = False
        self._language = language

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, _SPOKEN):
            return False
        self.failed = True
        lines = _traceback(error) if self.debug else ""
        with contextlib.suppress(OSError):
            click.echo(f"{lines}pd-launch: {_message(error, trace, self._language())}", err=True)
        return True


def _message(error: Exception, trace: TracebackType | None, language: str) -> str:
    """Say what failed and what to report. The error's own words stay out: they may hold a part of the input."""
    what = f"{type(error).__name__}, {_place(trace)}, pd-launch {__version__}"
    from pd_launch.schemas.core.msg import Msg

    return Msg(
        f"internal fault ({what}): pd-launch itself failed and says nothing about the input; "
        "please report the command and this line (pd-launch --debug shows the details)",
        f"内部错误（{what}）：这是 pd-launch 自身的缺陷，与输入是否正确无关，本次没有得出结论；请把命令和这一"
        "行报告给我们（pd-launch --debug 会显示细节）",
    ).text(language)


def _place(trace: TracebackType | None) -> str:
    """Return the innermost place of ours, such as ``launcher/check/config.py:12``."""
    place = "unknown place"
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename).resolve()
        if path.is_relative_to(_ROOT) and path.relative_to(_ROOT).parts[0] in _OURS:
            place = f"{path.relative_to(_ROOT)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _traceback(error: Exception) -> str:
    """Return a traceback without anything that a terminal would act on: messages quote what was read."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return "".join(f"{line if line.isprintable() else ascii(line)}\n" for line in text.splitlines())
