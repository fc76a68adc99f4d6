"""Connectors by registered name: in which releases they exist, where their class is, and what they support.

Where each row comes from: connector_facts.py. Names, modules and classes are those of the generated tables, and what
supports the hybrid manager follows from the class headers of every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.vllm_tables import Table, ascend_table, vllm_table

_KV = "vllm_ascend.distributed.kv_transfer"
_P2P = f"{_KV}.kv_p2p"
_POOL = f"{_KV}.kv_pool"


class AscendConnector(NamedTuple):
    """A connector that vllm-ascend registers.

    ``since`` and ``until`` are its first and last release (None: no bound known). ``hma_since`` is the first release
    in which it supports the hybrid KV cache manager (None: unknown or never). ``modules`` are the modules of its class,
    each with the first release in which it is there; ``class_name`` is the class's own name.
    """

    name: str
    class_name: str
    modules: tuple[tuple[str, str], ...]
    since: str | None = None
    until: str | None = None
    hma_since: str | None = None
    use_instead: str = ""
    """What took its place after ``until``."""
    alias_of: str = ""

    def exists(self, target: Target) -> bool:
        """Whether ``target``, a vllm-ascend, registers it."""
        if self.since is not None and not target.ascend_at_least(self.since):
            return False
        return self.until is None or not target.ascend_at_least(self.until) or target.vllm_ascend == self.until


def _one(module: str, since: str = "0.18.0") -> tuple[tuple[str, str], ...]:
    return ((module, since),)


_ASCEND = [
    AscendConnector(
        "MultiConnector", "AscendMultiConnector", _one(f"{_KV}.ascend_multi_connector"), hma_since="0.20.2rc1"
    ),
    AscendConnector(
        "MooncakeConnectorV1", "MooncakeConnector", _one(f"{_P2P}.mooncake_connector"), hma_since="0.21.0rc1"
    ),
    AscendConnector(
        "MooncakeHybridConnector",
        "MooncakeConnector",
        _one(f"{_P2P}.mooncake_hybrid_connector", "0.20.2rc1"),
        since="0.20.2rc1",
        hma_since="0.20.2rc1",
    ),
    AscendConnector(
        "MooncakeLayerwiseConnector",
        "MooncakeLayerwiseConnector",
        _one(f"{_P2P}.mooncake_layerwise_connector"),
        hma_since="0.18.0",
    ),
    AscendConnector(
        "AscendStoreConnector",
        "AscendStoreConnector",
        _one(f"{_POOL}.ascend_store.ascend_store_connector"),
        hma_since="0.20.2rc1",
    ),
    AscendConnector(
        "MooncakeConnectorStoreV1",
        "AscendStoreConnector",
        _one(f"{_POOL}.ascend_store.ascend_store_connector"),
        hma_since="0.20.2rc1",
        alias_of="AscendStoreConnector",
    ),
    AscendConnector(
        "UCMConnector",
        "UCMConnectorV1",
        ((f"{_POOL}.ucm_connector", "0.18.0"), (f"{_POOL}.ucm_connector.connector", "0.27.1rc1")),
        hma_since="0.20.2rc1",
    ),
    AscendConnector(
        "LMCacheAscendConnector",
        "LMCacheConnectorV1",
        _one(f"{_POOL}.lmcache_ascend_connector"),
        until="0.26.0rc1",
        use_instead="LMCacheConnectorV1",
    ),
    AscendConnector(
        "RecomputeCPUOffloadConnector",
        "RecomputeCPUOffloadConnectorV1",
        _one(f"{_POOL}.recompute_cpu_offload.recompute_cpu_offload_connector", "0.23.0rc1"),
        since="0.23.0rc1",
        until="0.27.1rc1",
        hma_since="0.23.0rc1",
        use_instead="PreemptOffloadConnector",
    ),
    AscendConnector(
        "PreemptOffloadConnector",
        "PreemptOffloadConnectorV1",
        _one(f"{_POOL}.kv_offload.preempt_offload.preempt_offload_connector", "0.28.0rc1"),
        since="0.28.0rc1",
        hma_since="0.28.0rc1",
    ),
    AscendConnector(
        "SfaRemoteD2HConnector",
        "SfaRemoteD2HConnector",
        _one(f"{_P2P}.sfa_pd_rd2h.connector", "0.26.0rc1"),
        since="0.26.0rc1",
        hma_since="0.26.0rc1",
    ),
    AscendConnector(
        "MooncakeD2RHConnectorV1",
        "MooncakeConnector",
        _one(f"{_P2P}.mooncake_d2rh_connector", "0.29.0rc1"),
        since="0.29.0rc1",
        hma_since="0.29.0rc1",
    ),
    AscendConnector(
        "MooncakeConnectorV2",
        "MooncakeConnector",
        _one(f"{_P2P}.mooncake.connector", "0.28.0rc1"),
        since="0.28.0rc1",
        hma_since="0.28.0rc1",
    ),
    AscendConnector(
        "MooncakePullConnector",
        "MooncakePullConnector",
        _one(f"{_P2P}.mooncake.connector", "0.28.0rc1"),
        since="0.28.0rc1",
        hma_since="0.28.0rc1",
    ),
]
ASCEND_CONNECTORS = {row.name: row for row in _ASCEND}

MOVED_MODULES = {
    "vllm_ascend.distributed.mooncake_connector": f"{_P2P}.mooncake_connector",
    "vllm_ascend.distributed.mooncake_layerwise_connector": f"{_P2P}.mooncake_layerwise_connector",
    "vllm_ascend.distributed.mooncake.mooncake_store_connector_v1": f"{_POOL}.ascend_store.ascend_store_connector",
    "vllm_ascend.distributed.llmdatadist_c_mgr_connector": "",
    "vllm_ascend.distributed.llmdatadist_connector": "",
    "vllm_ascend.distributed.cpu_offload_connector": "",
}
"""Modules of vllm-ascend before 0.18 that are gone, with what took their place (empty: nothing)."""

CUDA_ONLY = {
    "MooncakeConnector": "MooncakeConnectorV1",
    "P2pNcclConnector": "MooncakeConnectorV1",
    "MoRIIOConnector": "MooncakeConnectorV1",
    "NixlConnector": "MooncakeConnectorV1",
    "NixlPullConnector": "MooncakeConnectorV1",
    "NixlPushConnector": "MooncakeConnectorV1",
}
"""vLLM's own connectors that refuse NPUs, with vllm-ascend's counterpart; why NIXL's do: NPU_REFUSED."""

