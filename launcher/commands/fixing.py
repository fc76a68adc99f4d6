"""What ``pd-launch check --fix`` and ``--diff`` do: write or show fixes, and say what was fixed and what was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from pd_launch.launcher import budget
from pd_launch.launcher.check.fix import Fixed, Refusal, fix_inputs
from pd_launch.launcher.check.run import Selection, run_checks
from pd_launch.launcher.files import NotRewritten, rewrite
from pd_launch.launcher.inputs import STDIN
from pd_launch.launcher.secrets.masking import Secrets, all_secrets, mask, mask_file
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.units import severities
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.core.words import series

MAX_SAID = 20
"""Fixes that are not made and are said one by one."""


def show_diff(inputs: Inputs, selection: Selection, unsafe: bool, show: Callable[[str], None], lang: str) -> bool:
    """Show what fixing would change as a unified diff; return whether it would change anything."""
    fixed = fix_inputs(_exact(inputs), selection, unsafe, lang)
    secrets = all_secrets(read(inputs))
    after = [SourceFile(path, fixed.after[path]) for path in fixed.after]
    later = all_secrets(read(replace(inputs, files=after)))
    text = fixed.diff(lambda p, t: mask_file(p, t, secrets), lambda p, t: mask_file(p, t, later))
    show("".join(f"{clean(line.rstrip(chr(10)))}\n" for line in text.splitlines(True)))
    _say_refused(fixed.refused, secrets, lang)
    _say_left(fixed, replace(inputs, files=after), selection, lang)
    return bool(fixed.changed)


def _say_left(fixed: Fixed, inputs: Inputs, selection: Selection, lang: str) -> None:
    """Say how much would be fixed, and what would be left: a diff alone looks as if that was all."""
    with budget.limited():
        deployments = read(inputs)
    with budget.limited():
        left = Counter(finding.severity for finding in run_checks(deployments, selection).findings)
    done = len(fixed.done)
    names = (left["error"], "个错误"), (left["warning"], "个警告"), (left["info"], "条提示")
    rest = "、".join(f"{count} {name}" for count, name in names if count)
    remain = severities(left["error"], left["warning"], left["info"])
    more = Msg(f"; would remain: {remain}", f"；还剩 {rest}") if rest else NOTHING
    said = Msg(f"pd-launch: would fix {done}{more.en}", f"pd-launch：会修复 {done} 处{more.zh}")
    click.echo(said.text(lang), err=True)


def apply_fixes(inputs: Inputs, selection: Selection, unsafe: bool, lang: str) -> list[SourceFile]:
    """Write the fixed files and say what was done; return the files as they are now."""
    fixed = fix_inputs(_exact(inputs), selection, unsafe, lang)
    kept: set[str] = set()
    for path in fixed.changed:
        if path == STDIN:
            continue
        try:
            rewrite(Path(path), fixed.before[path], fixed.after[path])
        except NotRewritten as error:
            kept.add(path)
            reason = error.said.text(lang)
            click.echo(f"pd-launch: {clean(path)}: {reason}", err=True)
    done = [finding for finding in fixed.done if not kept.intersection(edited(finding))]
    if done:
        counts = Counter(finding.code for finding in done)
        names = series(code if count == 1 else f"{code} ×{count}" for code, count in sorted(counts.items()))
        said = Msg(f"fixed {len(done)} ({names.en})", f"已修复 {len(done)} 处（{names.zh}）").text(lang)
        click.echo(f"pd-launch: {said}", err=True)
    if fixed.refused:
        _say_refused(fixed.refused, all_secrets(read(inputs)), lang)
    after = {path: text for path, text in fixed.after.items() if path not in kept}
    return [SourceFile(s.path, after.get(s.path, s.text), s.exact) for s in inputs.files]


def edited(finding: Finding) -> set[str]:
    """Return the files that a finding's fix writes to."""
    return {edit.file for edit in finding.fix.edits} if finding.fix else set()


def _say_refused(refused: Sequence[Refusal], secrets: Secrets, lang: str) -> None:
    for refusal in refused[:MAX_SAID]:
        finding = refusal.finding
        place = f"{finding.code} {finding.file}:{finding.line}:{finding.column}"
        reason = mask(refusal.reason.text(lang), secrets)
        said = Msg(f"1 fix not applied: {place}: {reason}", f"有 1 处没有修复：{place}：{reason}").text(lang)
        click.echo(f"pd-launch: {clean(said)}", err=True)
    more = len(refused) - MAX_SAID
    if more > 0:
        click.echo(
            Msg(f"pd-launch: {more} more not applied", f"pd-launch：另有 {more} 处没有修复").text(lang), err=True
        )


def _exact(inputs: Inputs) -> Inputs:
    """Leave files out of fixing that are not valid UTF-8: writing them back would change more than the fix."""
    skipped = [source.path for source in inputs.files if not source.exact]
    for path in skipped:
        click.echo(f"pd-launch: {clean(path)} is not valid UTF-8 and is not fixed", err=True)
    return replace(inputs, files=[source for source in inputs.files if source.exact]) if skipped else inputs
