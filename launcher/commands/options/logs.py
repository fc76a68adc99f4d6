"""``pd-launch logs``: options."""

from __future__ import annotations

import click

from pd_launch.launcher.commands.options import (
    argument,
    color_option,
    command,
    form_option,
    lang_option,
    option,
    output_option,
)
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class LogsOptions:
    """Read engine logs: is preemption offload active, and what happened to preempted requests?

    Exits 0 if it is active and healthy or idle, 1 if it is inactive, fell back or failed, and 2 if the file is not an
    engine's log.

    \b
    Examples:
      pd-launch logs decode.log
      kubectl logs decode-0 | pd-launch logs -
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE|-...", type=click.UNPROCESSED)
    follow: bool = option("--follow", "-f", is_flag=True, help="Keep reading what is appended, until interrupted.")
    timeline: bool = option(
        "--timeline", is_flag=True, help="Also show what happened to each preempted request, line by line."
    )
    request: str | None = option(
        "--request", metavar="ID", help="Show the timeline of requests whose id contains this."
    )
    form: str = form_option()
    output: str | None = output_option()
    progress: bool | None = option("--progress/--no-progress", default=None, help="Show progress on large files.")
    color: str = color_option()
    lang: str | None = lang_option()


COMMANDS = {"logs": command(LogsOptions, "logs:logs_command")}
