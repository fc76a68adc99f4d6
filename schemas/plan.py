"""The launch plan: the JSON contract of ``--dry-run`` (format version 2). Unknown numbers are null."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pd_launch.schemas.core.findings import Finding, Summary
from pd_launch.schemas.engine.budget import BudgetSource
from pd_launch.schemas.finding import FileTarget, TargetInfo


class _Contract(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True, populate_by_name=True)


class BudgetPlan(_Contract):
    """Host memory of the offload connector on this node. Bytes, ranks, engines and blocks."""

    per_rank_bytes: int | None = None
    ranks_per_engine: int | None = None
    engines_on_node: int | None = None
    per_engine_bytes: int | None = None
    per_node_bytes: int | None = None
    blocks: int | None = Field(
        None, description="Blocks that one rank's budget holds; null without the model's geometry"
    )
    shm_bytes: int | None = Field(None, description="/dev/shm that this node's engines need for their message rings")
    decided_by: BudgetSource | None = Field(
        None,
        alias="from",
        description="What decides the budget: per_rank (also what per_engine and per_node become), total "
        "(cpu_bytes_to_use), ratio, default_total, default_ratio; null without offload",
    )


class PortUse(_Contract):
    """A port, or ``count`` ports from it, and whether this process binds them or only names them."""

    port: int
    count: int = 1
    use: str = Field(description="http, kv, dp_rpc, side_channel, kv_events, mooncake_bootstrap …")
    binds: bool


class Place(_Contract):
    """Where an argument or variable came from."""

    file: str
    line: int
    column: int
    via: str = ""


class ProcessPlan(_Contract):
    """One process that is started on this node."""

    node: int
    dp_rank: int | None
    argv: list[str]
    env: dict[str, str]
    kv_transfer_config: dict[str, Any] | None
    additional_config: dict[str, Any] | None
    ports: list[PortUse]
    devices: list[int] | None


class LaunchPlan(_Contract):
    """Everything that ``pd-launch decode`` or ``prefill`` would do on this node."""

    format_version: Literal[2] = 2
    role: Literal["prefill", "decode"]
    name: str
    target: TargetInfo
    targets: list[FileTarget] = Field(default_factory=list)
    argv: list[str]
    env: dict[str, str]
    cwd: str | None = None
    kv_transfer_config: dict[str, Any] | None
    additional_config: dict[str, Any] | None
    budget: BudgetPlan
    ports: list[PortUse]
    devices: list[int] | None
    findings: list[Finding]
    summary: Summary
    provenance: dict[str, Place]
    processes: list[ProcessPlan]
