"""``pd-launch profiles``: what comes with pd-launch, to look at and to start from."""

from __future__ import annotations

from pathlib import Path

import click

from pd_launch.launcher.commands.common import keep_existing, write
from pd_launch.launcher.commands.options.profiles import ProfilesCopyOptions, ProfilesListOptions, ProfilesShowOptions
from pd_launch.launcher.files import write_atomically
from pd_launch.launcher.sources.profiles.shipped import SHIPPED, ProfileNotFound, find_profile, shipped_names
from pd_launch.launcher.wording.width import clean


def list_command(_options: ProfilesListOptions) -> int:
    """Print the shipped profiles, each with the first sentence of what it says about itself."""
    for name in shipped_names():
        write(f"{name:16} {_first_sentence((SHIPPED / f'{name}.yaml').read_text(encoding='utf-8'))}\n")
    return 0


def _first_sentence(text: str) -> str:
    """Return the first sentence of the comment that a profile begins with."""
    words = " ".join(line.removeprefix("#").strip() for line in text.partition("\n#\n")[0].split("\n"))
    return words.partition(". ")[0].removesuffix(".") + "."


def show_command(options: ProfilesShowOptions) -> int:
    """Print a shipped profile."""
    write(_text(_shipped(options.name)))
    return 0


def copy_command(options: ProfilesCopyOptions) -> int:
    """Copy a shipped profile to a file; an existing one is never overwritten."""
    source = _shipped(options.name)
    path = Path(options.target or source.name)
    if path.is_dir():
        path = path / source.name
    keep_existing(str(path))
    try:
        write_atomically(path, _text(source))
    except OSError as error:
        raise click.ClickException(f"{clean(str(path))}: {error.strerror}") from None
    click.echo(f"wrote {clean(str(path))}; next: pd-launch check {clean(str(path))}", err=True)
    return 0


def _text(source: Path) -> str:
    """Return a shipped profile without the line that leads to its schema: the schema lies beside the original only."""
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# yaml-language-server:"))


def _shipped(name: str) -> Path:
    path = SHIPPED / f"{Path(name).name.removesuffix('.yaml')}.yaml"
    if path.exists():
        return path
    try:
        find_profile(Path(name).name)
    except ProfileNotFound as error:
        raise click.ClickException(clean(str(error))) from None
    raise click.ClickException(f"{clean(name)} is not a shipped profile: {', '.join(shipped_names())}")
