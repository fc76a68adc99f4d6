"""How grave a finding is, and how sure."""

from __future__ import annotations

from typing import Literal

Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}
