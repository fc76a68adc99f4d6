"""The JSON contract of ``pd-launch upgrade`` (format version 1)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pd_launch.schemas.core.findings import Finding


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class UpgradeChange(_Model):
    """One change that concerns the files. ``how`` says whether it is written, and by which option."""

    kind: Literal["removed", "renamed", "moved", "refused", "default", "behaviour", "needed"]
    subject: str
    effect: Literal["stops", "differs", "cleans"]
    """What happens without it: the engine does not start, does something else, or nothing."""
    file: str
    line: int
    column: int
    before: str
    after: str
    why: str
    help: str
    source: str
    how: Literal["certain", "plausible", "by-hand", "note"]
    written: bool


class UpgradeReport(_Model):
    """What changes between two releases for the files of one call."""

    format_version: Literal[1] = 1
    from_: str = Field(alias="from")
    to: str
    files: list[str]
    changes: list[UpgradeChange]
    findings_before: list[Finding]
    findings_after: list[Finding]
