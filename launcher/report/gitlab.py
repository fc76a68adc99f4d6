"""GitLab's Code Quality report: findings beside the changed lines of a merge request."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pd_launch.launcher.report.fingerprints import below, fingerprints, marks
from pd_launch.launcher.report.plain_json import plain_json
from pd_launch.launcher.secrets.masking import Secrets
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.values import SourceFile

_SEVERITIES = {"error": "critical", "warning": "minor", "info": "info"}


def gitlab(findings: Sequence[Finding], sources: Mapping[str, SourceFile], secrets: Secrets) -> str:
    """Return one entry for each finding; paths are those in the repository, fingerprints stay when lines shift."""
    root = Path(os.environ.get("CI_PROJECT_DIR") or Path.cwd())
    prints = fingerprints(marks(findings, sources, secrets, root))
    listed = [
        {
            "description": clean(finding.message),
            "check_name": f"{finding.code} {finding.name}",
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": clean(below(finding.file, root)),
                "lines": {"begin": finding.line, "end": max(finding.end_line, finding.line)},
            },
        }
        for finding, fingerprint in zip(findings, prints, strict=True)
    ]
    return plain_json(json.dumps(listed, ensure_ascii=False, indent=2)) + "\n"
