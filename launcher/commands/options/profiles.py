"""``pd-launch profiles``: options."""

from __future__ import annotations

import click

from pd_launch.launcher.commands.options import argument, command, profile_names
from pd_launch.schemas.core.record import dataclass

_HELP = """List, print or copy the profiles that come with pd-launch.

\b
Examples:
  pd-launch profiles list
  pd-launch profiles copy a3-dp2tp8 my.yaml
"""


@dataclass(frozen=True)
class ProfilesListOptions:
    """List the shipped profiles.

    \b
    Example:
      pd-launch profiles list
    """


@dataclass(frozen=True)
class ProfilesShowOptions:
    """Print a shipped profile.

    \b
    Example:
      pd-launch profiles show cpu-tiny
    """

    name: str = argument(shell_complete=profile_names)


@dataclass(frozen=True)
class ProfilesCopyOptions:
    """Copy a shipped profile to a file of yours.

    \b
    Example:
      pd-launch profiles copy a3-dp2tp8 my.yaml
    """

    name: str = argument(shell_complete=profile_names)
    target: str | None = argument(required=False)


COMMANDS = {
    "profiles": click.Group(
        help=_HELP,
        commands={
            "list": command(ProfilesListOptions, "profiles:list_command"),
            "show": command(ProfilesShowOptions, "profiles:show_command"),
            "copy": command(ProfilesCopyOptions, "profiles:copy_command"),
        },
    )
}
