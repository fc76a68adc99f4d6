"""SARIF 2.1.0, for code scanning: rules, findings with related places, and fixes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from pd_launch import __version__
from pd_launch.launcher.report.plain_json import plain_json
from pd_launch.launcher.report.releases import Choices, releases_text
from pd_launch.launcher.rules.registry import Rule, all_rules
from pd_launch.schemas.core.findings import Finding, Fix
from pd_launch.schemas.finding import FileTarget

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(findings: Sequence[Finding], lang: str, choices: Choices = ()) -> str:
    """Return a SARIF log with one run."""
    used = sorted({finding.code for finding in findings})
    rules = all_rules()
    run = {
        "tool": {
            "driver": {
                "name": "pd-launch",
                "version": __version__,
                "rules": [_rule(rules[code], lang) for code in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "properties": {"target": releases_text(choices, "en"), "targets": _targets(choices)},
        "results": [_result(finding, used.index(finding.code)) for finding in findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return plain_json(json.dumps(log, ensure_ascii=False, indent=2)) + "\n"


def _targets(choices: Choices) -> list[dict[str, Any]]:
    return [FileTarget.of_file(file, choice).model_dump(by_alias=True) for file, choice in choices]


def _rule(rule: Rule, lang: str) -> dict[str, Any]:
    page = rule.page_in(lang)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": page["title"]},
        "fullDescription": {"text": page["What it does"]},
        "help": {"text": page["Why it matters"], "markdown": page["Why it matters"]},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    text = finding.message if not finding.help else f"{finding.message}\n{finding.help}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding.file, finding.line, finding.column, finding.end_line, finding.end_column)],
    }
    if finding.releases:
        result["properties"] = {"releases": finding.releases}
    if finding.related:
        result["relatedLocations"] = [
            {**_location(r.file, r.line, r.column), "id": number, "message": {"text": r.message}}
            for number, r in enumerate(finding.related, 1)
        ]
    if finding.fix:
        result["fixes"] = [_fix(finding.fix)]
    return result


def _location(file: str, line: int, column: int, end_line: int = 0, end_column: int = 0) -> dict[str, Any]:
    region = _region(line, column, end_line or line, end_column or column)
    return {"physicalLocation": {"artifactLocation": {"uri": uri(file)}, "region": region}}


def _region(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def uri(file: str) -> str:
    """Return a path as a URI reference; standard input and the command line have made-up names."""
    if file.startswith("<"):
        return quote(file.strip("<>").replace(" ", "-"))
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _fix(fix: Fix) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        region = _region(edit.line, edit.column, edit.end_line, edit.end_column)
        changes.setdefault(edit.file, []).append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {"artifactLocation": {"uri": uri(file)}, "replacements": parts} for file, parts in changes.items()
        ],
    }
