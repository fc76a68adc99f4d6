"""``pd-launch upgrade``: options."""

from __future__ import annotations

import click

from pd_launch.launcher.commands.options import (
    SIDES,
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
class UpgradeOptions:
    """Show what changes for files between two releases, in either direction, and write it.

    Exits 1 as long as anything is left to change.

    \b
    Examples:
      pd-launch upgrade decode.sh --from 0.23.0 --to 0.30.0rc2
      pd-launch upgrade *.sh --to vllm==0.33.0 --write
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE|FOLDER...", type=click.UNPROCESSED)
    a: str | None = option(
        "--from", metavar="RELEASE", help="Release that the files are for (default: the one they name)."
    )
    b: str = option("--to", metavar="RELEASE|PATH", required=True, help="Release or build to upgrade to.")
    diff: bool = option("--diff", is_flag=True, help="Show what writing would change, without changing it.")
    write: bool = option("--write", is_flag=True, help="Apply the safe changes to the files.")
    unsafe: bool = option("--unsafe", is_flag=True, help="Also apply changes that are only plausible.")
    only: str | None = option("--only", type=click.Choice(SIDES), help="Upgrade only this side.")
    separate: bool = option("--separate", is_flag=True, help="Treat each file as a separate deployment.")
    form: str = form_option()
    output: str | None = output_option()
    color: str = color_option()
    lang: str | None = lang_option()


COMMANDS = {"upgrade": command(UpgradeOptions, "upgrade:upgrade_command")}
