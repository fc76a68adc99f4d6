"""JUnit XML, for build servers: one test case for each finding, or one that passes for each clean file."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from pd_launch.launcher.report.releases import Choices, OfReleases, releases_text
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.target import Choice

_Counted = tuple[Finding, bool]
"""A finding, and whether the exit status counts it."""


def junit(
    findings: Sequence[Finding], files: Sequence[str], choices: Choices = (), counts: Sequence[bool] | None = None
) -> str:
    """Return a test suite for each file; a finding that the exit status does not count is no failure.

    ``counts`` says of each finding whether it does; without it, errors alone do.
    """
    if counts is None:
        counts = [finding.severity == "error" for finding in findings]
    found: dict[str, list[_Counted]] = {}
    for finding, counted in zip(findings, counts, strict=True):
        found.setdefault(finding.file, []).append((finding, counted))
    chosen: dict[str, list[tuple[str, Choice]]] = {}
    for file, choice in choices:
        chosen.setdefault(file, []).append((file, choice))
    suites = [_suite(file, found.get(file, []), chosen.get(file, [])) for file in dict.fromkeys([*files, *found])]
    failed = sum(counts)
    total = sum(suite.count("<testcase ") for suite in suites)
    head = f'<testsuites name="pd-launch" tests="{total}" failures="{failed}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *suites, "</testsuites>"]) + "\n"


def _suite(file: str, findings: Sequence[_Counted], choices: Choices) -> str:
    failed = sum(counted for _, counted in findings)
    of_releases = OfReleases(choices)
    cases = [_case(finding, of_releases(finding), counted) for finding, counted in findings] or [
        '    <testcase name="pd-launch" classname="clean"/>'
    ]
    head = f'  <testsuite name={_attribute(file)} tests="{len(cases)}" failures="{failed}" errors="0">'
    return "\n".join([head, *_properties(choices), *cases, "  </testsuite>"])


def _properties(choices: Choices) -> list[str]:
    if not choices:
        return []
    value = _attribute(releases_text(choices, "en"))
    return ["    <properties>", f'      <property name="target" value={value}/>', "    </properties>"]


def _case(finding: Finding, releases: str, counted: bool) -> str:
    place = f"{finding.line}:{finding.column}"
    head = f'    <testcase name="{finding.code} {place}" classname={_attribute(finding.name)}'
    text = f"{clean(finding.file)}:{place}: {finding.severity}: {clean(finding.message)}"
    text = escape("\n".join([text, *(clean(part) for part in (releases, finding.help) if part)]))
    if not counted:
        return f"{head}><system-out>{text}</system-out></testcase>"
    failure = f"<failure type={quoteattr(finding.severity)} message={_attribute(finding.message)}>"
    return f"{head}>{failure}{text}</failure></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(clean(text))
