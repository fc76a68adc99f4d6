"""``pd-launch check``. Report forms are imported when one is asked for: most runs are short and want none of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pd_launch.launcher.check.config import Config, ConfigError, find_config
from pd_launch.launcher.check.jobs import Outcome, check_inputs, default_jobs
from pd_launch.launcher.check.run import Selection, worst
from pd_launch.launcher.commands.common import (
    USAGE,
    codes,
    config_target,
    keep_inputs,
    locale_language,
    parse_target_option,
    say_passed_over,
    size_option,
    split_command,
    terminal_columns,
    use_colour,
    write,
)
from pd_launch.launcher.inputs import MAX_FILE, STDIN, TooLarge, as_text, host_option, installed_option, read_source
from pd_launch.launcher.report.releases import releases_line
from pd_launch.launcher.report.text import TextReport, concise
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.secrets.masking import hide
from pd_launch.launcher.sources.read import Inputs
from pd_launch.launcher.sources.shell.follow import ShellUnavailable
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.severity import RANK, Severity
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import FileTarget, Finding, Report, Summary, TargetInfo


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
    require_target: bool
    max_size: str | None
    jobs: int | None
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
    config_file = str(config.path) if config.path else None
    keep_inputs(options.output, (*paths, options.host_facts, options.target, config_file))
    if options.unsafe_fixes and not (options.fix or options.diff):
        raise click.UsageError("--unsafe-fixes goes with --fix, or with --diff to see them first")
    lang = options.lang or config.lang or locale_language()
    inputs = Inputs(
        [],
        [as_text(word) for word in command],
        parse_target_option(options.target),
        config_target(config),
        options.require_target or config.require_target,
        host_option(options.host, options.host_facts),
        options.separate,
        size_option(options.max_size, MAX_SIZE),
    )
    inputs.installed = installed_option(options.host, options.host_facts)
    missing = _read_files(inputs, paths)
    if missing and not inputs.files and not command:
        return USAGE
    for name in ("select", "ignore"):
        _known_codes(f"--{name}", codes(getattr(options, name)))
    for name, words in config.codes():
        _known_codes(f"{config.path}: {name}:", words)
    for code in config.severity:
        if code not in all_rules():
            raise click.UsageError(f"{clean(f'{config.path}: severity.{code}')}: no rule has this code")
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


def _read_files(inputs: Inputs, paths: Sequence[str]) -> bool:
    """Read the files of a call; of one that is too large to be held there is only the name.

    Return whether one of them cannot be read: it is named, and does not stop the rest.
    """
    large, missing = set(), False
    seen: set[Path] = set()
    for path in paths:
        try:
            if path != "-" and _is_seen(path, seen):
                continue  # one file under two names
            source = read_source(path, max(MAX_FILE, inputs.max_size))
        except TooLarge:
            source = SourceFile(STDIN if path == "-" else as_text(path), "")
            large.add(source.path)
        except click.ClickException as error:
            error.show()
            missing = True
            continue
        inputs.files.append(source)
    inputs.large = frozenset(large)
    return missing


def _is_seen(path: str, seen: set[Path]) -> bool:
    """Whether a file was given before, under this or another name; ``seen`` takes it in."""
    try:
        real = Path(path).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL: opening it says so
        return False
    before = len(seen)
    seen.add(real)
    return len(seen) == before


def _known_codes(where: str, words: Iterable[str]) -> None:
    """Refuse codes that no rule has: with only such ones nothing is checked, which would look like a clean result."""
    rules = all_rules().values()
    for word in words:
        code = word.upper() if word.upper().startswith("PD") else "-"
        if not any(rule.code.startswith(code) or rule.name == word for rule in rules):
            raise click.UsageError(f"{clean(f'{where} {word}')}: no rule has this code; pd-launch rules lists them")


def _check(inputs: Inputs, selection: Selection, options: CheckOptions, fail_on: Severity, lang: str) -> int:
    changes = False
    if options.fix or options.diff:
        from pd_launch.launcher.commands.fixing import apply_fixes, show_diff

        if options.diff:
            changes = show_diff(inputs, selection, options.unsafe_fixes, options.output, lang)
        else:
            inputs.files = apply_fixes(inputs, selection, options.unsafe_fixes, lang)
    outcome = check_inputs(inputs, selection, lang, options.jobs or default_jobs(inputs))
    say_passed_over(inputs.target, (choice for _, choice in outcome.choices))
    if not options.diff:
        _print(outcome, inputs, options, lang)
    highest = worst(outcome.checked.findings)
    return int(changes or (highest is not None and RANK[highest] >= RANK[fail_on]))


def _config(paths: Sequence[str]) -> Config:
    start = next((Path(path) for path in paths if path != "-"), Path())
    try:
        return find_config(start)
    except ConfigError as error:
        raise click.ClickException(clean(str(error))) from None


def _print(outcome: Outcome, inputs: Inputs, options: CheckOptions, lang: str) -> None:
    keep_inputs(options.output, outcome.sources)  # a script may name files that the call does not
    text = _rendered(hide(outcome.checked.findings, outcome.secrets), outcome, inputs, options, lang)
    stdin = next((source for source in inputs.files if source.path == STDIN), None)
    if stdin is not None and options.fix:
        write(stdin.text)  # the fixed input is the result; the report goes beside it
        click.echo(text, err=True, nl=False)
    else:
        write(text, options.output)


def _rendered(findings: list[Finding], outcome: Outcome, inputs: Inputs, options: CheckOptions, lang: str) -> str:
    summary = Summary.of(findings, len(inputs.files) or 1, outcome.checked.suppressed)
    choices = outcome.choices
    if options.form == "json":
        targets = [FileTarget.of_file(file, choice) for file, choice in choices]
        shared = TargetInfo.shared(choice for _, choice in choices)
        report = Report(target=shared, targets=targets, findings=findings, summary=summary)
        from pd_launch.launcher.report.plain_json import plain_json

        return plain_json(report.model_dump_json(by_alias=True, indent=2)) + "\n"
    if options.form == "concise":
        click.echo(clean(releases_line(choices, lang)), err=True)
        return concise(findings, choices, lang)
    if options.form == "sarif":
        from pd_launch.launcher.report.sarif import sarif

        return sarif(findings, lang, choices)
    if options.form == "github":
        from pd_launch.launcher.report.github import github

        return github(findings, choices, lang)
    if options.form == "junit":
        from pd_launch.launcher.report.junit import junit

        return junit(findings, [source.path for source in inputs.files], choices)
    colour = options.output is None and use_colour(options.color, sys.stdout)
    columns = terminal_columns(sys.stdout) if options.output is None else None
    report_ = TextReport(outcome.sources, colour, lang, outcome.secrets, columns, outcome.checked.cut)
    return report_.render(findings, summary, choices) + "\n"
