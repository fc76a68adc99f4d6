"""``pd-launch completion``: options."""

from __future__ import annotations

from dataclasses import dataclass

import click

from pd_launch.launcher.commands.options import argument, command


@dataclass(frozen=True)
class CompletionOptions:
    """Print the completion script of a shell.

    \b
    Example:
      source <(pd-launch completion bash)
    """

    shell: str = argument(type=click.Choice(["bash", "zsh", "fish"]))


COMMANDS = {"completion": command(CompletionOptions, "completion:completion_command")}
