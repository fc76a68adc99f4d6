"""Environment variables: which are known, who reads which in which release, and how their text is read.

vLLM's own come from environment.json (scripts/environment_table.py, from vllm/envs.py of the CPU wheels named there).
vllm-ascend's: vllm_ascend/envs.py and the reads of os.environ in the wheels of 0.18.0 to 0.26.0rc1; for 0.27.1rc1 and
0.28.0 pull requests 13838, 14831 and 14832 and issue 10381. CANN, torch_npu, Mooncake, LMCache, NCCL, UCX and others:
environment_others.json, from their manuals. Those lists are not complete: an unknown name is not wrong in itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pd_launch.schemas.target import Target, release

ANY_CASE = "~"
"""Among the choices of a variable: upper and lower case are the same."""


@dataclass(frozen=True)
class Variable:
    """A variable that vLLM or vllm-ascend reads.

    ``kind`` says how its text is read: ``flag`` bool(int(text)), ``int``, ``float``, ``port``, ``true`` (the words true
    and 1 switch on, all else off), ``one`` (only 1 switches on), ``seed`` (Python's hash seed), ``devices``, ``json``,
    or "" where every text is right. ``choices`` are the texts that are accepted. ``until`` is the first release that no
    longer reads it, ``instead`` what to use there.
    """

    kind: str = ""
    choices: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    instead: str = ""
    refused: bool = True
    """Whether a wrong text stops the engine; else it is misread silently."""


_FUSED = "VLLM_ASCEND_ENABLE_FUSED_MC2"
ASCEND: dict[str, Variable] = {
    "VLLM_ASCEND_ENABLE_FLASHCOMM1": Variable("flag", until="0.27.1rc1", instead="vLLM's own sequence parallelism"),
    "VLLM_ASCEND_ENABLE_FLASHCOMM": Variable("flag", until="0.20.2rc1", instead="enable_flashcomm1"),
    "VLLM_ASCEND_FLASHCOMM2_PARALLEL_SIZE": Variable("int", until="0.25.1rc1"),
    "VLLM_ASCEND_ENABLE_MATMUL_ALLREDUCE": Variable("flag", until="0.25.1rc1"),
    "VLLM_ASCEND_ENABLE_CONTEXT_PARALLEL": Variable(
        "flag", until="0.21.0rc1", instead="--prefill-context-parallel-size and --decode-context-parallel-size"
    ),
    "VLLM_ASCEND_ENABLE_MLAPO": Variable("flag"),
    "VLLM_ASCEND_ENABLE_NZ": Variable("int", choices=("0", "1", "2")),
    _FUSED: Variable("int", until="0.28.0", instead="additional_config.enable_fused_mc2"),
    "VLLM_ASCEND_BALANCE_SCHEDULING": Variable(
        "flag", until="0.28.0", instead="additional_config.scheduler_config.enable_balance_scheduling"
    ),
    "VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK": Variable(
        "flag", until="0.28.0", instead="additional_config.enable_transpose_kv_cache_by_block"
    ),
    "VLLM_ASCEND_ENABLE_BATCH_MEMCPY": Variable(since="0.19.1rc1"),
    "VLLM_ASCEND_MLA_FIA_SPLIT": Variable("flag", since="0.26.0rc1"),
    "VLLM_ASCEND_APPLY_DSV4_PATCH": Variable(until="0.21.0rc1", since="0.20.2rc1"),
    "VLLM_ASCEND_EXTERNAL_DP_LB_ENABLED": Variable(until="0.18.0", instead="--data-parallel-rank"),
    "VLLM_ASCEND_ENABLE_TOPK_OPTIMIZE": Variable(until="0.18.0"),
    "VLLM_ASCEND_ENABLE_CHUNK_MC2": Variable(until="0.18.0"),
    "VLLM_ASCEND_ENABLE_DENSE_OPTIMIZE": Variable(until="0.18.0"),
    "VLLM_ASCEND_ENABLE_PREFETCH_MLP": Variable(until="0.18.0"),
    "VLLM_ASCEND_ENABLE_DBO": Variable(until="0.18.0"),
    "VLLM_ASCEND_TRACE_RECOMPILES": Variable(until="0.18.0"),
    "VLLM_ASCEND_MLA_PA": Variable(until="0.18.0"),
    "VLLM_ASCEND_KV_CACHE_MEGABYTES_FLOATING_TOLERANCE": Variable(until="0.18.0"),
    "VLLM_ENABLE_MC2": Variable(until="0.18.0"),
    "USING_LCCL_COM": Variable(until="0.18.0"),
    "ASCEND_A3_ENABLE": Variable(until="0.18.0"),
    "DISAGGREGATED_PREFILL_RANK_TABLE_PATH": Variable(until="0.18.0", instead="a Mooncake connector, which needs none"),
    "ASCEND_BUFFER_POOL": Variable(
        until="0.26.0rc1", instead="ASCEND_ENABLE_USE_FABRIC_MEM=1 or HCCL_INTRA_ROCE_ENABLE=1, as the link type asks"
    ),
    "MSMONITOR_USE_DAEMON": Variable("flag"),
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
"""Variables of vllm-ascend and of what it stands on, where something is known about their text or their end."""

VLLM_EXTRA: dict[str, Variable] = {
    "VLLM_USE_V1": Variable(until="0.18.0", instead="nothing: the V1 engine is the only one"),
    "VLLM_ATTENTION_BACKEND": Variable(until="0.18.0", instead="--attention-backend"),
    "VLLM_ALL2ALL_BACKEND": Variable(until="0.18.0", instead="--all2all-backend"),
    "VLLM_FLASH_ATTN_VERSION": Variable(until="0.18.0", instead="--attention-config"),
    "VLLM_TORCH_PROFILER_DIR": Variable(until="0.18.0", instead="--profiler-config"),
    "VLLM_NIXL_ABORT_REQUEST_TIMEOUT": Variable("int", until="0.23.0"),
    "VLLM_RPC_TIMEOUT": Variable("int", until="0.23.0"),
}
"""Variables of vLLM that the table made from its source does not know, or says too little about."""

COMMON: dict[str, Variable] = {
    "PYTHONHASHSEED": Variable("seed"),
    "VLLM_NIXL_SIDE_CHANNEL_PORT": Variable("port"),
    "VLLM_MOONCAKE_BOOTSTRAP_PORT": Variable("port"),
    "VLLM_DP_MASTER_PORT": Variable("int"),
}
"""Variables that count on every target, with more than the generated table tells."""


@cache
def vllm_variables() -> dict[str, Variable]:
    """Return vLLM's own variables, from the generated table and what is added to it here."""
    data = json.loads(Path(__file__).with_name("environment.json").read_text(encoding="utf-8"))
    found = {name: _generated(*row) for name, row in data["variables"].items()}
    return {**found, **VLLM_EXTRA}


def _generated(since: str, until: str | None, kind: str | list[str] | None) -> Variable:
    silent = kind in ("true", "one")
    if isinstance(kind, list):
        return Variable(choices=tuple(kind), since=since, until=until)
    return Variable(kind or "", since=since, until=until, refused=not silent)


@cache
def known_names() -> frozenset[str]:
    """Return every name that is right in some release, whoever reads it."""
    others = json.loads(Path(__file__).with_name("environment_others.json").read_text(encoding="utf-8"))
    return frozenset({*ASCEND, *COMMON, *vllm_variables(), *(name for names in others.values() for name in names)})


def variable(name: str, target: Target) -> Variable | None:
    """Return what is known of a variable on ``target``, or None."""
    if name == _FUSED and target.ascend_at_least("0.24.0rc1"):
        return Variable("int", ("0", "1"), until=ASCEND[_FUSED].until, instead=ASCEND[_FUSED].instead)
    if name == _FUSED:
        return Variable("int", ("0", "1", "2"), until=ASCEND[_FUSED].until, instead=ASCEND[_FUSED].instead)
    if name in COMMON:
        return COMMON[name]
    if name in ASCEND:
        return ASCEND[name] if target.is_ascend else None
    return vllm_variables().get(name)


def removed_in(name: str, target: Target) -> str | None:
    """Return the release that no longer reads ``name``, where that is ``target`` or older; None where it is read."""
    found = variable(name, target)
    if found is None or found.until is None:
        return None
    current = target.vllm_ascend if name in ASCEND else target.vllm
    return found.until if current is not None and release(current) >= release(found.until) else None
