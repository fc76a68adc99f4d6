"""``pd-launch init``: options."""

from __future__ import annotations

import click

from pd_launch.launcher.commands.options import argument, command, lang_option, option, target_option
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class InitOptions:
    """Make a profile: from existing launches with --from, else from a few questions.

    What could not be carried over is listed, and the status is then 1.

    \b
    Examples:
      pd-launch init --from decode.sh prefill.sh -o my.yaml
      pd-launch init
    """

    sources: tuple[str, ...] = option(
        "--from", multiple=True, metavar="FILE", help="Convert this script, manifest or test description."
    )
    more: tuple[str, ...] = argument(nargs=-1, metavar="[FILE]...", type=click.UNPROCESSED)
    output: str | None = option(
        "--output", "-o", metavar="FILE", help="Write the profile to this new file; - is standard output."
    )
    name: str | None = option("--name", metavar="NAME", help="Name of the deployment.")
    target: str | None = target_option()
    lang: str | None = lang_option()


COMMANDS = {"init": command(InitOptions, "init:init_command")}
