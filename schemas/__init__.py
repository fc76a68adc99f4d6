"""What a deployment is: types and pure arithmetic. No I/O, no vLLM; imports none of our other packages.

Its contracts are public: ``Profile``, ``Report``, ``Finding``, ``LaunchPlan``, ``LogsReport`` and ``StatusReport``,
the models of ``pd-launch schema``. They are loaded when asked for, since pydantic takes longer than a check.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pd_launch.schemas.finding import Finding, Report
    from pd_launch.schemas.logs import LogsReport
    from pd_launch.schemas.plan import LaunchPlan
    from pd_launch.schemas.profile import Profile
    from pd_launch.schemas.status import StatusReport

__all__ = ["Finding", "LaunchPlan", "LogsReport", "Profile", "Report", "StatusReport"]
_HOMES = {
    "Finding": "finding",
    "LaunchPlan": "plan",
    "LogsReport": "logs",
    "Profile": "profile",
    "Report": "finding",
    "StatusReport": "status",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
