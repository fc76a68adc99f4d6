"""Which keys of ``kv_connector_extra_config`` a connector reads.

Those of registered connectors are in the generated tables, release by release: launcher/builds/options.py reads them
out of the connectors' sources. Here is what the tables cannot say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.budget import PER_RANK, PREFIX_CACHING, RATIO, TOTAL
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.offload import reads_ratio
from pd_launch.schemas.releases.connectors import registered
from pd_launch.schemas.releases.vllm_tables import Table, ascend_table, vllm_table

_SIZES = ("prefill", "decode")
PLATFORM_KEYS = (*_SIZES, "ascend_local_comm_res_path", "use_ascend_direct")
"""What vllm-ascend itself reads, or once read, of the top level's extra config, whatever the connector."""
ONCE_READ = frozenset({"use_ascend_direct"})
"""Keys that only releases before the tables' read; PD213 speaks of them."""

BUNDLED_KEYS = (
    PER_RANK, TOTAL, RATIO, PREFIX_CACHING, "pin_host_memory", "copy_backend", "async_restore_bytes",
    "touch_host_memory",
)  # fmt: skip
BUNDLED_SWITCHES = (PREFIX_CACHING, "pin_host_memory", "touch_host_memory")
"""Those of them that are true or false, without quotes."""
ELSEWHERE = {
    "LMCacheConnectorV1": "lmcache", "LMCacheMPConnector": "lmcache", "LMCacheAscendConnector": "lmcache_ascend",
    "FlexKVConnectorV1": "flexkv", "UCMConnector": "ucm",
}  # fmt: skip
"""Connectors whose options a package of its own reads, which no release brings."""

EVERY = "*"
"""In the tables: every connector, and after a connector's name keys that it reads whatever they are called."""


class Options(NamedTuple):
    """The options of one connector in one release: key → how it is read, as launcher/builds/options.py says it.

    ``reader`` is the package that reads further ones; empty where these are all.
    """

    kinds: Mapping[str, str]
    reader: str = ""


def options_of(name: str, target: Target) -> Options | None:
    """Return the options that ``target``'s connector of that name reads; None where it has none of that name."""
    if not registered(name, target):
        return None
    tables = [table for table in (ascend_table(target), vllm_table(target)) if table is not None]
    kinds: dict[str, str] = {}
    for table in reversed(tables):  # what vllm-ascend reads itself comes last
        for owner in (EVERY, name):
            kinds |= {key: table.entry("options", f"{owner}.{key}") for key in _keys(table, owner)}
    is_open = kinds.pop(EVERY, None) is not None
    return Options(kinds, ELSEWHERE.get(name, name if is_open else ""))


def _keys(table: Table, owner: str) -> list[str]:
    start = f"{owner}."
    return [entry[len(start) :] for entry in table.names("options") if entry.startswith(start)]


def read_by(key: str, target: Target) -> list[str]:
    """Return the connectors of ``target`` that read a key of that name."""
    tables = [table for table in (ascend_table(target), vllm_table(target)) if table is not None]
    entries = [entry for table in tables for entry in table.names("options") if entry.partition(".")[2] == key]
    return sorted({entry.partition(".")[0] for entry in entries} - {EVERY})


def releases_reading(name: str, key: str, target: Target) -> list[str]:
    """Return all releases whose connector of that name reads a key, oldest first, vllm-ascend's where it has it."""
    for table in (ascend_table(target), vllm_table(target)):
        found = table.releases_with("options", f"{name}.{key}") if table is not None else []
        if found:
            return found
    return []


SIZE_KEYS = ("dp_size", "tp_size", "pp_size", "pp_layer_partition", "pcp_size", "dcp_size")
"""Keys inside ``prefill`` and ``decode``."""


def offload_keys(connector: Connector, target: Target) -> tuple[str, ...]:
    """Return the keys that an offload connector reads in ``target``; it reads no others."""
    if connector.bundled_in(target):
        return BUNDLED_KEYS
    known = tuple(key for key in BUNDLED_KEYS[:4] if key != RATIO or reads_ratio(connector, target))
    if connector.parent is not None:
        return known
    table = ascend_table(target)
    return tuple(dict.fromkeys([*known, *PLATFORM_KEYS, *(_keys(table, EVERY) if table is not None else ())]))
