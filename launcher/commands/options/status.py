"""``pd-launch status``: options."""

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
    profile_option,
    settings_option,
)
from pd_launch.launcher.commands.options.finite import Finite
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class StatusOptions:
    """Show what running engines do: is the offload active, what was preempted, parked, restored, and what fell back.

    Reads /metrics, /version and /health of every URL at once. The verdict and the exit status mean the same as those of
    logs; the status is 1 if an engine does not answer.

    \b
    Examples:
      pd-launch status http://127.0.0.1:8100 http://127.0.0.1:8200
      pd-launch status --profile cpu-tiny --watch
    """

    urls: tuple[str, ...] = argument(nargs=-1, metavar="[URL]...", type=click.UNPROCESSED)
    profile: str | None = profile_option("Compare the engines with this profile, and use its names.")
    settings: tuple[str, ...] = settings_option()
    watch: float | None = option(
        "--watch",
        metavar="[SECONDS]",
        is_flag=False,
        flag_value=5.0,
        type=Finite(0.2, 86400),
        help="Read again at this interval (default: 5 s); without a terminal, print JSON lines.",
    )
    count: int | None = option(
        "--count", metavar="N", type=click.IntRange(1), help="Stop --watch after this many readings."
    )
    record: str | None = option(
        "--record", metavar="FILE", help="Record every reading in this file, for --replay and simulate."
    )
    replay: str | None = option("--replay", metavar="FILE", help="Show what --record recorded.")
    timeout: float = option(
        "--timeout",
        metavar="SECONDS",
        type=Finite(0.1, 300),
        default=5.0,
        show_default=True,
        help="How long an engine may take to answer.",
    )
    form: str = form_option()
    output: str | None = output_option("Write the last reading to this file.")
    color: str = color_option()
    lang: str | None = lang_option()


class _Watching(click.Command):
    """A command whose --watch takes the next word for its seconds only where that is a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        for place, word in enumerate(words):
            if word == "--":
                break
            if word == "--watch" and not _is_number("".join(words[place + 1 : place + 2])):
                words[place] = "--watch=5"
        return super().parse_args(ctx, words)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


COMMANDS = {"status": command(StatusOptions, "status:status_command", cls=_Watching)}
