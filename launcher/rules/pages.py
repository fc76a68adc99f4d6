"""The examples in a rule's page as inputs of a check, and the page as Markdown."""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import Any

from pd_launch.launcher.rules.registry import TITLES, Rule
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import CONFIDENCES, SEVERITIES

_BLOCK = lazy_pattern(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NAMES = {"bash": "serve.sh", "sh": "serve.sh", "yaml": "input.yaml", "python": "serve.py", "json": "input.json"}
_TARGET = lazy_pattern(r"#\s*target:\s*(\S+)\s*")
_FILE = lazy_pattern(r"#\s*file:\s*(\S+)\s*")
_HOST = "// host facts"


@dataclass
class Example:
    """The fenced blocks of a section: files by name, the release they are for, and host facts."""

    files: dict[str, str] = field(default_factory=dict)
    target: str | None = None
    host: dict[str, Any] | None = None


def example_of(section: str) -> Example:
    """Return the input that a section's fenced blocks show."""
    example = Example()
    for language, body in _BLOCK.findall(section):
        text = str(body)
        if text.startswith(_HOST):
            example.host = json.loads(text.removeprefix(_HOST))
            continue
        name = _NAMES.get(language)
        if name is None:
            continue
        lines = text.split("\n")
        for line in lines[:2]:
            if match := _TARGET.fullmatch(line.strip()):
                example.target = match[1]
            elif match := _FILE.fullmatch(line.strip()):
                name = match[1]
        example.files[name] = text
    return example


def markdown(rule: Rule, lang: str) -> str:
    """Return a rule's page as Markdown."""
    page = rule.page_in(lang)
    severity, confidence = SEVERITIES[rule.severity], CONFIDENCES[rule.confidence]
    marks = Msg(
        f"Severity: {severity.en} · Confidence: {confidence.en}", f"级别：{severity.zh} · 可信度：{confidence.zh}"
    )
    parts = [
        f"# {rule.code} {rule.name}",
        page["title"],
        marks.text(lang),
    ]
    parts += [f"## {title.text(lang)}\n\n{page[name]}" for name, title in TITLES.items() if page[name]]
    return "\n\n".join(parts) + "\n"
