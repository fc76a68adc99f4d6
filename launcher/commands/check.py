"""``pd-launch check``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from pd_launch.launcher.check.jobs import Outcome, check_inputs, default_jobs, put_together
from pd_launch.launcher.check.run import run_checks, worst
from pd_launch.launcher.commands.check_baseline import Known, known_findings
from pd_launch.launcher.commands.check_inputs import Batch, Given, gather, known_codes, nearest_config
from pd_launch.launcher.commands.check_report import files_kept, print_report
from pd_launch.launcher.commands.common import (
    USAGE,
    codes,
    keep_inputs,
    parse_target_option,
    say_passed_over,
    size_option,
    split_command,
    write,
)
from pd_launch.launcher.commands.options.check import CheckOptions
from pd_launch.launcher.inputs import as_text, host_option, installed_option
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.shell.unavailable import ShellUnavailable
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.launcher.wording.language import locale_language
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.severity import RANK
from pd_launch.schemas.core.target import newest_final

FORMS_WITH_FIXES = ("text", "json", "sarif")
"""To look whether a fix holds takes longer than to find what it is for: others do without."""
__all__ = ["CheckOptions", "check_command"]


def check_command(options: CheckOptions) -> int:
    """Check inputs and print the report; return the exit status of the contract."""
    paths, command = split_command(options.files)
    config = nearest_config(next((Path(path) for path in paths if path != "-"), Path()))
    if options.show_config:
        write(config.shown() + "\n")
        return 0
    if not paths and not command:
        raise click.UsageError(
            "give files or folders, - for standard input, or a command after --, for example\n  pd-launch check "
            "decode.sh\n  pd-launch check -- vllm serve /models/m --tensor-parallel-size 8"
        )
    config_file = str(config.path) if config.path else None
    keep_inputs(options.output, (*paths, options.host_facts, options.target, options.baseline, config_file))
    if options.unsafe_fixes and not (options.fix or options.diff):
        raise click.UsageError("--unsafe-fixes needs --fix, or --diff to see them first")
    lang = options.lang or config.lang or locale_language()
    known = known_findings(options, config)
    for name in ("select", "ignore"):
        known_codes(f"--{name}", codes(getattr(options, name)))
    base = Inputs(
        [],
        [as_text(word) for word in command],
        parse_target_option(options.target),
        host=host_option(options.host, options.host_facts),
        separate=options.separate,
        max_size=size_option(options.max_size, MAX_SIZE),
        installed=installed_option(options.host, options.host_facts),
    )
    given = gather(options, config, base, paths)
    if given.missing and not given.batches and not given.folders:
        return USAGE
    try:
        found = _check(given, options, known, lang)
    except ShellUnavailable as error:
        raise click.ClickException(str(error)) from None
    return USAGE if given.missing else 0 if options.exit_zero else found


def _check(given: Given, options: CheckOptions, known: Known | None, lang: str) -> int:
    changes = _fix(given, options, lang)
    outcomes = _outcomes(given, options, lang)
    fail_on = [batch.fail_on for batch in given.batches] + [given.fail_on] * (len(outcomes) - len(given.batches))
    failing = {
        finding.identity()
        for level, outcome in zip(fail_on, outcomes, strict=True)
        for finding in outcome.checked.findings
        if RANK[finding.severity] >= RANK[level]
    }
    outcome = outcomes[0] if len(outcomes) == 1 else put_together(outcomes, given.files)
    say_passed_over(given.target, (choice for _, choice in outcome.choices))
    if known is not None:
        known.leave_out(outcome, given, lang)
    if options.verbose:
        from pd_launch.launcher.commands.check_verbose import say_more

        say_more(given, outcome, lang)
    counts = [finding.identity() in failing for finding in outcome.checked.findings]
    if not options.diff:
        print_report(outcome, given, counts, options, lang)
    return int(changes or any(counts))


def _fix(given: Given, options: CheckOptions, lang: str) -> bool:
    """Write or show the fixes, where that is asked for; return whether something would change."""
    if not (options.fix or options.diff):
        return False
    from pd_launch.launcher.commands.fixing import apply_fixes, show_diff

    if not options.diff:
        for batch in given.batches:
            batch.inputs.files = apply_fixes(batch.inputs, batch.selection, options.unsafe_fixes, lang)
        return False
    parts: list[str] = []
    show = write if options.output is None else parts.append
    found = [show_diff(batch.inputs, batch.selection, options.unsafe_fixes, show, lang) for batch in given.batches]
    if options.output is not None:
        keep_inputs(options.output, _files_read(given))
        write("".join(parts), options.output)
    return any(found)


def _files_read(given: Given) -> Iterator[str]:
    """Iterate over the files that a call reads, those that its scripts name included."""
    for batch in given.batches:
        for deployment in read(batch.inputs):
            yield from files_kept(given, (node.origin.file for node in deployment.nodes), deployment.sources)


def _outcomes(given: Given, options: CheckOptions, lang: str) -> list[Outcome]:
    """Check each batch; that there is no engine is said of the call as a whole, after them."""
    if len(given.batches) == 1 and not given.folders:
        return [_outcome(given.batches[0], given.batches[0].inputs, options, lang)]
    outcomes = []
    for batch in given.batches:
        inputs = batch.inputs
        inputs = inputs if inputs.quiet else replace(inputs, part=range(len(inputs.unique())))
        outcomes.append(_outcome(batch, inputs, options, lang))
    held = any(outcome.engines or worst(outcome.checked.findings) == "error" for outcome in outcomes)
    if held or options.allow_no_engine:
        return outcomes
    pairs = zip(given.batches, outcomes, strict=True)
    outcomes = [one if b.inputs.quiet else _outcome(b, b.inputs, options, lang) for b, one in pairs]
    return [*outcomes, _of_folders(given, lang)] if given.folders else outcomes


def _outcome(batch: Batch, inputs: Inputs, options: CheckOptions, lang: str) -> Outcome:
    jobs = options.jobs or default_jobs(inputs)
    return check_inputs(inputs, batch.selection, lang, jobs, options.verbose, options.form in FORMS_WITH_FIXES)


def _of_folders(given: Given, lang: str) -> Outcome:
    """Return the finding that no file of the folders holds an engine."""
    from pd_launch.launcher.sources.no_engine import none_below

    faults = [none_below(folder, given.looked_at) for folder in given.folders]
    nothing = Deployment(newest_final(True), faults=faults)
    rule = all_rules()["PD010"]
    select = [rule.code] if given.selection.takes(rule) else ["-"]
    return Outcome(run_checks([nothing], replace(given.selection, select=select, ignore=()), lang))
