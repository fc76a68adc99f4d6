"""Which scheduler a launch on vllm-ascend really ends up with.

Options are in ``--additional-config``: flat up to 0.24, from 0.25 in its ``scheduler_config`` with the flat place as
fallback. Several of them write the scheduler's class one after the other, without looking at each other: the last wins.
Source: vllm_ascend/ascend_config.py and vllm_ascend/platform.py in the wheels of 0.18.0 to 0.26.0rc1, the first
main branch with typed options for 0.27.1rc1, and the source packages of 0.28.0rc1 to 0.30.0rc2.
"""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.build import UnreadError
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.additional import GROUP, switch_of
from pd_launch.schemas.releases.environment import ascend_reads
from pd_launch.schemas.releases.schedulers import NESTED, PRODUCER_IGNORED, READ

BALANCE = "enable_balance_scheduling"
BALANCE_VARIABLE = "VLLM_ASCEND_BALANCE_SCHEDULING"
SHORT_FIRST = "short_request_first_config"
PROFILING = "profiling_chunk_config"
BATCH_JOBS = "batch_job_sched_config"
DYNTRA = "dyntra_lb_config"
SLO = "SLO_limits_for_dynamic_batch"

_NEVER_FLAT = (DYNTRA,)


class Option(NamedTuple):
    """A scheduler option as the target reads it: ``on`` (None: unknown), and ``place``, where it is switched."""

    name: str
    on: bool | None
    place: Node | None


def reads(name: str, target: Target) -> bool:
    """Whether the target reads a scheduler option at all."""
    return READ[name].holds(target)


def option(node: NodeLaunch, name: str, target: Target) -> Option:
    """Return one of the options above as ``target`` reads it."""
    additional = node.additional
    if not reads(name, target) or additional is None:
        return Option(name, False, None)
    if not additional.known:
        return Option(name, None, None)
    found = None
    if NESTED.holds(target):
        group = additional.get(GROUP)
        if group is not None and not group.known:
            return Option(name, None, None)
        found = group.get(name) if group else None
    if found is None and not (name in _NEVER_FLAT and NESTED.holds(target)):
        found = additional.get(name)
    return _state(name, found)


def _state(name: str, found: Node | None) -> Option:
    if found is None:
        return Option(name, False, None)
    if not found.known:
        return Option(name, None, found)
    if name == SLO:
        return Option(name, found.value not in (-1, None), found)
    if name == BALANCE:
        return Option(name, bool(found.value), found)
    enabled = found.get("enabled")
    if enabled is None:
        return Option(name, False, found)
    return Option(name, bool(enabled.value) if enabled.known else None, enabled)


def balance(node: NodeLaunch, target: Target) -> Option:
    """Return balance scheduling, which an environment variable switches on too where the release reads it."""
    found = option(node, BALANCE, target)
    variable = node.env.get(BALANCE_VARIABLE)
    if found.place is not None or variable is None:
        return found
    try:
        if not ascend_reads(BALANCE_VARIABLE, target):
            return found
    except UnreadError:
        return Option(BALANCE, None, variable.value)
    text = variable.value.string()
    if text is None:
        return Option(BALANCE, None, variable.value)
    return Option(BALANCE, text.strip() not in ("", "0"), variable.value)


class Winner(NamedTuple):
    """What writes the scheduler's class last. ``scheduler`` is the class people look for in the log."""

    scheduler: str
    place: Node | None


def overriders(node: NodeLaunch, target: Target) -> list[Winner]:
    """Return the options that replace the scheduler after the recompute scheduler was set up; the last one wins."""
    names = {SLO: "SchedulerDynamicBatch", PROFILING: "ProfilingChunkScheduler", BATCH_JOBS: "BatchJobAwareScheduler"}
    found = [(option(node, name, target), scheduler) for name, scheduler in names.items()]
    return [Winner(scheduler, state.place) for state, scheduler in found if state.on]


def recompute_runs(node: NodeLaunch, target: Target) -> bool | None:
    """Whether the recompute scheduler is set up here (before anything replaces it); None where it is unknown."""
    switch = switch_of(node.additional, target)
    if switch.on is None or not target.is_ascend:
        return None if target.is_ascend else False
    if not switch.on:
        return False
    tree = node.kv_transfer
    if tree is None:
        return False
    role = tree.get("kv_role")
    if not tree.known or (role is not None and not role.known):
        return None
    return node.role == "kv_consumer" or (node.role == "kv_producer" and not PRODUCER_IGNORED.holds(target))


class Role(NamedTuple):
    """The top-level role, if it is known: ``name`` is None where there is no --kv-transfer-config."""

    known: bool
    name: str | None
    place: Node | None

    @property
    def consumes(self) -> bool:
        """Whether vLLM calls this a consumer (kv_both is one too)."""
        return self.name in ("kv_consumer", "kv_both")

    @property
    def said(self) -> Msg:
        """The role for a message."""
        if self.name:
            return Msg(f"kv_role is {self.name}", f"kv_role 是 {self.name}")
        return Msg("there is no --kv-transfer-config", "没有 --kv-transfer-config")


def role_of(node: NodeLaunch) -> Role:
    """Return the node's role. A role that is none of the three, or missing beside a connector, is not known."""
    tree = node.kv_transfer
    if tree is None:
        return Role(True, None, None)
    place = tree.get("kv_role")
    name = place.string() if place else None
    return Role(tree.known and name in ("kv_producer", "kv_consumer", "kv_both"), name, place)


def setting(node: NodeLaunch, *path: str) -> Node | None:
    """Return a value of --additional-config, or None where it is absent or unknown."""
    found = node.additional.get(*path) if node.additional else None
    return found if found is not None and found.known else None


def is_on(node: NodeLaunch, *path: str) -> Node | None:
    """Return the value of --additional-config at ``path`` if it is known and switches something on."""
    found = setting(node, *path)
    return found if found is not None and found.value and not isinstance(found.value, str) else None
