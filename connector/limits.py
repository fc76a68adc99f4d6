"""Host memory that this process may have, and what to say when the budget does not fit in. Pure Python.

Pages are backed as they are needed, so a budget beyond the limit would not fail at start: the kernel would kill the
engine in the middle of traffic. Hence the question at start.
"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

from pd_launch.connector.cgroups import limits
from pd_launch.schemas.core.units import counted, human_size

ROOT = Path("/")
RLIMITS = {"ulimit -v (address space)": resource.RLIMIT_AS, "ulimit -l (locked memory)": resource.RLIMIT_MEMLOCK}


class HostMemoryError(MemoryError):
    """The budget cannot be had on this host; the message names bytes, ranks and limits, and says what to change."""


def sizes(first: int, second: int) -> tuple[str, str]:
    """Return two sizes for people, with bytes where rounding would hide that they differ."""
    one, two = human_size(first), human_size(second)
    return (one, two) if one != two or first == second else (f"{first} bytes", f"{second} bytes")


def no_block(name: str, budget: int, block: int) -> str:
    """Return what to say of a budget that holds not one block."""
    there, needed = sizes(budget, block)
    return f"{name}: a budget of {there} per rank holds no block of {needed}; raise cpu_bytes_to_use_per_rank"


def memory_limits(root: Path = ROOT) -> dict[str, int]:
    """Return the bytes that bound the memory of this process's host or container, by name."""
    found = {}
    total = _meminfo(root).get("MemTotal")
    if total is not None:
        found["memory of this host"] = total
    return found | {limit.name: limit.size for limit in limits(root) if total is None or limit.size < total}


def memory_left(root: Path = ROOT) -> dict[str, int]:
    """Return the bytes that this process may still take, by the name of what bounds them."""
    found = {}
    available = _meminfo(root).get("MemAvailable")
    if available is not None:
        found["available on this host"] = available
    left = ((limit, limit.left) for limit in limits(root))
    return found | {f"left of the {limit.name}": size for limit, size in left if size is not None}


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
    known = memory_limits(root)
    if known and per_rank * ranks > min(known.values()):
        raise HostMemoryError(_message(name, per_rank, ranks, "that is more than there is", root))


def shortage(per_rank: int, ranks: int, name: str, root: Path = ROOT) -> str | None:
    """Return what to warn of where the budget is more than is left now; None where it is not.

    Ask when weights and KV cache have their memory. The budget takes its own only as requests are preempted, so a
    shortage is no reason not to start, but one to know that the kernel may kill the engine then.

    Args:
        per_rank: bytes of host memory for each rank.
        ranks: ranks on this host that take so much, of this engine and of the others that it was started with.
        name: the connector's name.
        root: where ``/proc`` and ``/sys`` are.
    """
    left = memory_left(root)
    if not left:
        return None
    where = min(left, key=left.__getitem__)
    if per_rank * ranks <= left[where]:
        return None
    asked, there = sizes(per_rank * ranks, left[where])
    return (
        f"{name}: the budget is {asked} for {counted(ranks, 'rank')} on this host, but {there} are {where}, with "
        "weights and KV cache in place: if so much is ever parked, the kernel ends the engine. Lower "
        "cpu_bytes_to_use_per_rank, or raise the limit"
    )


def allocation_error(per_rank: int, ranks: int, name: str, error: Exception, root: Path = ROOT) -> HostMemoryError:
    """Return what to raise when host memory could not be mapped or pinned."""
    return HostMemoryError(_message(name, per_rank, ranks, str(error) or type(error).__name__, root))


def _message(name: str, per_rank: int, ranks: int, why: str, root: Path) -> str:
    together = per_rank * ranks
    known = [f"{text} {sizes(size, together)[0]}" for text, size in memory_limits(root).items()]
    available = _meminfo(root).get("MemAvailable")
    if available is not None:
        known.append(f"available now {human_size(available)}")
    for text, which in RLIMITS.items():
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            known.append(f"{text} {human_size(soft)}")
    return (
        f"{name}: {per_rank} bytes of host memory per rank ({human_size(per_rank)}) for {counted(ranks, 'rank')} of "
        f"this engine, {_exact(together, memory_limits(root))} together, cannot be had: {why}. Limits: "
        f"{', '.join(known) or 'unknown'}. Lower cpu_bytes_to_use_per_rank, or raise the limit; every other engine on "
        "this host needs its own share"
    )


def _exact(size: int, known: dict[str, int]) -> str:
    hidden = any(other != size and human_size(other) == human_size(size) for other in known.values())
    return f"{size} bytes" if hidden else human_size(size)


def ranks_of(parallel: Any) -> int:
    """Return how many ranks one engine has: TP × PP × PCP."""
    ranks = parallel.tensor_parallel_size * parallel.pipeline_parallel_size
    return int(ranks * getattr(parallel, "prefill_context_parallel_size", 1))


def ranks_here(parallel: Any) -> int:
    """Return how many ranks of this engine share this host's memory."""
    return max(1, ranks_of(parallel) // max(1, int(getattr(parallel, "nnodes", 1) or 1)))


def engines_here(parallel: Any) -> int:
    """Return how many engines were started together on this host: the local data-parallel ranks."""
    return max(1, int(getattr(parallel, "data_parallel_size_local", 1) or 1))
