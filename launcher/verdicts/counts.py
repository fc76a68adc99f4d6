"""From counts to a verdict on an engine whose preemption offload is active, and what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pd_launch.launcher.verdicts.fallbacks import FALLBACKS, OTHER
from pd_launch.launcher.verdicts.table import Trouble
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import GIB, counted, human_size
from pd_launch.schemas.core.words import agreeing
from pd_launch.schemas.logs import Verdict

IDLE = Msg("preemption offload is active; no request was preempted", "抢占卸载已启用；没有请求被抢占")


@dataclass(frozen=True)
class Tally:
    """What became of preempted requests. ``fallbacks`` by reason, without those that somebody wanted."""

    preempted: int
    parked: int
    restored: int
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    waiting: int = 0
    """Parked, and neither restored nor lost so far."""


def of_counts(tally: Tally, idle: Msg, waiting: Msg) -> tuple[Verdict, Msg]:
    """Return the verdict and why; ``idle`` says it where nothing was preempted, ``waiting`` of those still parked."""
    if tally.fallbacks:
        count = sum(tally.fallbacks.values())
        return "fallbacks", Msg(
            f"preemption offload is active, but {count} of {counted(tally.preempted, 'preemption')} "
            f"{agreeing(count, 'was', 'were')} not saved and restored in full",
            f"抢占卸载已启用，但 {tally.preempted} 次抢占中有 {count} 次没有完整保存和恢复",
        )
    if tally.preempted == 0 and tally.restored == 0:
        return "idle", idle
    more = waiting if tally.waiting > 0 else Msg("", "")
    return "healthy", Msg(
        f"preemption offload is active: {tally.parked} times parked, {tally.restored} times restored{more.en}",
        f"抢占卸载已启用：暂存 {tally.parked} 次，恢复 {tally.restored} 次{more.zh}",
    )


def fallback_troubles(fallbacks: Mapping[str, int], budget: Msg | None = None) -> list[Trouble]:
    """Return what each reason means and what to do; ``budget`` says it better where the pool was too small."""
    found = []
    for reason, count in sorted(fallbacks.items()):
        if reason == "aborted":
            continue  # told apart, with those that an earlier line gave another reason for
        message, help_, code = FALLBACKS.get(reason, OTHER)
        if reason in ("pool_full", "partial"):
            help_ = budget or help_
        text = Msg(message.en.format(count=count), message.zh.format(count=count))
        found.append(Trouble(code, "warning", text, help_, 0, count))
    return found


def budget_advice(blocks: int | None, missing: int, block_bytes: int | None) -> Msg | None:
    """Say which budget per rank would have been enough, where ``missing`` blocks were short of it."""
    if not block_bytes or not blocks or not missing:
        return None
    need = (blocks + missing) * block_bytes
    step = GIB if need > GIB else 2**20
    need = -(-need // step) * step
    has = human_size(blocks * block_bytes)
    return Msg(
        f"raise cpu_bytes_to_use_per_rank from {has} to at least {need} ({human_size(need)})",
        f"把 cpu_bytes_to_use_per_rank 从 {has} 增至至少 {need}（{human_size(need)}）",
    )
