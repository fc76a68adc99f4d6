"""``pd-launch decode`` and ``pd-launch prefill``."""

from __future__ import annotations

import sys
from typing import Any

import click

from pd_launch.launcher.check import worst
from pd_launch.launcher.commands.common import USAGE, locale_language, parse_target_option, use_colour, write
from pd_launch.launcher.launch import Launch, LaunchOptions, prepare, start
from pd_launch.launcher.render import ProfileSide
from pd_launch.launcher.report.text import TextReport, clean
from pd_launch.launcher.run import REFUSED, Refused
from pd_launch.launcher.secrets import mask, secret_values
from pd_launch.launcher.shell_text import shell_script
from pd_launch.launcher.sources.profile import ProfileNotFound, SettingError
from pd_launch.schemas.finding import Summary


def launch_command(side: ProfileSide, form: str, dry_run: bool, lang: str | None, **options: Any) -> int:
    """Plan and start one side of a profile; return only for a dry run or a refused launch."""
    lang = lang or locale_language()
    target = parse_target_option(options.pop("target"))
    try:
        launch = prepare(LaunchOptions(side=side, dry_run=dry_run, target=target, lang=lang, **options))
    except (ProfileNotFound, SettingError) as error:
        raise click.ClickException(clean(str(error))) from None
    except Refused as error:
        click.echo(f"pd-launch: {clean(str(error))}", err=True)
        return USAGE if dry_run else REFUSED
    if dry_run:
        return _print_plan(launch, form, lang)
    _explain(launch, lang)
    if launch.blocking:
        force = " ".join(f"--force {code}" for code in sorted({f.code for f in launch.blocking}))
        click.echo(f"pd-launch: refused to start, see the errors above; to start all the same: {force}", err=True)
        return REFUSED
    try:
        start(launch)
    except Refused as error:
        click.echo(f"pd-launch: {clean(str(error))}", err=True)
    return REFUSED


def _print_plan(launch: Launch, form: str, lang: str) -> int:
    if launch.plan is None:
        _explain(launch, lang)
        return 1
    if form == "shell":
        write(shell_script(launch.launches))
        _explain(launch, lang)
    else:
        text = launch.plan.model_dump_json(by_alias=True, indent=2) + "\n"
        write(mask(text, secret_values(launch.deployment.nodes)))
    return int(worst(launch.findings) == "error")


def _explain(launch: Launch, lang: str) -> None:
    """Show the findings on standard error, where they do not mix with the engine's or the plan's own output."""
    if not launch.findings:
        return
    report = TextReport(launch.deployment.sources, use_colour("auto", sys.stderr), lang)
    text = report.render(launch.findings, Summary.of(launch.findings, 1), [launch.deployment.target])
    click.echo(mask(text, secret_values(launch.deployment.nodes)), err=True)
