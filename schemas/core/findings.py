"""Findings, the part of the report that every check makes: plain classes, so that none waits for pydantic."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import RANK, Confidence, Severity


def _described(text: str) -> Any:
    """Return a field with what the JSON Schema says of it."""
    return field(metadata={"description": text})


class _Strict:
    """A part of a contract: where pydantic reads one, it takes no other keys."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(kw_only=True)
class Edit(_Strict):
    """Replace the text between two places of a file by ``text``. The end is exclusive; equal places insert."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(kw_only=True)
class Fix(_Strict):
    """A change of the input that removes the finding. A safe fix keeps what the input clearly meant."""

    message: str
    safe: bool
    edits: list[Edit]


@dataclass(kw_only=True)
class Related(_Strict):
    """A further place that the finding speaks of."""

    file: str
    line: int
    column: int
    message: str


@dataclass(kw_only=True)
class Finding(_Strict):
    """One thing that is wrong, or worth knowing, and where. Lines and columns count from 1."""

    code: str = _described("Stable code of the rule, such as PD301")
    name: str = _described("Stable name of the rule, such as budget-division")
    severity: Severity
    confidence: Confidence
    message: str = _described("What is wrong, with the numbers")
    why: str = _described("Why it matters, in one sentence")
    help: str = _described("What to write instead")
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    related: list[Related] = field(default_factory=list)
    fix: Fix | None = None
    releases: list[str] = field(
        default_factory=list,
        metadata={
            "description": "The releases that it is found for, as ranges; empty where it does not depend on the release"
        },
    )

    def sort_key(self) -> tuple[str, int, int, str]:
        """Order of a report: by file and place, then by code."""
        return (self.file, self.line, self.column, self.code)

    def identity(self) -> tuple[str, str, int, int, str]:
        """What makes two findings the same: the code, the place and what is said, whatever the severity."""
        return (self.code, self.file, self.line, self.column, self.message)


@dataclass(kw_only=True)
class Summary(_Strict):
    """Counts over a report."""

    error: int = 0
    warning: int = 0
    info: int = 0
    fixable: int = 0
    suppressed: int = 0
    files: int = 0

    @classmethod
    def of(cls, findings: list[Finding], files: int, suppressed: int = 0) -> Summary:
        """Count ``findings``."""
        counts = {severity: sum(f.severity == severity for f in findings) for severity in RANK}
        fixable = sum(f.fix is not None for f in findings)
        return cls(**counts, fixable=fixable, suppressed=suppressed, files=files)
