"""Workflow commands of GitHub Actions: each finding becomes an annotation of a changed line."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.report.releases import Choices, OfReleases, releases_line
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.findings import Finding

_KINDS = {"error": "error", "warning": "warning", "info": "notice"}


def github(findings: Sequence[Finding], choices: Choices = (), lang: str = "en") -> str:
    """Return one workflow command for each finding, and a notice of what was checked for."""
    notice = f"::notice title=pd-launch::{_data(clean(releases_line(choices, lang)))}\n"
    of_releases = OfReleases(choices, lang)
    return "".join([*(_line(finding, of_releases(finding)) for finding in findings), notice])


def _line(finding: Finding, releases: str) -> str:
    properties = {
        "title": f"{finding.code} {finding.name}",
        "file": finding.file,
        "line": finding.line,
        "endLine": finding.end_line,
        "col": finding.column,
        "endColumn": finding.end_column,
    }
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = "\n".join(clean(part) for part in (finding.message, releases, finding.help) if part)
    return f"::{_KINDS[finding.severity]} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")
