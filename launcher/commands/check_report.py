"""Writing the report of ``check``. Report forms are imported when one is asked for: most runs want none of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

from pd_launch.launcher.check.jobs import Outcome
from pd_launch.launcher.commands.check_inputs import Given
from pd_launch.launcher.commands.common import keep_inputs, terminal_columns, use_colour, write
from pd_launch.launcher.commands.options.check import CheckOptions
from pd_launch.launcher.inputs import STDIN
from pd_launch.launcher.report.releases import releases_line
from pd_launch.launcher.report.text import TextReport, concise
from pd_launch.launcher.secrets.masking import hide
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.findings import Finding, Summary


def print_report(outcome: Outcome, given: Given, counts: Sequence[bool], options: CheckOptions, lang: str) -> None:
    """Print what was found in what was given; ``counts`` says of each finding whether the exit status counts it."""
    engines = [file for file, _ in outcome.engines]
    keep_inputs(options.output, files_kept(given, engines, outcome.sources))
    findings = hide(outcome.checked.findings, outcome.secrets)
    text = _rendered(findings, outcome, given, counts, options, lang)
    stdin = next((source for source in given.files if source.path == STDIN), None)
    if stdin is not None and options.fix:
        write(stdin.text)  # the fixed input is the result; the report goes beside it
        click.echo(text, err=True, nl=False)
    else:
        write(text, options.output)


def without_engine(given: Given, outcome: Outcome) -> list[str]:
    """Return the files that were looked at and hold no engine."""
    holding = {file for file, _ in outcome.engines}
    return [path for path in given.paths if path not in holding]


def files_kept(given: Given, engines: Iterable[str], sources: Iterable[str]) -> Iterable[str]:
    """Return the files that no output may replace: all that were read; of a folder with old reports, the engines'."""
    return engines if given.folders else sources


def _rendered(
    findings: list[Finding],
    outcome: Outcome,
    given: Given,
    counts: Sequence[bool],
    options: CheckOptions,
    lang: str,
) -> str:
    files = given.paths
    summary = Summary.of(findings, len(files) if given.folders else len(files) or 1, outcome.checked.suppressed)
    choices = outcome.choices
    if options.form == "json":
        from pd_launch.launcher.report.plain_json import plain_json
        from pd_launch.schemas.finding import FileTarget, Report, TargetInfo

        targets = [FileTarget.of_file(file, choice) for file, choice in choices]
        shared = TargetInfo.shared(choice for _, choice in choices)
        report = Report(target=shared, targets=targets, findings=findings, summary=summary)
        return plain_json(report.model_dump_json(by_alias=True, indent=2)) + "\n"
    if options.form in ("concise", "gitlab"):
        click.echo(clean(releases_line(choices, lang)), err=True)
    if options.form == "concise":
        return concise(findings, choices, lang)
    if options.form == "gitlab":
        from pd_launch.launcher.report.gitlab import gitlab

        return gitlab(findings, outcome.sources, outcome.secrets)
    if options.form == "sarif":
        from pd_launch.launcher.report.sarif import sarif

        return sarif(findings, lang, choices)
    if options.form == "github":
        from pd_launch.launcher.report.github import github

        return github(findings, choices, lang)
    if options.form == "junit":
        from pd_launch.launcher.report.junit import junit

        return junit(findings, files, choices, counts)
    colour = options.output is None and use_colour(options.color, sys.stdout)
    columns = terminal_columns(sys.stdout) if options.output is None else None
    idle = without_engine(given, outcome) if outcome.engines and not given.folders else []
    report_ = TextReport(outcome.sources, colour, lang, outcome.secrets, columns, outcome.checked.cut, idle=idle)
    return report_.render(findings, summary, choices) + "\n"
