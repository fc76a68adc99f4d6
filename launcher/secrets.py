"""Secrets never appear in plans, reports or logs: which names hold them, and how their values are masked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from pd_launch.schemas.finding import Finding
from pd_launch.schemas.launch import Deployment, NodeLaunch
from pd_launch.schemas.values import SourceFile

MASK = "***"
_NAME = re.compile(r"(?:key|token|secret|password|passwd)$", re.IGNORECASE)
_WRITTEN = re.compile(
    r"""(?<![\w-])[\w-]*(?:[_-](?:key|token)|secret|password|passwd)["']?(?:\s*[=:]\s*|,\s*)("[^"\n]*"|'[^'\n]*'|[^\s"',;}\])]+)"""
    r"""|(?<![\w-])--[\w-]*(?:key|token|secret|password|passwd)[\s=]+("[^"\n]*"|'[^'\n]*'|[^\s"']+)""",
    re.IGNORECASE,
)
_NOT_SECRET = frozenset({"ssl-keyfile"})
_SHORTEST = 4
"""A shorter value may be an ordinary word elsewhere; it is masked at its own place only."""


def is_secret(name: str) -> bool:
    """Whether a variable or option of this name holds a secret (*KEY, *TOKEN, *SECRET, *PASSWORD)."""
    return bool(_NAME.search(name.lstrip("-"))) and name.lstrip("-") not in _NOT_SECRET


def secret_values(nodes: Iterable[NodeLaunch]) -> list[str]:
    """Return the values of all secrets of ``nodes``, the longest first."""
    values: set[str] = set()
    for node in nodes:
        for name, variable in node.env.items():
            if is_secret(name) and isinstance(variable.value.value, str):
                values.add(variable.value.value)
        for arg in node.args:
            if is_secret(arg.name):
                values |= {n.value for n in (arg.value, *arg.more) if n is not None and isinstance(n.value, str)}
    return sorted((v for v in values if len(v) >= _SHORTEST), key=len, reverse=True)


def written_secrets(sources: Iterable[SourceFile]) -> list[str]:
    """Return what stands behind a secret's name in ``sources``, read or not: a broken file is shown too."""
    found = {(match[1] or match[2]).strip("\"'") for source in sources for match in _WRITTEN.finditer(source.text)}
    return [value for value in found if len(value) >= _SHORTEST and not value.startswith("$")]


def all_secrets(deployments: Iterable[Deployment]) -> list[str]:
    """Return every secret of an input, the longest first."""
    found: set[str] = set()
    for deployment in deployments:
        found |= {*secret_values(deployment.nodes), *written_secrets(deployment.sources.values())}
    return sorted(found, key=len, reverse=True)


def mask(text: str, values: Iterable[str]) -> str:
    """Return ``text`` with each of ``values`` replaced."""
    for value in values:
        text = text.replace(value, MASK)
    return text


def mask_line(line: str, start: int, end: int, values: Iterable[str]) -> tuple[str, int, int]:
    """Return ``line`` masked, and where the characters ``[start, end)`` are now."""
    for value in values:
        at = line.find(value)
        while at >= 0:
            after, less = at + len(value), len(value) - len(MASK)
            line = line[:at] + MASK + line[after:]
            start = start - less if start >= after else min(start, at)
            end = end - less if end >= after else at + len(MASK) if end > at else end
            at = line.find(value, at + len(MASK))
    return line, start, max(end, start + 1)


def hide(findings: Iterable[Finding], values: Collection[str]) -> list[Finding]:
    """Return ``findings`` with secrets masked in all that they say."""
    return [_hidden(finding, values) for finding in findings] if values else list(findings)


def _hidden(finding: Finding, values: Collection[str]) -> Finding:
    fix = finding.fix
    if fix is not None:
        edits = [edit.model_copy(update={"text": mask(edit.text, values)}) for edit in fix.edits]
        fix = fix.model_copy(update={"message": mask(fix.message, values), "edits": edits})
    related = [r.model_copy(update={"message": mask(r.message, values)}) for r in finding.related]
    return finding.model_copy(
        update={
            "message": mask(finding.message, values),
            "help": mask(finding.help, values),
            "related": related,
            "fix": fix,
        }
    )
