"""What must hold for every input: no exception, bounded time, places inside the file, and reports that parse."""

from __future__ import annotations

import json
import time
import traceback
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from pd_launch.launcher.check.fix import fix_inputs
from pd_launch.launcher.check.run import Selection, run_checks
from pd_launch.launcher.report.github import github
from pd_launch.launcher.report.junit import junit
from pd_launch.launcher.report.plain_json import plain_json
from pd_launch.launcher.report.sarif import sarif
from pd_launch.launcher.report.text import TextReport, concise
from pd_launch.launcher.secrets.masking import all_secrets, hide
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.release.targets import file_choices
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.target import Target, parse_target
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import FileTarget, Finding, Report, Summary, TargetInfo

SLOW = 2.0
"""Seconds of processor time that one input may take."""

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


@dataclass
class Problem:
    """Something that did not hold for an input."""

    what: str
    detail: str = ""


def inputs(files: Mapping[str, str], target: Target | None = None, host: dict[str, object] | None = None) -> Inputs:
    """Return the inputs of a call."""
    return Inputs([SourceFile(name, text) for name, text in files.items()], target=target, host=host)


def judge(
    files: Mapping[str, str], target: str | None = None, host: dict[str, object] | None = None, fix: bool = False
) -> list[Problem]:
    """Check, render, and with ``fix`` also mend, one input."""
    before = time.process_time()
    try:
        found = _judge(files, parse_target(target) if target else None, host)
        took = time.process_time() - before
        if fix and took < SLOW / 4:
            found += _fixing(files, parse_target(target) if target else None)
    except Exception:  # noqa: BLE001 - any exception is what is looked for
        return [Problem("exception", traceback.format_exc(limit=-6))]
    if took > SLOW:
        found.append(Problem("slow", f"{took:.1f} s"))
    return found


def _judge(files: Mapping[str, str], target: Target | None, host: dict[str, object] | None) -> list[Problem]:
    given = inputs(files, target, host)
    deployments = read(given)
    checked = run_checks(deployments, Selection(), "en")
    texts = {path: source.text.split("\n") for d in deployments for path, source in d.sources.items()}
    found = [problem for finding in checked.findings for problem in _places(finding, texts)]
    if any(source.text != files[source.path] for source in given.files):
        found.append(Problem("input changed"))
    return found + _reports(checked.findings, deployments, list(files))


def _places(finding: Finding, texts: dict[str, list[str]]) -> list[Problem]:
    places = [(finding.file, finding.line, finding.column), (finding.file, finding.end_line, finding.end_column)]
    places += [(r.file, r.line, r.column) for r in finding.related]
    places += [(e.file, e.line, e.column) for e in (finding.fix.edits if finding.fix else [])]
    found = []
    for file, line, column in places:
        rows = texts.get(file, [])
        if not 1 <= line <= len(rows) or not 1 <= column <= len(rows[line - 1]) + 2:
            found.append(Problem("place outside", f"{finding.code} {file}:{line}:{column}"))
    return found


def raw(text: str) -> list[str]:
    """Return the characters of a text that a terminal would act on."""
    return [c for c in set(text) if (unicodedata.category(c) in ("Cc", "Cs") and c != "\n") or c in _BIDIRECTIONAL]


def _reports(findings: list[Finding], deployments: list[Deployment], paths: list[str]) -> list[Problem]:
    secrets = all_secrets(deployments)
    shown = hide(findings, secrets)
    summary = Summary.of(shown, len(paths) or 1, 0)
    choices = file_choices(deployments)
    sources = {path: source for d in deployments for path, source in d.sources.items()}
    shared = TargetInfo.shared(choice for _, choice in choices)
    targets = [FileTarget.of_file(file, choice) for file, choice in choices]
    report = Report(target=shared, targets=targets, findings=shown, summary=summary)
    forms = {
        "text": TextReport(sources, False, "en", secrets).render(shown, summary, choices),
        "zh": TextReport(sources, False, "zh", secrets).render(shown, summary, choices),
        "concise": concise(shown, choices),
        "github": github(shown, choices),
        "sarif": sarif(shown, "en", choices),
        "junit": junit(shown, paths, choices),
        "json": plain_json(report.model_dump_json(by_alias=True, indent=2)),
    }
    found = [Problem(f"raw characters in {form}", repr(raw(text))) for form, text in forms.items() if raw(text)]
    for form in ("json", "sarif"):
        json.loads(forms[form])
    ElementTree.fromstring(forms["junit"])
    if forms["github"].count("\n") != len(shown) + 1:  # the notice of the release
        found.append(Problem("github: not one line for each finding"))
    return found


def _counts(findings: list[Finding]) -> Counter[str]:
    return Counter(f.severity for f in findings)


def _fixing(files: Mapping[str, str], target: Target | None) -> list[Problem]:
    """Fix everything, and look at the result again: it must not be worse, and there must be nothing more to fix."""
    before = run_checks(read(inputs(files, target)), Selection()).findings
    if not any(f.fix for f in before):
        return []
    fixed = fix_inputs(inputs(files, target), Selection(), unsafe=True)
    after = run_checks(read(inputs(fixed.after, target)), Selection()).findings
    found = []
    if _counts(after)["error"] > _counts(before)["error"]:
        found.append(Problem("fix: more errors than before", f"{_counts(before)} -> {_counts(after)}"))
    again = fix_inputs(inputs(fixed.after, target), Selection(), unsafe=True)
    if again.changed:
        found.append(Problem("fix: not idempotent", ", ".join(sorted({f.code for f in again.done}))))
    return found
