"""What a finding is known by when lines above it come and go: its file, its code and the text that it refers to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pd_launch.launcher.secrets.masking import Secrets
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.values import SourceFile

_LONGEST = 120
_FEWEST = 3
"""Letters and digits of a text that says enough by itself; of less, the whole line is taken."""


class Mark(NamedTuple):
    """What a finding is known by; several on equal texts have equal marks."""

    file: str
    code: str
    text: str


def marks(findings: Sequence[Finding], sources: Mapping[str, SourceFile], secrets: Secrets, root: Path) -> list[Mark]:
    """Return the marks of findings, in their order; paths are those below ``root``, and secrets are masked."""
    return [Mark(below(f.file, root), f.code, _short(_text(f, sources, secrets))) for f in findings]


def fingerprints(found: Sequence[Mark]) -> list[str]:
    """Return a text for each mark that no other of them has; of equal ones it tells which in order it is."""
    seen: Counter[Mark] = Counter()
    made = []
    for mark in found:
        seen[mark] += 1
        made.append(_digest("\0".join([*mark, str(seen[mark])])))
    return made


def below(file: str, root: Path) -> str:
    """Return a path as it is from ``root``, with slashes; what is no file (standard input) stays as it is."""
    if file.startswith("<"):
        return file
    try:
        return Path(os.path.relpath(Path(file).absolute(), root.absolute())).as_posix()
    except ValueError:  # another drive
        return Path(file).as_posix()


def _text(finding: Finding, sources: Mapping[str, SourceFile], secrets: Secrets) -> str:
    """Return what is at a finding's place, with secrets masked."""
    source = sources.get(finding.file)
    last = max(finding.end_line, finding.line)
    if source is None or last > len(source.starts) or not source.text:
        return ""
    whole, parts = [], []
    for number in range(finding.line, last + 1):
        line = source.line(number)
        start = finding.column - 1 if number == finding.line else 0
        end = finding.end_column - 1 if number == finding.end_line else len(line)
        masked = secrets.masked_line(source, number)
        start, end = masked.place(start, max(end, start))
        whole.append(masked.text)
        parts.append(masked.text[start:end])
    text = " ".join(parts)
    return text if sum(character.isalnum() for character in text) >= _FEWEST else " ".join(whole)


def _digest(text: str) -> str:
    from hashlib import sha256  # which loads OpenSSL

    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _short(text: str) -> str:
    text = " ".join(text.split()).encode("utf-8", "replace").decode()
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… {_digest(text)[:16]}"
