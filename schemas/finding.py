"""Findings and the report: the JSON contract of ``pd-launch check`` (format version 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pd_launch.schemas.core.findings import Edit, Finding, Fix, Related, Summary
from pd_launch.schemas.core.target import Choice, Target

FORMAT_VERSION = 2

__all__ = ["Edit", "FileTarget", "Finding", "Fix", "Related", "Report", "Summary", "TargetInfo"]


class _Contract(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


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


class Report(_Contract):
    """What ``pd-launch check --format json`` prints."""

    format_version: Literal[2] = 2
    target: TargetInfo
    targets: list[FileTarget] = Field(default_factory=list)
    findings: list[Finding]
    summary: Summary
