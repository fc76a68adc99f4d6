"""``pd-launch profiles``: what comes with pd-launch, to look at and to start from."""

from __future__ import annotations

from pathlib import Path

import click

from pd_launch.launcher.commands.common import write
from pd_launch.launcher.commands.options.profiles import ProfilesCopyOptions, ProfilesListOptions, ProfilesShowOptions
from pd_launch.launcher.files import write_atomically
from pd_launch.launcher.sources.profiles.shipped import SHIPPED, ProfileNotFound, find_profile, shipped_names
from pd_launch.launcher.wording.width import clean


def list_command(_options: ProfilesListOptions) -> int:
    """Print the shipped profiles, each with the first line of what it says about itself."""
    for name in shipped_names():
        first = (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8").lstrip("# ").partition("\n")[0]
        write(f"{name:16} {first}\n")
    return 0


def show_command(options: ProfilesShowOptions) -> int:
    """Print a shipped profile."""
    write(_shipped(options.name).read_text(encoding="utf-8"))
    return 0


def copy_command(options: ProfilesCopyOptions) -> int:
    """Copy a shipped profile to a file; an existing one is never overwritten."""
    source = _shipped(options.name)
    path = Path(options.target or source.name)
    if path.is_dir():
        path = path / source.name
    if path.exists():
        raise click.ClickException(f"{clean(str(path))} already exists; name another file")
    try:
        write_atomically(path, source.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.ClickException(f"{clean(str(path))}: {error.strerror}") from None
    click.echo(f"wrote {clean(str(path))}; next: pd-launch check {clean(str(path))}", err=True)
    return 0


def _shipped(name: str) -> Path:
    path = SHIPPED / f"{Path(name).name.removesuffix('.yaml')}.yaml"
    if path.exists():
        return path
    try:
        find_profile(Path(name).name)
    except ProfileNotFound as error:
        raise click.ClickException(clean(str(error))) from None
    raise click.ClickException(f"{clean(name)} is not a shipped profile: {', '.join(shipped_names())}")
