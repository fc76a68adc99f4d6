"""What the worker does: a job becomes findings with the places of an editor, or the changes that fix them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher

from pd_launch.launcher.check.fix import fix_inputs
from pd_launch.launcher.check.jobs import check_inputs
from pd_launch.launcher.lsp.gather import Batch, Gatherer, Refused
from pd_launch.launcher.lsp.model import Answer, Change, Job, Repair, Settings, Shown, Span, Spot
from pd_launch.launcher.lsp.places import Places
from pd_launch.launcher.report.releases import ranges
from pd_launch.launcher.secrets.masking import hide
from pd_launch.launcher.sources.shell.parser import has_errors
from pd_launch.launcher.sources.shell.scan import left_open
from pd_launch.launcher.sources.shell.unavailable import ShellUnavailable
from pd_launch.launcher.sources.text.kinds import is_script
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import SourceFile, Text
from pd_launch.schemas.finding import Finding, Fix

GRAMMAR = ("PD001", "PD003", "PD010", "PD011")
"""The rules that say that a text cannot be read as it is."""
_START = Span(Spot(0, 0), Spot(0, 0))


class Examiner:
    """Does jobs one after the other."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._gatherer = Gatherer(settings)

    def do(self, job: Job) -> Answer:
        """Do a job; what the user must put right is in the answer."""
        answer = Answer(lang=self._settings.lang or self._settings.locale)
        try:
            gathered = self._gatherer.gather(job)
            answer.lang = self._settings.lang or gathered.config.lang or self._settings.locale
            answer.notices = gathered.notices
            for batch in gathered.batches:
                if job.kind == "fix-all":
                    answer.changes = _fix_all(job, batch, answer.lang)
                    break  # of a file in several deployments the first decides: the edits of two could meet
                _look(job, batch, answer)
        except (Refused, ShellUnavailable) as error:
            answer.refused = str(error)
        answer.members = answer.members or [job.path]
        answer.reads |= {*answer.members, job.path}
        return answer


def _look(job: Job, batch: Batch, answer: Answer) -> None:
    inputs = batch.inputs
    inputs = replace(inputs, part=range(len(inputs.unique())))
    outcome = check_inputs(inputs, batch.selection, answer.lang, 1, fixes=job.kind == "fixes")
    findings = outcome.checked.findings
    if batch.baseline is not None:
        new = batch.baseline.new(findings, outcome.sources, outcome.secrets)
        findings = [finding for finding, is_new in zip(findings, new, strict=True) if is_new]
    sources = {source.path: source for source in inputs.files} | outcome.sources
    places = _Places(sources, job.encoding)
    answer.members += [_whole(source.path) for source in inputs.files]
    answer.reads |= {_whole(path) for path in sources if not path.startswith("<")}
    answer.open |= {_whole(source.path) for source in inputs.files if _is_open(source)}
    seen = {(shown.code, shown.path, shown.span, shown.message) for shown in answer.shown}
    for finding in hide(findings, outcome.secrets):
        shown = _shown(finding, places, answer.lang)
        if (shown.code, shown.path, shown.span, shown.message) not in seen:
            answer.shown.append(shown)


def _is_open(source: SourceFile) -> bool:
    """Whether a script cannot be read as it is: what follows a place may belong to what was not closed there."""
    if not is_script(source) and "." in source.path.rpartition("/")[2]:
        return False
    whole = Text.verbatim(source, 0, len(source.text))
    return left_open(whole) or has_errors(whole)


def _fix_all(job: Job, batch: Batch, lang: str) -> list[Change]:
    """Return the changes of the fixes that are certain and lie in the open file alone."""
    path = next((s.path for s in batch.inputs.files if _whole(s.path) == job.path), None)
    if path is None:
        return []
    fixed = fix_inputs(batch.inputs, batch.selection, False, lang, {path})
    before, after = fixed.before[path], fixed.after[path]
    places = Places(before, job.encoding)
    old, new = before.splitlines(True), after.splitlines(True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        Change(job.path, places.span(starts[a], starts[b]), "".join(new[c:d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


class _Places:
    """Places of several files, each looked at once."""

    def __init__(self, sources: Mapping[str, SourceFile], encoding: str) -> None:
        self._sources = sources
        self._encoding = encoding
        self._made: dict[str, Places] = {}

    def span(self, path: str, line: int, column: int, end_line: int, end_column: int) -> Span:
        source = self._sources.get(path)
        if source is None or max(line, end_line) > len(source.starts):
            return _START
        places = self._made.get(path) or self._made.setdefault(path, Places(source.text, self._encoding))
        return places.span(source.offset(line, column), source.offset(end_line, end_column))


def _shown(finding: Finding, places: _Places, lang: str) -> Shown:
    span = places.span(finding.file, finding.line, finding.column, finding.end_line, finding.end_column)
    related = tuple(
        (_whole(r.file), places.span(r.file, r.line, r.column, r.line, r.column), r.message)
        for r in finding.related
        if not r.file.startswith("<")
    )
    return Shown(
        finding.code,
        finding.name,
        finding.severity,
        _said(finding, lang),
        _whole(finding.file),
        span,
        related,
        _repair(finding.fix, places),
        finding.code in GRAMMAR,
    )


def _said(finding: Finding, lang: str) -> str:
    """Return what is wrong, for which releases, and what to write instead."""
    said, releases = finding.message, ranges(finding)
    if releases:
        said = Msg(f"{said} ({releases.en})", f"{said}（{releases.zh}）").text(lang)
    return f"{said}\n{finding.help}" if finding.help else said


def _repair(fix: Fix | None, places: _Places) -> Repair | None:
    if fix is None:
        return None
    changes = (
        Change(_whole(e.file), places.span(e.file, e.line, e.column, e.end_line, e.end_column), e.text)
        for e in fix.edits
    )
    return Repair(fix.message, fix.safe, tuple(changes))


def _whole(path: str) -> str:
    return path if path.startswith("<") else os.path.abspath(path)  # noqa: PTH100 - links are not followed
