"""Environment variables: which are known, who reads which in which release, and how their text is read.

Which release of vLLM or vllm-ascend reads which: the generated tables (vllm_tables.py). How vLLM reads a switch's text:
environment.json (scripts/environment_table.py, from vllm/envs.py of the CPU wheels named there). What is added here:
reads of os.environ in vllm-ascend's wheels of 0.18.0 to 0.26.0rc1, its pull requests 4858, 13838, 13855, 14831 and
14832. CANN, torch_npu, Mooncake, LMCache, NCCL, UCX and others: environment_others.json, from their manuals; those
lists are not complete, so an unknown name is not wrong in itself.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pd_launch.schemas.core.target import Target, release
from pd_launch.schemas.releases import lmcache
from pd_launch.schemas.releases.facts import Code, Documented, Fact, ascend, options
from pd_launch.schemas.releases.vllm_tables import Table, ascend_table, names_of_any, vllm_table


class Variable(NamedTuple):
    """A variable that vLLM or vllm-ascend reads.

    ``kind`` says how its text is read: ``flag`` bool(int(text)), ``int``, ``float``, ``port``, ``true`` (the words true
    and 1 switch on, all else off), ``one`` (only 1 switches on), ``seed`` (Python's hash seed), ``devices``, ``json``,
    or "" where every text is right. ``choices`` are the texts that are accepted. ``until`` is the first release
    of vllm-ascend that no longer reads it, where no generated table tells.
    """

    kind: str = ""
    choices: tuple[str, ...] = ()
    until: str | None = None
    refused: bool = True
    """Whether a wrong text stops the engine; else it is misread silently."""


_FUSED = "VLLM_ASCEND_ENABLE_FUSED_MC2"
INSTEAD = {
    "VLLM_ASCEND_ENABLE_FLASHCOMM1": "vLLM's own sequence parallelism",
    "VLLM_ASCEND_ENABLE_FLASHCOMM": "VLLM_ASCEND_ENABLE_FLASHCOMM1, where the release reads it",
    "VLLM_ASCEND_ENABLE_CONTEXT_PARALLEL": "--prefill-context-parallel-size and --decode-context-parallel-size",
    "VLLM_ASCEND_ENABLE_MLAPO": "additional_config.enable_mlapo",
    "VLLM_ASCEND_ENABLE_NZ": "additional_config.weight_nz_mode",
    _FUSED: "additional_config.enable_fused_mc2",
    "VLLM_ASCEND_BALANCE_SCHEDULING": "additional_config.scheduler_config.enable_balance_scheduling",
    "VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK": "additional_config.enable_transpose_kv_cache_by_block",
    "MSMONITOR_USE_DAEMON": "additional_config.msmonitor_use_daemon",
    "VLLM_ASCEND_EXTERNAL_DP_LB_ENABLED": "--data-parallel-rank",
    "DISAGGREGATED_PREFILL_RANK_TABLE_PATH": "a Mooncake connector, which needs none",
    "ASCEND_BUFFER_POOL": "ASCEND_ENABLE_USE_FABRIC_MEM=1 or HCCL_INTRA_ROCE_ENABLE=1, as the link type asks",
    "VLLM_ATTENTION_BACKEND": "--attention-backend",
    "VLLM_ALL2ALL_BACKEND": "--all2all-backend",
    "VLLM_FLASH_ATTN_VERSION": "--attention-config",
    "VLLM_TORCH_PROFILER_DIR": "--profiler-config",
}
"""Variable that a release no longer reads → what to use instead, where there is something."""

_OLD = (
    "VLLM_ASCEND_EXTERNAL_DP_LB_ENABLED", "VLLM_ASCEND_ENABLE_TOPK_OPTIMIZE", "VLLM_ASCEND_ENABLE_CHUNK_MC2",
    "VLLM_ASCEND_ENABLE_DENSE_OPTIMIZE", "VLLM_ASCEND_ENABLE_PREFETCH_MLP", "VLLM_ASCEND_ENABLE_DBO",
    "VLLM_ASCEND_TRACE_RECOMPILES", "VLLM_ASCEND_MLA_PA", "VLLM_ASCEND_KV_CACHE_MEGABYTES_FLOATING_TOLERANCE",
    "VLLM_ENABLE_MC2", "USING_LCCL_COM", "ASCEND_A3_ENABLE", "DISAGGREGATED_PREFILL_RANK_TABLE_PATH",
)  # fmt: skip
ASCEND: dict[str, Variable] = {
    **dict.fromkeys(_OLD, Variable(until="0.18.0")),
    "VLLM_ASCEND_ENABLE_FLASHCOMM": Variable("flag", until="0.20.2rc1"),
    "ASCEND_BUFFER_POOL": Variable(until="0.26.0rc1"),
    "DYNAMIC_EPLB": Variable("true", refused=False),
    "EXPERT_MAP_RECORD": Variable(choices=("true", "false", "0", ""), refused=False),
    "ASCEND_LAUNCH_BLOCKING": Variable("one", refused=False),
    "ASCEND_ENABLE_USE_FABRIC_MEM": Variable("one", refused=False),
    "ASCEND_RT_VISIBLE_DEVICES": Variable("devices", refused=False),
    "ASCEND_TRANSFER_TIMEOUT": Variable("int"),
    "HCCL_RDMA_TIMEOUT": Variable("int"),
    "HCCL_RDMA_RETRY_CNT": Variable("int"),
    "HCCL_BUFFSIZE": Variable("int", refused=False),
    "HCCL_CONNECT_TIMEOUT": Variable("int", refused=False),
    "HCCL_EXEC_TIMEOUT": Variable("int", refused=False),
    "HCCL_IF_BASE_PORT": Variable("port", refused=False),
    "HCCL_INTRA_ROCE_ENABLE": Variable(choices=("0", "1"), refused=False),
    "HCCL_INTRA_PCIE_ENABLE": Variable(choices=("0", "1"), refused=False),
    "TASK_QUEUE_ENABLE": Variable(choices=("0", "1", "2"), refused=False),
    "ASCEND_GLOBAL_RESOURCE_CONFIG": Variable("json", refused=False),
}
"""Variables of vllm-ascend and what it builds on that the generated table lacks, or says too little of."""

_EVERYWHERE = "vllm_ascend/*.py vllm_ascend/*/*.py vllm_ascend/*/*/*.py vllm_ascend/*/*/*/*.py"
_ELSEWHERE = {
    "ASCEND_BUFFER_POOL": Documented(
        "https://github.com/vllm-project/vllm-ascend/pull/12117", "takes it out of the guides; CANN read it"
    ),
}
READ_UNTIL: dict[str, Fact] = {
    name: ascend(
        f"reads-{name}", None, row.until, f"{name} is read",
        _ELSEWHERE.get(name, Code(_EVERYWHERE, rf"[\"']{name}[\"']")),
    )
    for name, row in ASCEND.items()
    if row.until is not None
}  # fmt: skip
"""Variable that no generated table tells of → the releases that read it."""

FUSED_MC2_TWO_VALUES = ascend(
    "fused-mc2-two-values", "0.24.0rc1", None, "enable_fused_mc2 is 0 or 1, and 2 is refused",
    options(r"enable_fused_mc2 must be 0 or 1"),
)  # fmt: skip

VLLM_OLD = (
    "VLLM_USE_V1", "VLLM_ATTENTION_BACKEND", "VLLM_ALL2ALL_BACKEND", "VLLM_FLASH_ATTN_VERSION",
    "VLLM_TORCH_PROFILER_DIR",
)  # fmt: skip
"""Variables of vLLM that no release in the tables reads any more."""

COMMON: dict[str, Variable] = {
    "PYTHONHASHSEED": Variable("seed"),
    "VLLM_NIXL_SIDE_CHANNEL_PORT": Variable("port"),
    "VLLM_MOONCAKE_BOOTSTRAP_PORT": Variable("port"),
    "VLLM_DP_MASTER_PORT": Variable("int"),
}
"""Variables that count on every target, with more than the generated table tells."""


@cache
def _kinds() -> dict[str, Any]:
    data = json.loads(Path(__file__).with_name("environment.json").read_text(encoding="utf-8"))
    return {name: row[2] for name, row in data["variables"].items()}


@cache
def known_names() -> frozenset[str]:
    """Return every name that is right in some release, whoever reads it."""
    others = json.loads(Path(__file__).with_name("environment_others.json").read_text(encoding="utf-8"))
    named = {name for names in others.values() for name in names}
    read = [*names_of_any("vllm", "env"), *names_of_any("vllm-ascend", "env")]
    return frozenset({*ASCEND, *COMMON, *VLLM_OLD, *named, *read, *lmcache.variables()})


@cache
def _tables(target: Target) -> tuple[Table, Table | None]:
    return vllm_table(target), ascend_table(target)


@lru_cache(maxsize=8192)
def variable(name: str, target: Target) -> Variable | None:
    """Return how ``target`` reads a variable's text; None where it does not read it, or nothing is known of it."""
    if name in COMMON:
        return COMMON[name]
    vllm, ascend = _tables(target)
    if ascend is not None:
        kind = ascend.entry("env", name)
        if name == _FUSED and kind is not None:
            return Variable("int", ("0", "1") if FUSED_MC2_TWO_VALUES.holds(target) else ("0", "1", "2"))
        if name in ASCEND:
            return ASCEND[name]
        if kind in ("flag", "int"):
            return Variable(kind)
    kind = vllm.entry("env", name)
    return None if kind is None else _of_vllm(name, kind)


def _of_vllm(name: str, kind: str | list[str]) -> Variable:
    """Return a variable of vLLM. Which texts switch a ``flag`` on differs, so it counts only where that is known."""
    if isinstance(kind, list):
        return Variable(choices=tuple(kind))
    exact = _kinds().get(name)
    if isinstance(exact, str):
        return Variable(exact, refused=exact not in ("true", "one"))
    return Variable(kind if kind in ("int", "float") else "")


def own_files_name(name: str, target: Target) -> bool:
    """Whether ``target`` is a build whose own files name a variable."""
    return any(table.exact and table.entry("env", name) is not None for table in _tables(target) if table is not None)


def ascend_reads(name: str, target: Target) -> bool:
    """Whether ``target``'s vllm-ascend reads a variable of its own."""
    table = ascend_table(target)
    return table is not None and table.entry("env", name) is not None


READ_BESIDES: dict[str, Fact] = {
    "VLLM_ASCEND_ENABLE_FLASHCOMM1": ascend(
        "flashcomm-variable-beside", "0.27.1rc1", None, "VLLM_ASCEND_ENABLE_FLASHCOMM1 is read outside envs.py",
        Code("vllm_ascend/ascend_config.py", r"getenv\(\"VLLM_ASCEND_ENABLE_FLASHCOMM1\""),
    ),
}  # fmt: skip
"""Variables that are no longer in a release's table of them, and read all the same."""


@lru_cache(maxsize=8192)
def removed(name: str, target: Target) -> bool:
    """Whether an older release read a variable that ``target`` no longer reads."""
    if name in VLLM_OLD:
        return True
    if name in READ_BESIDES and READ_BESIDES[name].holds(target):
        return False
    if name in ASCEND and ASCEND[name].until is not None:
        return target.is_ascend and not READ_UNTIL[name].holds(target)
    vllm, ascend = _tables(target)
    for table in (vllm, ascend):
        if table is None or table.entry("env", name) is not None:
            continue
        releases = table.releases_with("env", name)
        if releases and (release(releases[-1]) < release(table.release) or table.exact):
            return not (table is not ascend and ascend is not None and ascend.entry("env", name) is not None)
    return False