ASCEND_ON_VLLM = {
    "MooncakeConnectorV1": "MooncakeConnector",
    "MooncakeHybridConnector": "MooncakeConnector",
    "MooncakeLayerwiseConnector": "MooncakeConnector",
    "AscendStoreConnector": "MooncakeStoreConnector",
    "MooncakeConnectorStoreV1": "MooncakeStoreConnector",
    "LMCacheAscendConnector": "LMCacheConnectorV1",
}
"""vllm-ascend's names, with vLLM's counterpart."""

REMOVED_NAMES = {
    "LLMDataDistCMgrConnector": "MooncakeConnectorV1",
    "LLMDataDistConnector": "MooncakeConnectorV1",
    "CPUOffloadingConnector": "SimpleCPUOffloadConnector",
    "SharedStorageConnector": "ExampleConnector",
    "PyNcclConnector": "",
    "MooncakeStoreConnectorV1": "AscendStoreConnector",
}
"""Names of older releases than the tables' that nothing registers any more, with what took their place."""


class VllmConnector(NamedTuple):
    """A connector that vLLM registers itself.

    ``since`` is the first release that has it, ``until`` the first that has it no more (None: no bound known), and
    ``hma_since`` the first that is known to support the hybrid KV cache manager.
    """

    name: str
    since: str | None = None
    until: str | None = None
    hma_since: str | None = None
    no_hma: tuple[str, str | None] | None = None
    """First and last release (None: the newest) of a range in which it lacks the hybrid manager."""

    def exists(self, target: Target) -> bool:
        """Whether ``target``'s vLLM registers it, as far as the bounds are known."""
        if self.since is not None and not target.vllm_at_least(self.since):
            return False
        return self.until is None or not target.vllm_at_least(self.until)


_VLLM = [
    VllmConnector("ExampleConnector", no_hma=("0.18.0", None)),
    VllmConnector("ExampleHiddenStatesConnector", hma_since="0.22.0", no_hma=("0.18.0", "0.21.0")),
    VllmConnector("P2pNcclConnector", until="0.24.0", no_hma=("0.18.0", "0.23.0")),
    VllmConnector("LMCacheConnectorV1", no_hma=("0.18.0", None)),
    VllmConnector("LMCacheMPConnector"),
    VllmConnector("NixlConnector", hma_since="0.18.0"),
    VllmConnector("NixlPullConnector", since="0.24.0", hma_since="0.24.0"),
    VllmConnector("NixlPushConnector", since="0.24.0", hma_since="0.24.0"),
    VllmConnector("MultiConnector", hma_since="0.21.0"),
    VllmConnector("MoRIIOConnector", hma_since="0.30.0", no_hma=("0.18.0", "0.29.0")),
    VllmConnector("OffloadingConnector", hma_since="0.21.0", no_hma=("0.18.0", "0.20.2")),
    VllmConnector("DecodeBenchConnector", hma_since="0.21.0", no_hma=("0.18.0", "0.20.2")),
    VllmConnector("MooncakeConnector", hma_since="0.20.0", no_hma=("0.18.0", "0.19.1")),
    VllmConnector("MooncakeStoreConnector", since="0.21.0", hma_since="0.22.0", no_hma=("0.21.0", "0.21.0")),
    VllmConnector("FlexKVConnectorV1", no_hma=("0.18.0", None)),
    VllmConnector("SimpleCPUOffloadConnector", since="0.19.0", hma_since="0.19.0"),
    VllmConnector("HF3FSKVConnector", since="0.20.0", no_hma=("0.20.0", None)),
    VllmConnector("HiSparseConnector", since="0.30.0", hma_since="0.30.0"),
]
VLLM_CONNECTORS = {row.name: row for row in _VLLM}


