"""``pd-launch upgrade``: what changes for files between two releases, and writing it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

import click

from pd_launch.launcher import budget
from pd_launch.launcher.commands.check_inputs import Given, gather, nearest_config
from pd_launch.launcher.commands.common import USAGE, keep_inputs, use_colour, write
from pd_launch.launcher.commands.options.check import CheckOptions
from pd_launch.launcher.commands.options.upgrade import UpgradeOptions
from pd_launch.launcher.commands.releases import one_family, release_given
from pd_launch.launcher.files import NotRewritten, rewrite
from pd_launch.launcher.inputs import STDIN
from pd_launch.launcher.report.plain_json import plain_json
from pd_launch.launcher.secrets.masking import Secrets, all_secrets, hide, mask_file
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.release.targets import choices as choices_of
from pd_launch.launcher.sources.shell.unavailable import ShellUnavailable
from pd_launch.launcher.upgrade.show import Text, report
from pd_launch.launcher.upgrade.step import Step
from pd_launch.launcher.upgrade.work import Upgrade, upgrade
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import SourceFile


def upgrade_command(options: UpgradeOptions) -> int:
    """Say or write what changes; return 1 while something is left to do, 2 where nothing could be worked out."""
    if not options.files:
        raise click.UsageError(
            "give files or folders and two releases, for example\n  pd-launch upgrade decode.sh --from OLD --to NEW"
        )
    if options.unsafe and not (options.write or options.diff):
        raise click.UsageError("--unsafe needs --write, or --diff to see the changes first")
    keep_inputs(options.output, options.files)
    b = release_given(options.b, "--to")
    lang = options.lang or locale_language()
    given = _gather(options)
    if given.missing and not given.batches:
        return USAGE
    try:
        a = (
            release_given(options.a, "--from")
            if options.a is not None
            else _named([x.inputs for x in given.batches], b)
        )
        one_family(a, b)
        step = Step(a, b)
        found = [upgrade(_exact(x.inputs), step, options.unsafe, options.only, lang) for x in given.batches]
    except ShellUnavailable as error:
        raise click.ClickException(str(error)) from None
    whole = _together(step, found)
    if not whole.engines:
        side = f" of the {options.only} side" if options.only else ""
        family = "vllm-ascend" if step.a.is_ascend else "vLLM"
        raise click.UsageError(f"these files hold no engine{side} of {family}: pd-launch check says what was read")
    kept = _write(found, lang) if options.write and not options.diff else set()
    for entry in whole.entries:
        entry.written = entry.written and entry.origin.file not in kept
    _print(whole, options, lang)
    left_out = any(not source.exact for source in given.files)
    return USAGE if given.missing or left_out else int(bool(whole.left if options.write else _asking(whole)))


def _asking(found: Upgrade) -> bool:
    return any(entry.how != "note" for entry in found.entries)


def _gather(options: UpgradeOptions) -> Given:
    config = nearest_config(next((Path(path) for path in options.files if path != "-"), Path()))
    check = CheckOptions(options.files, separate=options.separate)
    base = Inputs([], separate=options.separate, quiet=True)
    return gather(check, config, base, list(options.files))


def _exact(inputs: Inputs) -> Inputs:
    """Leave out files that are not valid UTF-8: writing them back would change more than is said."""
    for source in inputs.files:
        if not source.exact:
            click.echo(f"pd-launch: {clean(source.path)} is not valid UTF-8 and is left out", err=True)
    return replace(inputs, files=[source for source in inputs.files if source.exact], config=None)


def _named(inputs: Sequence[Inputs], b: Target) -> Target:
    """Return the release that the files themselves name for the family of ``b``.

    Raises:
        click.UsageError: none, or several.
    """
    with budget.limited():
        deployments = [deployment for one in inputs for deployment in read(one)]
    choices = [choice for one in deployments for choice in choices_of(one)]
    named = {choice.decided.written: choice.decided for choice in choices if choice.decided is not None}
    own = {text: target for text, target in named.items() if target.is_ascend == b.is_ascend}
    if len(own) == 1:
        return next(iter(own.values()))
    said = f"these files name several releases ({', '.join(own)})" if own else "these files name no release"
    raise click.UsageError(f"{said}: give --from, for example --from {b.written}")


def _together(step: Step, found: Sequence[Upgrade]) -> Upgrade:
    whole = Upgrade(step, [], [], [], [])
    for one in found:
        whole.files += one.files
        whole.entries += one.entries
        whole.before += one.before
        whole.after += one.after
        whole.texts |= one.texts
        whole.engines += one.engines
    return whole


def _write(found: Sequence[Upgrade], lang: str) -> set[str]:
    """Write the texts; return the paths that were left as they are."""
    kept: set[str] = set()
    for one in found:
        before = {source.path: source.text for source in one.files}
        for path in one.changed:
            if path == STDIN:
                continue
            try:
                rewrite(Path(path), before[path], one.texts[path])
            except NotRewritten as error:
                kept.add(path)
                click.echo(f"pd-launch: {clean(path)}: {error.said.text(lang)}", err=True)
    return kept


def _print(whole: Upgrade, options: UpgradeOptions, lang: str) -> None:
    old = _secrets(whole.files, options)
    new = _secrets([SourceFile(path, text) for path, text in whole.texts.items()], options)
    colour = options.output is None and use_colour(options.color, sys.stdout)
    if options.diff:
        write(_patch(whole, old, new), options.output)
        return
    whole.before, whole.after = hide(whole.before, old), hide(whole.after, new)
    if options.form == "json":
        made = report(whole, lang, old, options.write)
        text = plain_json(made.model_dump_json(by_alias=True, indent=2)) + "\n"
    else:
        text = Text(lang, colour, old, options.write).render(whole)
    stdin = whole.texts.get(STDIN) if options.write else None
    if stdin is not None and options.output is None:
        write(stdin)
        click.echo(text, err=True, nl=False)
    else:
        write(text, options.output)


def _secrets(files: Sequence[SourceFile], options: UpgradeOptions) -> Secrets:
    with budget.limited():
        return all_secrets(read(Inputs(list(files), separate=True)))


def _patch(whole: Upgrade, old: Secrets, new: Secrets) -> str:
    lines: list[str] = []
    for source in whole.files:
        path = source.path
        if path not in whole.changed:
            continue
        before = mask_file(path, source.text, old).splitlines(True)
        after = mask_file(path, whole.texts[path], new).splitlines(True)
        for line in unified_diff(before, after, f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}"):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(f"{clean(line.rstrip(chr(10)))}\n" for line in lines)
