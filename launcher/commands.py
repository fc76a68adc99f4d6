"""What the commands do, with everything that ``--help`` must not import."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pd_launch.launcher import host as host_module
from pd_launch.launcher.check import Selection, check, worst
from pd_launch.launcher.explain import UnknownCode, explain_json, explain_text, find_rule, rules_json, rules_text
from pd_launch.launcher.launch import Launch, LaunchOptions, prepare, start
from pd_launch.launcher.report.text import TextReport, clean, concise
from pd_launch.launcher.run import REFUSED, Refused
from pd_launch.launcher.secrets import mask, secret_values
from pd_launch.launcher.shell_text import shell_script
from pd_launch.launcher.sources.profile import ProfileNotFound, SettingError
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.shell import ShellUnavailable
from pd_launch.schemas.finding import RANK, Finding, Report, Summary, TargetInfo
from pd_launch.schemas.launch import Deployment
from pd_launch.schemas.target import Target, TargetError, newest, parse_target
from pd_launch.schemas.values import SourceFile

USAGE = 2
MAX_FILE = 32 * 1024 * 1024


def check_command(
    files: Sequence[str],
    target: str | None,
    form: str,
    select: str | None,
    ignore: str | None,
    fail_on: str,
    host: bool,
    host_facts: str | None,
    separate: bool,
    color: str,
    lang: str | None,
) -> int:
    """Check inputs and print the report; return the exit status of the contract."""
    lang = lang or locale_language()
    paths, command = split_command(files)
    if not paths and not command:
        raise click.UsageError(
            "give files, - for standard input, or a command behind --, for example\n"
            "  pd-launch check decode.sh\n"
            "  pd-launch check -- vllm serve /models/m --tensor-parallel-size 8"
        )
    inputs = Inputs(
        [read_source(path) for path in paths],
        command,
        parse_target_option(target),
        _facts(host, host_facts),
        separate,
    )
    try:
        deployments = read(inputs)
    except ShellUnavailable as error:
        raise click.ClickException(str(error)) from None
    findings = check(deployments, Selection(_codes(select), _codes(ignore)), lang)
    _print(findings, deployments, len(paths) or 1, form, color, lang)
    highest = worst(findings)
    return int(highest is not None and RANK[highest] >= RANK[fail_on])  # type: ignore[index]


def split_command(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split what click leaves over into files and the command behind ``--``, which only the real argv still shows."""
    argv = sys.argv[1:]
    if "--" not in argv:
        return list(words), []
    behind = argv[argv.index("--") + 1 :]
    return list(words[: len(words) - len(behind)]), behind


def read_source(path: str) -> SourceFile:
    """Return a file's text; ``-`` is standard input.

    Raises:
        click.ClickException: it cannot be opened, is a folder, or is larger than 32 MiB.
    """
    try:
        if path == "-":
            data, name = sys.stdin.buffer.read(MAX_FILE + 1), "<stdin>"
        else:
            name = path
            with Path(path).open("rb") as file:
                data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise click.ClickException(f"{clean(path)}: {error.strerror}") from None
    except ValueError:
        raise click.ClickException(f"{clean(path)!r} is no path") from None
    if len(data) > MAX_FILE:
        raise click.ClickException(f"{clean(path)} is larger than 32 MiB: this is no configuration")
    return SourceFile(name, data.decode("utf-8", "replace"))


def parse_target_option(text: str | None) -> Target | None:
    """Return ``--target``; nonsense is a usage error."""
    if text is None:
        return None
    try:
        return parse_target(text)
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="--target") from None


def locale_language() -> str:
    """Return ``zh`` where the locale is Chinese, else ``en``."""
    for name in ("PD_LAUNCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def _facts(host: bool, path: str | None) -> dict[str, Any] | None:
    if path is not None:
        try:
            return host_module.read_facts(read_source(path).text, path)
        except host_module.FactsError as error:
            raise click.ClickException(str(error)) from None
    return host_module.host_facts() if host else None


def explain_command(code: str, form: str, lang: str | None) -> int:
    """Print a rule's page."""
    lang = lang or locale_language()
    try:
        rule = find_rule(code)
    except UnknownCode as error:
        raise click.ClickException(str(error)) from None
    write(explain_json(rule, lang) + "\n" if form == "json" else explain_text(rule, lang))
    return 0


def rules_command(form: str, lang: str | None) -> int:
    """Print the list of rules."""
    lang = lang or locale_language()
    write(rules_json(lang) + "\n" if form == "json" else rules_text(lang))
    return 0


def _codes(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").replace(" ", ",").split(",") if word.strip()]


def _print(
    findings: list[Finding], deployments: Sequence[Deployment], files: int, form: str, color: str, lang: str
) -> None:
    summary = Summary.of(findings, files)
    targets = [deployment.target for deployment in deployments]
    if form == "json":
        target = targets[0] if targets else newest(True)
        report = Report(target=TargetInfo.of(target), findings=findings, summary=summary)
        text = report.model_dump_json(by_alias=True, indent=2) + "\n"
    elif form == "concise":
        text = concise(findings)
    else:
        sources = {path: source for d in deployments for path, source in d.sources.items()}
        text = TextReport(sources, use_colour(color), lang).render(findings, summary, targets) + "\n"
    write(mask(text, secret_values(node for d in deployments for node in d.nodes)))


def write(text: str) -> None:
    """Write to standard output, whatever its encoding can show."""
    stream = sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()


def use_colour(wish: str) -> bool:
    """Whether to colour: as wished, else on a terminal that does not ask for none."""
    if wish != "auto":
        return wish == "always"
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def launch_command(side: str, form: str, dry_run: bool, lang: str | None, **options: Any) -> int:
    """Plan and start one side of a profile; return only for a dry run or a refused launch."""
    lang = lang or locale_language()
    target = parse_target_option(options.pop("target"))
    try:
        launch = prepare(LaunchOptions(side=side, dry_run=dry_run, target=target, lang=lang, **options))  # type: ignore[arg-type]
    except (ProfileNotFound, SettingError) as error:
        raise click.ClickException(str(error)) from None
    except Refused as error:
        click.echo(f"pd-launch: {error}", err=True)
        return USAGE if dry_run else REFUSED
    if dry_run:
        return _print_plan(launch, form, lang)
    if launch.blocking:
        _explain(launch, lang)
        codes = " ".join(f"--force {code}" for code in sorted({f.code for f in launch.blocking}))
        click.echo(f"pd-launch: refused to start, see the errors above; to start all the same: {codes}", err=True)
        return REFUSED
    _explain(launch, lang)
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
    report = TextReport(launch.deployment.sources, sys.stderr.isatty() and "NO_COLOR" not in os.environ, lang)
    text = report.render(launch.findings, Summary.of(launch.findings, 1), [launch.deployment.target])
    click.echo(mask(text, secret_values(launch.deployment.nodes)), err=True)
