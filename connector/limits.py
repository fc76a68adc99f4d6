"""Host memory that this process may have, and what to say when the budget does not fit in. Pure Python.

Pages are backed as they are used, so a budget beyond the limit would not fail at start: the kernel would kill the
engine in the middle of traffic. Hence the question at start.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pd_launch.schemas.core.units import human_size

ROOT = Path("/")
CGROUP_FILES = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
RLIMITS = {"ulimit -v (address space)": resource.RLIMIT_AS, "ulimit -l (locked memory)": resource.RLIMIT_MEMLOCK}


class HostMemoryError(MemoryError):
    """The budget cannot be had on this host; the message names bytes, ranks and limits, and says what to change."""


def memory_limits(root: Path = ROOT) -> dict[str, int]:
    """Return the bytes that bound the memory of this process's host or container, by name."""
    return dict(_limits(root))


def _limits(root: Path) -> Iterator[tuple[str, int]]:
    total = _meminfo(root).get("MemTotal")
    if total is not None:
        yield "memory of this host", total
    for name in CGROUP_FILES:
        try:
            text = (root / name).read_text().strip()
        except OSError:
            continue
        if text.isdigit() and int(text) < (total or 1 << 60):
            yield "limit of this container", int(text)
            return


def _meminfo(root: Path) -> dict[str, int]:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines) if rest}


def check_budget(per_rank: int, ranks: int, name: str, root: Path = ROOT) -> None:
    """Refuse a budget that this host cannot hold.

    Args:
        per_rank: bytes of host memory for each rank.
        ranks: ranks of this engine on this host.
        name: the connector's name.
        root: where ``/proc`` and ``/sys`` are.

    Raises:
        HostMemoryError: all ranks together would need more than there is.
    """
    limits = memory_limits(root)
    if limits and per_rank * ranks > min(limits.values()):
        raise HostMemoryError(_message(name, per_rank, ranks, "that is more than there is", root))


def allocation_error(per_rank: int, ranks: int, name: str, error: Exception, root: Path = ROOT) -> HostMemoryError:
    """Return what to raise when host memory could not be mapped or pinned."""
    return HostMemoryError(_message(name, per_rank, ranks, str(error) or type(error).__name__, root))


def _message(name: str, per_rank: int, ranks: int, why: str, root: Path) -> str:
    known = [f"{text} {human_size(size)}" for text, size in memory_limits(root).items()]
    available = _meminfo(root).get("MemAvailable")
    if available is not None:
        known.append(f"available now {human_size(available)}")
    for text, which in RLIMITS.items():
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            known.append(f"{text} {human_size(soft)}")
    return (
        f"{name}: {per_rank} bytes of host memory per rank ({human_size(per_rank)}) for {ranks} rank(s) of this "
        f"engine, {human_size(per_rank * ranks)} together, cannot be had: {why}. Limits: "
        f"{', '.join(known) or 'unknown'}. Lower cpu_bytes_to_use_per_rank, or raise the limit; every other engine on "
        "this host needs its own share"
    )


def ranks_of(parallel: Any) -> int:
    """Return how many ranks one engine has: TP × PP × PCP."""
    ranks = parallel.tensor_parallel_size * parallel.pipeline_parallel_size
    return int(ranks * getattr(parallel, "prefill_context_parallel_size", 1))


def ranks_here(parallel: Any) -> int:
    """Return how many ranks of this engine share this host's memory."""
    return max(1, ranks_of(parallel) // max(1, int(getattr(parallel, "nnodes", 1) or 1)))
