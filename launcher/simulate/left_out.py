"""What of a launch or a log is not played, for ``not_modelled``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pd_launch.launcher.simulate.loglines import LogSize
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.budget import OFFLOAD_NAMES
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.offload import offloads
from pd_launch.schemas.engine.scheduling import BALANCE, balance, option, overriders, recompute_runs
from pd_launch.schemas.releases.schedulers import READ

STORES = frozenset({
    "OffloadingConnector", "SimpleCPUOffloadConnector", "CPUOffloadingConnector", "LMCacheConnectorV1",
    "LMCacheMPConnector", "LMCacheAscendConnector", "AscendStoreConnector", "MooncakeConnectorStoreV1",
    "MooncakeStoreConnector", "UCMConnector", "FlexKVConnectorV1", "SharedStorageConnector", "ExampleConnector",
    "HF3FSKVConnector", "SfaRemoteD2HConnector",
})  # fmt: skip
"""Connectors that keep KV and give it back by content; the others move it between nodes."""


def transfers(node: NodeLaunch) -> list[Any]:
    """Return the connectors of a launch that move KV between nodes."""
    found = [connector for connector in connectors(node.kv_transfer) if not connector.is_offload]
    return [connector for connector in found if connector.name is None or _moves(connector.name)]


def hands_back(node: NodeLaunch | None, target: Target) -> bool:
    """Whether vllm-ascend's recompute scheduler runs there as on a decode node: it ends victims that nothing saved."""
    if node is None or not recompute_runs(node, target) or overriders(node, target):
        return False
    return node.role != "kv_producer"


def left_out(node: NodeLaunch | None, log: LogSize | None, target: Target) -> list[Msg]:
    """Return what of an engine is not played."""
    out: list[Msg] = []
    if node is not None:
        out += [Msg(en, zh) for told, en, zh in _OF_LAUNCHES if told(node, target)]
        out += _of_connectors(node)
        out += _of_schedulers(node, target)
    if log is not None:
        out += [Msg(en, zh) for told, en, zh in _OF_LOGS if told(log)]
        out += [_store(name) for name in log.connectors if name in STORES]
    if log is not None and node is None:
        out += [Msg(en, zh) for told, en, zh in _OF_LOGS_ALONE if told(log)]
    return list(dict.fromkeys(out))


def _of_connectors(node: NodeLaunch) -> list[Msg]:
    names = [connector.name for connector in connectors(node.kv_transfer)]
    out = [_store(name) for name in names if name in STORES]
    if any(connector.is_builtin_offload for connector in offloads(node)):
        out.append(
            Msg(
                "of vllm-ascend's own offload connector beyond saving a preempted request whole or not at all",
                "vllm-ascend 内置的卸载连接器：只推演“整体保存或完全不保存”这一点",
            )
        )
    return out


def _of_schedulers(node: NodeLaunch, target: Target) -> list[Msg]:
    if not target.is_ascend:
        return []
    found = [balance(node, target) if name == BALANCE else option(node, name, target) for name in READ]
    return [
        Msg(
            f"vllm-ascend's {state.name}: steps are scheduled as vLLM does",
            f"vllm-ascend 的 {state.name}：按 vLLM 的方式调度",
        )
        for state in found
        if state.on
    ]


def _store(name: str | None) -> Msg:
    return Msg(f"KV that {name} keeps and gives back", f"{name} 保存并取回的 KV")


_PIPELINE = ("pipeline stages: steps are scheduled as for one stage", "流水线并行：按单级调度计算")
_CONTEXT = (
    "context parallelism: a block is assumed to hold only its own tokens",
    "上下文并行：按每块只存自身 token 计算",
)
_LORA = ("limits on LoRA adapters", "LoRA 适配器的数量限制")


def _moves(name: str) -> bool:
    """Whether a connector of that name moves KV between nodes."""
    return name not in STORES and name not in OFFLOAD_NAMES and not name.endswith("MultiConnector")


def _context(node: NodeLaunch, target: Target) -> bool:
    return (node.number("decode-context-parallel-size", 1) or 1) * (node.prefill_context or 1) > 1


_OF_LAUNCHES: tuple[tuple[Callable[[NodeLaunch, Target], bool], str, str], ...] = (
    (
        lambda node, target: node.role == "kv_producer" and bool(transfers(node)),
        "KV that waits to be fetched: a prompt's blocks are free as soon as it is computed",
        "等待对端拉取的 KV：提示词算完后其块立即释放",
    ),
    (
        lambda node, target: target.is_ascend and recompute_runs(node, target) is None,
        "vllm-ascend's recompute scheduler, which may or may not run: this input does not say",
        "vllm-ascend 的重计算调度器：输入中未能确定是否启用",
    ),
    (lambda node, target: (node.pipeline or 1) > 1, *_PIPELINE),
    (_context, *_CONTEXT),
    (lambda node, target: bool(node.switch("enable-lora")), *_LORA),
)
_OF_LOGS: tuple[tuple[Callable[[LogSize], bool], str, str], ...] = (
    (lambda log: log.numbers.get("pipeline_parallel_size", 1) > 1, *_PIPELINE),
    (
        lambda log: any(log.numbers.get(f"{side}_context_parallel_size", 1) > 1 for side in ("decode", "prefill")),
        *_CONTEXT,
    ),
    (lambda log: log.switches.get("enable_lora", False), *_LORA),
)
_OF_LOGS_ALONE: tuple[tuple[Callable[[LogSize], bool], str, str], ...] = (
    (
        lambda log: log.hands_back,
        "vllm-ascend's recompute scheduler, which the log names: give the launch too (--profile or its script)",
        "日志中提到的 vllm-ascend 重计算调度器：请同时给出启动配置（--profile 或脚本）",
    ),
    (
        lambda log: log.role == "kv_consumer" and any(_moves(name) for name in log.connectors),
        "KV that comes from prefill nodes: prompts are computed here (--arrival-steps plays that it arrives)",
        "来自预填充节点的 KV：按在本节点计算提示词处理（--arrival-steps 可按 KV 传入推演）",
    ),
)
