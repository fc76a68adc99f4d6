"""What the connector reads of the engine's classes with a harmless default, and what is missing here. Pure Python.

A release that renames one of these would let KV be saved after it was zeroed, or restored where it is stale, without a
word. So a missing one that matters in this engine is told, and nothing is saved. ``tests/engine/test_canaries.py`` asks
more of each installed release.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import unwrap
from types import FunctionType
from typing import Any

REQUEST = ("vllm.v1.request", "Request")
OUTPUT = ("vllm.v1.core.sched.output", "SchedulerOutput")
CACHED = ("vllm.v1.core.sched.output", "CachedRequestData")
CACHE = ("vllm.v1.kv_cache_interface", "KVCacheConfig")
CONFIG = ("vllm.config", "VllmConfig")
COPY = ("vllm.v1.core.kv_cache_utils", "KVCacheBlockCopy")
POOL = ("vllm.v1.core.block_pool", "BlockPool")


@dataclass(frozen=True)
class Read:
    """One name that is read. ``late``: it matters only where the runner zeroes and copies blocks before it saves.

    ``if_any``: a class without which the release has no such thing, so that nothing is missing.
    """

    where: tuple[str, str]
    name: str
    late: bool = False
    if_any: tuple[str, str] | None = None


READ = (
    Read(REQUEST, "resumable"),
    Read(REQUEST, "num_tokens"),
    Read(REQUEST, "num_prompt_tokens"),
    Read(REQUEST, "skip_reading_prefix_cache"),
    Read(OUTPUT, "preempted_req_ids"),
    Read(OUTPUT, "finished_req_ids"),
    Read(CACHED, "resumed_req_ids"),
    Read(CACHED, "new_block_ids"),
    Read(POOL, "reset_prefix_cache"),
    Read(CONFIG, "use_v2_model_runner"),
    Read(CACHE, "needs_kv_cache_zeroing", late=True),
    Read(OUTPUT, "new_block_ids_to_zero", late=True),
    Read(OUTPUT, "kv_cache_block_copies", late=True, if_any=COPY),
    Read(COPY, "dst_block_id", late=True, if_any=COPY),
)


def missing(late: bool) -> list[str]:
    """Return what this engine lacks of the names that matter, as ``Class.name``.

    Args:
        late: whether the engine's runner zeroes and copies blocks before it lets the connector save.
    """
    return [f"{read.where[1]}.{read.name}" for read in READ if (late or not read.late) and not is_there(read)]


def is_there(read: Read) -> bool:
    """Whether the engine's class has that name, or the engine has no such thing at all."""
    if read.if_any is not None and _class(read.if_any) is None:
        return True
    found = _class(read.where)
    return found is not None and has(found, read.name)


def _class(where: tuple[str, str]) -> Any:
    try:
        return getattr(import_module(where[0]), where[1], None)
    except ImportError:
        return None


def has(found: Any, name: str) -> bool:
    """Whether a class has an attribute: of its own, as a field, or set by its constructor.

    True as well where a constructor is not the class's own, but a plugin's: what that sets cannot be seen.
    """
    if hasattr(found, name):
        return True
    for base in found.__mro__:
        if name in vars(base).get("__annotations__", ()):
            return True
        init = vars(base).get("__init__")
        if hasattr(base, "__dataclass_fields__") or not isinstance(init, FunctionType):
            continue  # those name their fields
        own = unwrap(init)  # what wraps it takes over the name of its module, but not its code
        if own.__globals__.get("__name__") != base.__module__ or name in own.__code__.co_names:
            return True
    return False
