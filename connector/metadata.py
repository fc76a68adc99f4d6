"""What travels between the two sides: a :class:`Step` to the workers, a report back."""

from __future__ import annotations

from dataclasses import dataclass, field

from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorMetadata, KVConnectorWorkerMetadata

from pd_launch.schemas.offload.ledger import Step


@dataclass
class StepMetadata(KVConnectorMetadata):  # type: ignore[misc]
    """Scheduler → worker, one per engine step.

    Attributes:
        step: what to copy.
        engine: whose step it is; None where the scheduler side does nothing.
    """

    step: Step
    engine: str | None = None


@dataclass
class WorkerReport(KVConnectorWorkerMetadata):  # type: ignore[misc]
    """Worker → scheduler, in the steps that ask for it. Needs no counting of workers: a later report covers a lost one.

    Attributes:
        done: the highest step all of whose copies, and those before it, are over.
        capacity: host blocks this worker has room for.
        failed: host blocks that hold nothing because their save failed.
        totals: what was counted since the start, summed over workers.
    """

    done: int
    capacity: int
    failed: set[int] = field(default_factory=set)
    totals: dict[str, float] = field(default_factory=dict)

    def aggregate(self, other: KVConnectorWorkerMetadata) -> WorkerReport:
        """Combine the reports of two workers: what both have done, what both have room for."""
        if not isinstance(other, WorkerReport):
            raise TypeError(f"a report of {type(other).__name__} cannot be combined with one of the offload connector")
        names = self.totals.keys() | other.totals.keys()
        return WorkerReport(
            min(self.done, other.done),
            min(self.capacity, other.capacity),
            self.failed | other.failed,
            {name: self.totals.get(name, 0) + other.totals.get(name, 0) for name in names},
        )
