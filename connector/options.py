"""The connector's options: its ``kv_connector_extra_config``, checked at start. Pure Python."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from pd_launch.schemas.engine.budget import PER_RANK, PREFIX_CACHING, RATIO, TOTAL, Budget, parse_ratio, resolve_budget

PIN = "pin_host_memory"
TOUCH = "touch_host_memory"
COPY_BACKEND = "copy_backend"
ASYNC_BYTES = "async_restore_bytes"
BACKENDS = ("auto", "staged", "batched")
KNOWN = (PER_RANK, TOTAL, RATIO, PREFIX_CACHING, PIN, COPY_BACKEND, ASYNC_BYTES, TOUCH)


class OptionError(ValueError):
    """An option that cannot be used; the message says what to write instead."""


@dataclass(frozen=True)
class Options:
    """The checked options.

    Attributes:
        budget: host memory per rank.
        prefix_caching: requests that start alike share host blocks.
        pin_host_memory: register the host pool with the device. Never run on a device so far, hence off by default.
        copy_backend: ``auto``, or one that was never run on its device so far: ``staged``, ``batched``.
        async_restore_bytes: restores of at least so many bytes run beside the others' steps; None: none of them.
        touch_host_memory: back all of the host memory with pages at start.
    """

    budget: Budget
    prefix_caching: bool
    pin_host_memory: bool
    copy_backend: str = BACKENDS[0]
    async_restore_bytes: int | None = None
    touch_host_memory: bool = False


def parse_options(extra: Mapping[str, object], world_size: int, name: str, device_cache_bytes: int) -> Options:
    """Check ``kv_connector_extra_config`` and resolve the budget.

    Args:
        extra: the options as written.
        world_size: TP × PP × PCP of one engine.
        name: the connector's name, which decides the default budget.
        device_cache_bytes: bytes of one rank's device KV cache.

    Raises:
        ValueError: a key is unknown or a value cannot be used.
    """
    for key in extra:
        if key not in KNOWN:
            raise OptionError(_unknown(key, name))
    if extra.get(RATIO) is not None:
        parse_ratio(extra[RATIO])  # a wrong ratio is an error even where a byte option wins
    budget = resolve_budget(extra, world_size, name, device_cache_bytes)
    return Options(
        budget,
        _boolean(extra, PREFIX_CACHING),
        _boolean(extra, PIN),
        _backend(extra),
        _async_bytes(extra),
        _boolean(extra, TOUCH),
    )


def _boolean(extra: Mapping[str, object], key: str) -> bool:
    value = extra.get(key, False)
    if not isinstance(value, bool):
        raise OptionError(f"{key} must be a boolean, true or false without quotes; got {value!r}")
    return value


def _backend(extra: Mapping[str, object]) -> str:
    value = extra.get(COPY_BACKEND, BACKENDS[0])
    if value not in BACKENDS:
        raise OptionError(f"{COPY_BACKEND} must be one of {', '.join(BACKENDS)}; got {value!r}")
    return str(value)


def _async_bytes(extra: Mapping[str, object]) -> int | None:
    value = extra.get(ASYNC_BYTES)
    if value is None:
        return None
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise OptionError(f"{ASYNC_BYTES} must be a number of bytes, 0 or more; got {value!r}")
    return value


def _unknown(key: str, name: str) -> str:
    near = difflib.get_close_matches(key, KNOWN, n=1, cutoff=0.5)
    hint = f"write {near[0]!r} instead" if near else f"known options are {', '.join(KNOWN)}"
    return f"{name}: kv_connector_extra_config has the unknown option {key!r}; {hint}"