PD_CONNECTORS = frozenset(
    {
        "MooncakeConnectorV1", "MooncakeHybridConnector", "MooncakeLayerwiseConnector", "MooncakeConnectorV2",
        "MooncakePullConnector", "MooncakeD2RHConnectorV1", "SfaRemoteD2HConnector", "MooncakeConnector",
        "NixlConnector", "NixlPullConnector", "NixlPushConnector", "P2pNcclConnector", "MoRIIOConnector",
    }
)  # fmt: skip
"""Connectors that carry KV from prefill to decode nodes."""


def is_pd_connector(name: str) -> bool:
    """Whether a connector of that name carries KV from prefill to decode nodes."""
    return name in PD_CONNECTORS


def registered(name: str, target: Target) -> bool:
    """Whether ``target`` registers a connector of that name, as far as the tables know."""
    ascend, vllm = ascend_table(target), vllm_table(target)
    if ascend is not None and _has(name, ascend, ASCEND_CONNECTORS, target):
        return True
    return _has(name, vllm, VLLM_CONNECTORS, target)


def _has(name: str, table: Table, rows: Mapping[str, AscendConnector | VllmConnector], target: Target) -> bool:
    if table.exact:
        return table.entry("connectors", name) is not None
    return name in rows and rows[name].exists(target)


def registered_as(class_name: str, target: Target) -> str | None:
    """Return the name under which ``target`` registers a class of vllm-ascend's; None where that is none, or many."""
    found = [row.name for row in _ASCEND if row.class_name == class_name and row.exists(target) and not row.alias_of]
    return found[0] if target.is_ascend and len(found) == 1 else None


def known_anywhere(name: str) -> bool:
    """Whether any release in the tables registers that name."""
    return name in ASCEND_CONNECTORS or name in VLLM_CONNECTORS


def names(target: Target) -> list[str]:
    """Return the names that ``target`` registers."""
    own = [table for table in (ascend_table(target), vllm_table(target)) if table is not None and table.exact]
    listed = [*(ASCEND_CONNECTORS if target.is_ascend else ()), *VLLM_CONNECTORS]
    known = dict.fromkeys([*listed, *(name for table in own for name in table.names("connectors"))])
    return [name for name in known if registered(name, target)]


def supports_hma(name: str, target: Target) -> bool | None:
    """Whether the registered connector ``name`` supports the hybrid KV cache manager; None where it is unknown."""
    ours = ASCEND_CONNECTORS.get(name) if target.is_ascend else None
    if ours is not None and ours.exists(target):
        if ours.hma_since is not None:
            return target.ascend_at_least(ours.hma_since)
        return None
    theirs = VLLM_CONNECTORS.get(name)
    if theirs is None:
        return None
    if theirs.no_hma is not None and _within(target, *theirs.no_hma):
        return False
    if theirs.hma_since is not None and target.vllm_at_least(theirs.hma_since):
        return True
    return None


def _within(target: Target, first: str, last: str | None) -> bool:
    return target.vllm_at_least(first) and (last is None or not target.vllm_at_least(last) or target.vllm == last)


def class_of_module(module: str, target: Target) -> str | None:
    """Return the name of the connector class in one of vllm-ascend's modules.

    An empty text stands for a known module that ``target`` does not have yet, None for a module that is not known.
    """
    if not target.is_ascend:
        return None
    table = ascend_table(target)
    if table is not None and table.exact:
        rows = [table.entry("connectors", name) for name in table.names("connectors")]
        own = next((row[1] for row in rows if row[0] == module), None)
        if own is not None:
            return str(own)
    for row in ASCEND_CONNECTORS.values():
        for path, since in row.modules:
            if path == module:
                there = target.ascend_at_least(since) and (row.since is None or row.exists(target))
                return row.class_name if there else ""
    return None
