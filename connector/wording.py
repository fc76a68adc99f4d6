"""Names in log lines: they follow the class name, so that filters written for the upstream connectors keep working."""

from __future__ import annotations

from dataclasses import dataclass

from pd_launch.schemas.engine.budget import NEW_NAME, OLD_NAME


@dataclass(frozen=True)
class Wording:
    """Class names as logged, and the word that the feature goes by."""

    connector: str
    scheduler: str
    worker: str
    feature: str


WORDING = {
    OLD_NAME: Wording(OLD_NAME, "RecomputeCPUOffloadScheduler", "RecomputeCPUOffloadWorker", "recompute"),
    NEW_NAME: Wording(NEW_NAME, "PreemptOffloadScheduler", "PreemptOffloadWorker", "preempt"),
}
