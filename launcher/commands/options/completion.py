"""``pd-launch completion``: options."""

from __future__ import annotations

import click

from pd_launch.launcher.commands.options import argument, command
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class CompletionOptions:
    """Print the completion script of a shell.

    \b
    Example:
      source <(pd-launch completion bash)
    """

    shell: str = argument(type=click.Choice(["bash", "zsh", "fish"]))


COMMANDS = {"completion": command(CompletionOptions, "completion:completion_command")}
