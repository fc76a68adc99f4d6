"""Which releases of vllm-ascend give a connector the chance to save a preempted request's KV.

Where the hook is missing nothing asks the connector before a victim's blocks are reused: the recompute scheduler does
not call it, and the model runner never calls ``handle_preemptions``.
"""

from __future__ import annotations

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.schedulers import HOOK


def has_preemption_hook(target: Target) -> bool:
    """Whether the target calls an offload connector on preemption; stock vLLM does, through ``handle_preemptions``."""
    return not target.is_ascend or HOOK.holds(target)
