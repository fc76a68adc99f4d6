"""``pd-launch lsp``."""

from __future__ import annotations

import importlib.util
import sys

import click

from pd_launch.launcher.commands.common import parse_target_option
from pd_launch.launcher.commands.options.lsp import LspOptions
from pd_launch.launcher.lsp.model import Settings
from pd_launch.launcher.wording.language import locale_language


def lsp_command(given: LspOptions) -> int:
    """Serve an editor on standard input and output; return the exit status."""
    if importlib.util.find_spec("pygls") is None or importlib.util.find_spec("lsprotocol") is None:
        raise click.ClickException(
            "the language server needs pygls: pip install 'pd-launch[lsp,scripts]', or pip install 'pygls>=2'"
        )
    settings = Settings(parse_target_option(given.target), given.lang, locale_language())
    if sys.stdin.isatty():
        click.echo(
            "pd-launch lsp talks to the editor that starts it; docs/guide/editors.md shows how (Ctrl-C ends it)",
            err=True,
        )
    from pd_launch.launcher.lsp.server import serve

    serve(settings, given.pages)
    return 0
