"""Which releases of vllm-ascend give a connector the chance to save a preempted request's KV.

Up to 0.22.1rc1 nothing asks the connector before a victim's blocks are reused: the recompute scheduler has no hook, and
the model runner never calls ``handle_preemptions``. Both came with 0.23.0rc1 (pull request 10742).
Source: vllm_ascend/core/recompute_scheduler.py and vllm_ascend/worker/model_runner_v1.py in the wheels of 0.18.0,
0.19.1rc1, 0.20.2rc1, 0.21.0rc1, 0.22.1rc1, 0.23.0rc1, 0.23.0, 0.24.0rc1, 0.25.1rc1 and 0.26.0rc1, and the source
packages of 0.28.0rc1, 0.29.0rc1 and 0.30.0rc2.
"""

from __future__ import annotations

from pd_launch.schemas.target import Target

HOOK_SINCE = "0.23.0rc1"


def has_preemption_hook(target: Target) -> bool:
    """Whether the target calls an offload connector on preemption; stock vLLM does, through ``handle_preemptions``."""
    return not target.is_ascend or target.ascend_at_least(HOOK_SINCE)
