"""``pd-launch completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pd_launch.launcher.commands.options.completion import CompletionOptions


def completion_command(options: CompletionOptions) -> int:
    """Print the completion script of a shell."""
    made = get_completion_class(options.shell)
    root = click.get_current_context().find_root().command
    if made is not None:
        click.echo(made(root, {}, "pd-launch", "_PD_LAUNCH_COMPLETE").source())
    return 0
