"""What becomes of preempted requests that are not simply parked and restored: the reasons that are counted, by kind.

Every preemption is parked or has one reason of the kind ``unsaved``, so parked + unsaved = preemptions. Every copy is
restored, still parked, or has one reason of the kinds ``lost`` and ``unneeded``, so
parked = restored + parked now + lost + unneeded. The kind ``part`` comes on top: such a request is parked as well, or
restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pd_launch.schemas.core.record import dataclass

Kind = Literal["unsaved", "part", "lost", "unneeded"]


@dataclass(frozen=True)
class Reason:
    """One reason. ``wanted``: somebody asked for it, or nothing is recomputed for it, so it is no fault."""

    kind: Kind
    wanted: bool = False


REASONS: dict[str, Reason] = {
    "pool_full": Reason("unsaved"),
    "partial": Reason("part"),
    "untracked": Reason("unsaved"),
    "resumable": Reason("unsaved"),
    "prompt_pass": Reason("unsaved"),
    "window": Reason("unsaved"),
    "overwritten": Reason("lost"),
    "save_failed": Reason("lost"),
    "load_failed": Reason("part"),
    "reset": Reason("lost", wanted=True),
    "reset_running": Reason("unsaved", wanted=True),
    "no_worker": Reason("unsaved"),
    "no_pool": Reason("unsaved"),
    "unknown_engine": Reason("unsaved"),
    "superseded": Reason("unneeded", wanted=True),
    "ended": Reason("unneeded", wanted=True),
}


def of_kind(kind: Kind, fallbacks: Mapping[str, float]) -> float:
    """Return how many of these have a reason of that kind; reasons that are not known here have none."""
    return sum(count for reason, count in fallbacks.items() if reason in REASONS and REASONS[reason].kind == kind)
