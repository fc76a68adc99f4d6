"""``--baseline``: known findings are left out of the report and of the exit status."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from pd_launch.launcher.check.baseline import Baseline, BaselineError
from pd_launch.launcher.check.config import Config
from pd_launch.launcher.check.jobs import Outcome
from pd_launch.launcher.commands.check_inputs import Given
from pd_launch.launcher.commands.options.check import CheckOptions
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted


class Known:
    """The known findings of a call, or where they are to be written."""

    def __init__(self, baseline: Baseline, write: bool) -> None:
        self._baseline = baseline
        self._write = write

    def leave_out(self, outcome: Outcome, given: Given, lang: str) -> None:
        """Take what is known out of what was found, and say how much; or write what was found, which is then known."""
        checked, sources, secrets = outcome.checked, outcome.sources, outcome.secrets
        name = clean(str(self._baseline.path))
        looked_at = self._looked_at(outcome, given)
        if self._write:
            try:
                count = self._baseline.write(checked.findings, sources, secrets, looked_at)
            except OSError as error:
                raise click.ClickException(f"{name}: {error.strerror}") from None
            now = Msg(f"{name} now has {counted(count, 'known finding')}", f"{name} 中现有 {count} 处已知问题")
            said = now.text(lang)
            new = [False] * len(checked.findings)
        else:
            new = self._baseline.new(checked.findings, sources, secrets)
            said = self._said(
                name, new.count(False), self._baseline.gone(checked.findings, sources, secrets, looked_at), lang
            )
        checked.suppressed += new.count(False)
        checked.findings = [finding for finding, is_new in zip(checked.findings, new, strict=True) if is_new]
        if said:
            click.echo(f"pd-launch: {said}", err=True)

    def _looked_at(self, outcome: Outcome, given: Given) -> Callable[[str, str], bool]:
        """Return what tells whether this call would find something of a file and code."""
        files = self._baseline.files([*outcome.sources, *given.paths])
        folders = [f"{folder}/" for folder in self._baseline.files(given.folders)]
        rules = all_rules()
        codes = {code for code in rules if any(batch.selection.takes(rules[code]) for batch in given.batches)}

        def looked_at(file: str, code: str) -> bool:
            below = any(folder == "./" or file.startswith(folder) for folder in folders) and not file.startswith("<")
            return code in codes and (below or file in files)

        return looked_at

    def _said(self, name: str, known: int, gone: int, lang: str) -> str:
        left = Msg(f"{counted(known, 'known finding')} left out", f"略去 {known} 处已知问题")
        are = "is" if gone == 1 else "are"
        rest = Msg(f"{gone} {are} gone: --write-baseline removes them", f"{gone} 处已不存在：--write-baseline 会删去")
        parts = [part for part, count in ((left, known), (rest, gone)) if count]
        en, zh = ", ".join(part.en for part in parts), "，".join(part.zh for part in parts)
        return Msg(f"{name}: {en}", f"{name}：{zh}").text(lang) if parts else ""


def known_findings(options: CheckOptions, config: Config) -> Known | None:
    """Return what ``--baseline``, or the configuration, names; a file that is none is a wrong usage."""
    path = _path(options, config)
    if options.write_baseline and options.diff:
        raise click.UsageError("--write-baseline cannot be combined with --diff, which changes no file")
    if path is None:
        if options.write_baseline:
            raise click.UsageError("--write-baseline needs --baseline FILE, or baseline in pd-launch.toml")
        return None
    if options.write_baseline and not os.path.lexists(path):
        return Known(Baseline(path), True)
    try:
        return Known(Baseline.read(path), options.write_baseline)
    except BaselineError as error:
        raise click.BadParameter(clean(str(error)), param_hint="--baseline") from None


def _path(options: CheckOptions, config: Config) -> Path | None:
    if options.baseline is not None:
        return Path(options.baseline)
    if config.baseline is None:
        return None
    return (config.path.parent if config.path else Path()) / config.baseline
