"""``pd-launch decode`` and ``pd-launch prefill``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from pd_launch.launcher.check.config import ConfigError, find_config
from pd_launch.launcher.check.configured import named_target
from pd_launch.launcher.check.run import worst
from pd_launch.launcher.commands.common import (
    USAGE,
    parse_target_option,
    say_passed_over,
    split_command,
    use_colour,
    write,
)
from pd_launch.launcher.commands.options.launch import SideOptions
from pd_launch.launcher.formats.box import FormatError
from pd_launch.launcher.formats.choose import ADDRESSED, TEXTS, WHOLE
from pd_launch.launcher.inputs import is_text
from pd_launch.launcher.launch.origins import origins
from pd_launch.launcher.launch.prepare import Launch, LaunchOptions, prepare
from pd_launch.launcher.launch.program import REFUSED, Refused
from pd_launch.launcher.launch.start import start
from pd_launch.launcher.report.text import TextReport
from pd_launch.launcher.secrets.masking import all_secrets
from pd_launch.launcher.sources.profiles.load import SettingError
from pd_launch.launcher.sources.profiles.shipped import ProfileNotFound
from pd_launch.launcher.sources.release.targets import file_choices
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.findings import Summary
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import SizeError, parse_size

SMALLEST_LOG = 64 * 1024


def launch_command(words: SideOptions) -> int:
    """Plan and start one side of a profile; return only for a dry run or a refused launch."""
    form, dry_run, lang = words.form, words.dry_run, words.lang or locale_language()
    target = parse_target_option(words.target)
    options = {name: value for name, value in vars(words).items() if name not in ("form", "dry_run", "lang", "target")}
    if options["log_size"] is not None:
        options["log_size"] = _log_size(options["log_size"])
    _check_words(options["extra"], options["settings"])
    if options["host_facts"] is not None and not dry_run:
        raise click.UsageError("--host-facts needs --dry-run: a launch looks at the machine it runs on")
    try:
        whole, addressed = dry_run and form in WHOLE, dry_run and form in ADDRESSED
        config = _config_target(options["profile"])
        given = LaunchOptions(
            side=words.side,
            dry_run=dry_run,
            target=target,
            config=config,
            lang=lang,
            whole=whole,
            addressed=addressed,
            **options,
        )
        launch = prepare(given)
    except (ProfileNotFound, SettingError) as error:
        raise click.ClickException(clean(str(error))) from None
    except Refused as error:
        click.echo(f"pd-launch: {clean(error.said.text(lang))}", err=True)
        return USAGE if dry_run else REFUSED
    say_passed_over(target, (choice for _, choice in file_choices([launch.deployment])))
    if dry_run and launch.deployment.target.decided_by == "assumed":
        click.echo(_assumed(launch.deployment.target, lang), err=True)
    if launch.options.show_origin:
        click.echo("".join(f"{clean(line)}\n" for line in origins(launch.launches)), err=True, nl=False)
    if dry_run:
        return _print_plan(launch, form, lang)
    _explain(launch, lang)
    if launch.blocking:
        force = " ".join(f"--force {code}" for code in sorted({f.code for f in launch.blocking}))
        hint = Msg(f"; to start all the same: {force}", f"；仍要启动，请加 {force}") if launch.launches else NOTHING
        said = Msg(
            f"pd-launch: refused to start, see the errors above{hint.en}",
            f"pd-launch：没有启动，原因见上面的错误{hint.zh}",
        )
        click.echo(said.text(lang), err=True)
        return REFUSED
    try:
        return start(launch)
    except Refused as error:
        click.echo(f"pd-launch: {clean(error.said.text(lang))}", err=True)
    return REFUSED


def _log_size(text: str) -> int:
    try:
        size = parse_size(text)
    except SizeError as error:
        raise click.UsageError(f"--log-size {clean(text)}: {error}") from None
    if size < SMALLEST_LOG:
        raise click.UsageError(f"--log-size {clean(text)}: must be 64KiB or more, the longest line possible")
    return size


def _config_target(profile: str) -> Target | None:
    """Return the target of the configuration file that counts for a profile; for a shipped one, here.

    Raises:
        click.ClickException: it cannot be read or used.
    """
    try:
        return named_target(find_config(Path(profile) if Path(profile).is_file() else Path()))
    except (ConfigError, ValueError, OSError) as error:
        raise click.ClickException(clean(str(error))) from None


def _assumed(target: Target, lang: str) -> str:
    return Msg(
        f"pd-launch: no release is named, so this is for {target}, the newest final release; name one with --target",
        f"pd-launch：没有写明版本，按最新的正式版本 {target} 生成；可用 --target 指定",
    ).text(lang)


def _check_words(extra: Sequence[str], settings: Sequence[str]) -> None:
    """Refuse what would be passed on by mistake: words that do not come after --, and bytes that are no text."""
    behind = split_command(extra)[1]
    if len(behind) < len(extra):
        raise click.UsageError(f"unexpected argument {clean(extra[0])}: put arguments for vLLM after --")
    for word in (*extra, *settings):
        if not is_text(word):
            raise click.UsageError(f"{clean(word)} is not valid UTF-8")


def _print_plan(launch: Launch, form: str, lang: str) -> int:
    if launch.plan is None:
        _explain(launch, lang)
        return 1
    if form in TEXTS:
        try:
            write(TEXTS[form](launch))
        except FormatError as error:
            raise click.ClickException(clean(str(error))) from None
        _explain(launch, lang)
    else:
        from pd_launch.launcher.report.plain_json import plain_json

        write(plain_json(launch.plan.model_dump_json(by_alias=True, indent=2)) + "\n")
    return int(worst(launch.findings) == "error")


def _explain(launch: Launch, lang: str) -> None:
    """Show the findings on standard error, where they do not mix with the engine's or the plan's own output."""
    if not launch.findings:
        return
    secrets = all_secrets([launch.deployment])
    report = TextReport(launch.deployment.sources, use_colour("auto", sys.stderr), lang, secrets)
    choices = file_choices([launch.deployment])
    click.echo(report.render(launch.findings, Summary.of(launch.findings, 1), choices), err=True)
