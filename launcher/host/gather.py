"""All facts together."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from pd_launch.launcher.host.devices import device_count, device_facts
from pd_launch.launcher.host.memory import cgroup_memory, memlock, memory_facts, more_memory_facts
from pd_launch.launcher.host.network import interface_facts, ports_in_use
from pd_launch.launcher.host.releases import release_facts
from pd_launch.launcher.host.shm import shm_facts, stale_facts
from pd_launch.launcher.host.tree import ROOT, text
from pd_launch.launcher.secrets.masking import MASK, is_secret, mask_lines
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.whole import whole

_SHOWN = lazy_pattern(
    r"(ASCEND|HCCL|HCCN|ACL|VLLM|NCCL|GLOO|TP_SOCKET|MOONCAKE|MMC|YR|UCX|OMP|PYTORCH|TORCH|CUDA|KUBERNETES_SERVICE_HOST"
    r"|PYTHONHASHSEED|HF_HUB|LMCACHE|TASK_QUEUE|LD_LIBRARY_PATH$|LD_PRELOAD$|PD_LAUNCH)"
)
_LOGIN = lazy_pattern(r"(?<=://)[^/@\s]+(?=@)")


def host_facts(root: Path = ROOT) -> dict[str, Any]:
    """Return the facts that rules ask for; ``root`` is where /proc, /sys and /dev are looked for."""
    return _known(
        {
            **memory_facts(root),
            "cgroup_memory": cgroup_memory(root),
            **shm_facts(root),
            **stale_facts(root),
            "memlock": memlock(root),
            "npus": device_count(root),
            "ports_in_use": ports_in_use(root),
            **release_facts(root),
            **interface_facts(root),
            **device_facts(root),
        }
    )


def all_facts(root: Path = ROOT) -> dict[str, Any]:
    """Return everything that can be known of this host. Secrets in the environment are masked."""
    more = {
        **more_memory_facts(root),
        "cpus": os.cpu_count(),
        "cpus_allowed": _cpus_allowed(root),
        "environment": environment_facts(),
    }
    return host_facts(root) | _known(more)


def _known(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value is not None}


def _cpus_allowed(root: Path) -> int | None:
    """Return how many CPUs this process may run on."""
    match = re.search(r"(?m)^Cpus_allowed_list:\s*(\S+)", text(root / "proc/self/status"))
    if not match:
        return None
    count = 0
    for part in match[1].split(","):
        first, _, last = part.partition("-")
        low, high = whole(first), whole(last or first)
        if low is None or high is None:
            return None
        count += high - low + 1
    return count


def environment_facts() -> dict[str, str]:
    """Return the variables that matter to an engine, with secrets masked."""
    found = {name: value for name, value in os.environ.items() if _SHOWN.match(name)}
    return {n: MASK if is_secret(n) else mask_lines(_LOGIN.sub(MASK, value)) for n, value in sorted(found.items())}
