"""The command line, called by tests in a folder of their own."""

from __future__ import annotations

import os
from pathlib import Path

from click.testing import CliRunner

from pd_launch.launcher.cli import cli


def run(folder: Path, *args: str) -> str:
    """Return what a command says, in English; it may end with any status, and says something."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(cli, list(args), env={"PD_LAUNCH_LANG": "en"})
    finally:
        os.chdir(before)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.output
    return done.output
