"""``pd-launch check``. Report forms are imported when one is asked for: most runs are short and want none of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pd_launch.launcher.check import Checked, Selection, run_checks, worst
from pd_launch.launcher.commands.common import (
    STDIN,
    USAGE,
    as_text,
    codes,
    host_option,
    locale_language,
    parse_target_option,
    read_source,
    say_passed_over,
    split_command,
    terminal_columns,
    use_colour,
    write,
)
from pd_launch.launcher.config import Config, ConfigError, find_config
from pd_launch.launcher.report.text import TextReport, clean, concise
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.secrets import Secrets, all_secrets, hide
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.shell import ShellUnavailable
from pd_launch.schemas.finding import RANK, Finding, Report, Severity, Summary, TargetInfo
from pd_launch.schemas.launch import Deployment
from pd_launch.schemas.target import newest
from pd_launch.schemas.values import SourceFile


@dataclass(frozen=True)
class CheckOptions:
    """The options of ``check`` as they were given; None and empty are not given."""

    files: tuple[str, ...]
    target: str | None
    form: str
    output: str | None
    select: str | None
    ignore: str | None
    fail_on: Severity | None
    host: bool
    host_facts: str | None
    separate: bool
    fix: bool
    unsafe_fixes: bool
    diff: bool
    exit_zero: bool
    show_config: bool
    color: str
    lang: str | None


def check_command(options: CheckOptions) -> int:
    """Check inputs and print the report; return the exit status of the contract."""
    paths, command = split_command(options.files)
    config = _config(paths)
    if options.show_config:
        write(config.shown() + "\n")
        return 0
    if not paths and not command:
        raise click.UsageError(
            "give files, - for standard input, or a command behind --, for example\n"
            "  pd-launch check decode.sh\n"
            "  pd-launch check -- vllm serve /models/m --tensor-parallel-size 8"
        )
    if options.unsafe_fixes and not (options.fix or options.diff):
        raise click.UsageError("--unsafe-fixes goes with --fix, or with --diff to see them first")
    lang = options.lang or config.lang or locale_language()
    files, missing = _readable(paths)
    if missing and not files and not command:
        return USAGE
    inputs = Inputs(
        files,
        [as_text(word) for word in command],
        parse_target_option(config.target if options.target is None else options.target),
        host_option(options.host, options.host_facts),
        options.separate,
    )
    for name in ("select", "ignore"):
        _known_codes(name, codes(getattr(options, name)))
    selection = Selection(
        codes(options.select) or config.select,
        codes(options.ignore) or config.ignore,
        config.severity,
        tuple(config.per_file_ignores.items()),
    )
    try:
        found = _check(inputs, selection, options, options.fail_on or config.fail_on or "error", lang)
    except ShellUnavailable as error:
        raise click.ClickException(str(error)) from None
    return USAGE if missing else 0 if options.exit_zero else found


def _readable(paths: Sequence[str]) -> tuple[list[SourceFile], bool]:
    """Return the files that can be read, and whether there is another: it is named and does not stop the rest."""
    files, missing = [], False
    for path in paths:
        try:
            files.append(read_source(path))
        except click.ClickException as error:
            error.show()
            missing = True
    return files, missing


def _known_codes(option: str, words: Sequence[str]) -> None:
    """Refuse codes that no rule has: with only such ones nothing is checked, which would look like a clean result."""
    rules = all_rules().values()
    for word in words:
        if not any(rule.code.startswith(word.upper()) or rule.name == word for rule in rules):
            raise click.UsageError(f"--{option} {clean(word)}: no rule has this code; pd-launch rules lists them")


def _check(inputs: Inputs, selection: Selection, options: CheckOptions, fail_on: Severity, lang: str) -> int:
    changes = False
    deployments = read(inputs)
    if options.fix or options.diff:
        from pd_launch.launcher.commands.fixing import apply_fixes, show_diff

        if options.diff:
            changes = show_diff(inputs, selection, options.unsafe_fixes, deployments, options.output, lang)
        else:
            inputs.files = apply_fixes(inputs, selection, options.unsafe_fixes, deployments, lang)
            deployments = read(inputs)
    say_passed_over(inputs.target, (deployment.target for deployment in deployments))
    checked = run_checks(deployments, selection, lang)
    if not options.diff:
        checked.findings = _vetted(checked.findings, inputs, deployments, lang)
        _print(checked, deployments, inputs, options, lang)
    highest = worst(checked.findings)
    return int(changes or (highest is not None and RANK[highest] >= RANK[fail_on]))


def _vetted(findings: list[Finding], inputs: Inputs, deployments: Sequence[Deployment], lang: str) -> list[Finding]:
    """Return the findings with the fixes alone that would be made."""
    if not any(finding.fix for finding in findings):
        return findings
    from pd_launch.launcher.fix import vetted

    return vetted(inputs, deployments, findings, lang)


def _config(paths: Sequence[str]) -> Config:
    start = next((Path(path) for path in paths if path != "-"), Path())
    try:
        return find_config(start)
    except ConfigError as error:
        raise click.ClickException(clean(str(error))) from None


def _print(
    checked: Checked, deployments: Sequence[Deployment], inputs: Inputs, options: CheckOptions, lang: str
) -> None:
    secrets = all_secrets(deployments)
    text = _rendered(hide(checked.findings, secrets), checked.suppressed, secrets, deployments, inputs, options, lang)
    stdin = next((source for source in inputs.files if source.path == STDIN), None)
    if stdin is not None and options.fix:
        write(stdin.text)  # the fixed input is the result; the report goes beside it
        click.echo(text, err=True, nl=False)
    else:
        write(text, options.output)


def _rendered(
    findings: list[Finding],
    suppressed: int,
    secrets: Secrets,
    deployments: Sequence[Deployment],
    inputs: Inputs,
    options: CheckOptions,
    lang: str,
) -> str:
    summary = Summary.of(findings, len(inputs.files) or 1, suppressed)
    targets = [deployment.target for deployment in deployments]
    if options.form == "json":
        target = TargetInfo.of(targets[0] if targets else newest(True))
        report = Report(target=target, findings=findings, summary=summary)
        from pd_launch.launcher.report.plain_json import plain_json

        return plain_json(report.model_dump_json(by_alias=True, indent=2)) + "\n"
    if options.form == "concise":
        return concise(findings)
    if options.form == "sarif":
        from pd_launch.launcher.report.sarif import sarif

        return sarif(findings, lang)
    if options.form == "github":
        from pd_launch.launcher.report.github import github

        return github(findings)
    if options.form == "junit":
        from pd_launch.launcher.report.junit import junit

        return junit(findings, [source.path for source in inputs.files])
    sources = {path: source for d in deployments for path, source in d.sources.items()}
    colour = options.output is None and use_colour(options.color, sys.stdout)
    columns = terminal_columns(sys.stdout) if options.output is None else None
    return TextReport(sources, colour, lang, secrets, columns).render(findings, summary, targets) + "\n"
