"""Findings and the report: the JSON contract of ``pd-launch check`` (format version 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pd_launch.schemas.core.severity import RANK, Confidence, Severity
from pd_launch.schemas.core.target import Choice, Target

FORMAT_VERSION = 2


class _Contract(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class Edit(_Contract):
    """Replace the text between two places of a file by ``text``. The end is exclusive; equal places insert."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(_Contract):
    """A change of the input that removes the finding. A safe fix keeps what the input clearly meant."""

    message: str
    safe: bool
    edits: list[Edit]


class Related(_Contract):
    """A further place that the finding speaks of."""

    file: str
    line: int
    column: int
    message: str


class Finding(_Contract):
    """One thing that is wrong, or worth knowing, and where. Lines and columns count from 1."""

    code: str = Field(description="Stable code of the rule, such as PD301")
    name: str = Field(description="Stable name of the rule, such as budget-division")
    severity: Severity
    confidence: Confidence
    message: str = Field(description="What is wrong, with the numbers")
    why: str = Field(description="Why it matters, in one sentence")
    help: str = Field(description="What to write instead")
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    related: list[Related] = Field(default_factory=list)
    fix: Fix | None = None
    releases: list[str] = Field(
        default_factory=list,
        description="The releases that it is found for, as ranges; empty where it does not depend on the release",
    )

    def sort_key(self) -> tuple[str, int, int, str]:
        """Order of a report: by file and place, then by code."""
        return (self.file, self.line, self.column, self.code)

    def identity(self) -> tuple[str, str, int, int, str]:
        """What makes two findings the same: the code, the place and what is said, whatever the severity."""
        return (self.code, self.file, self.line, self.column, self.message)


class TargetInfo(_Contract):
    """The release that all engines share, and who decided it: nulls where it is ``unknown`` or ``several``."""

    model_config = ConfigDict(extra="forbid", defer_build=True, populate_by_name=True)

    vllm_ascend: str | None
    vllm: str | None
    decided_by: str = Field(alias="from")

    @classmethod
    def of(cls, target: Target) -> TargetInfo:
        """Return the contract's form of ``target``."""
        return cls.model_validate(_fields(target))

    @classmethod
    def shared(cls, choices: Iterable[Choice]) -> TargetInfo:
        """Return the release that all engines of a call share."""
        decided = list(dict.fromkeys(choice.decided for choice in choices))
        if len(decided) == 1 and decided[0] is not None:
            return cls.of(decided[0])
        return cls.model_validate({**_fields(None), "from": "unknown" if decided in ([], [None]) else "several"})


class FileTarget(TargetInfo):
    """The release of the engines of a file; an unknown one has the releases that were looked at."""

    file: str
    looked_at: list[str] = Field(default_factory=list, description="Releases that findings were looked for in")

    @classmethod
    def of_file(cls, file: str, choice: Choice) -> FileTarget:
        """Return what the engines of ``file`` were checked for."""
        looked_at = [str(lead) for lead in choice.leads]
        return cls.model_validate({"file": file, **_fields(choice.decided), "looked_at": looked_at})


def _fields(target: Target | None) -> dict[str, str | None]:
    if target is None:
        return {"vllm_ascend": None, "vllm": None, "from": "unknown"}
    return {"vllm_ascend": target.vllm_ascend, "vllm": target.vllm, "from": target.decided_by}


class Summary(_Contract):
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


class Report(_Contract):
    """What ``pd-launch check --format json`` prints."""

    format_version: Literal[2] = 2
    target: TargetInfo
    targets: list[FileTarget] = Field(default_factory=list)
    findings: list[Finding]
    summary: Summary
