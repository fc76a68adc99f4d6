"""How grave a finding is, and how sure."""

from __future__ import annotations

from typing import Literal

from pd_launch.schemas.core.msg import Msg

Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}
SEVERITIES: dict[Severity, Msg] = {
    "error": Msg("error", "错误"),
    "warning": Msg("warning", "警告"),
    "info": Msg("info", "提示"),
}
CONFIDENCES: dict[Confidence, Msg] = {"high": Msg("high", "高"), "medium": Msg("medium", "中"), "low": Msg("low", "低")}
"""What people read; programs read the keys."""
