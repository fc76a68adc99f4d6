"""Entries for what turns without a word: another default, another runner, another budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from pd_launch.launcher.rules.edits import Edits, insert_entries
from pd_launch.launcher.upgrade.entries import Entry, How
from pd_launch.launcher.upgrade.step import Step, source_of
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.offload import budget_options, offloads
from pd_launch.schemas.engine.speculation import config_of
from pd_launch.schemas.releases import turns
from pd_launch.schemas.releases.connector_options import NIXL
from pd_launch.schemas.releases.connectors import registered
from pd_launch.schemas.releases.facts import Fact
from pd_launch.schemas.releases.features import RENAMED
from pd_launch.schemas.releases.schedulers import PRODUCER_IGNORED

_KEPT = 8 * 1024**3
"""What vllm-ascend's offload connector took for an engine that named no budget."""


@dataclass(frozen=True)
class Turn:
    """One thing that turns: ``old`` and ``new`` say what is so without and with the fact."""

    fact: Fact
    subject: str
    old: str
    new: str
    applies: Callable[[NodeLaunch, Step], Origin | None]
    why: Msg
    help: Msg
    how: How = "note"
    edits: Callable[[NodeLaunch], list[Edits | None]] | None = None
    touches: frozenset[str] = frozenset()


def turn_entries(nodes: Sequence[NodeLaunch], step: Step) -> Iterator[Entry]:
    """Iterate over what turns for engines that are for ``step.a``."""
    for node in nodes:
        for turn in TURNS:
            before, now = turn.fact.holds(step.a), turn.fact.holds(step.b)
            origin = turn.applies(node, step) if before != now else None
            if origin is None:
                continue
            old, new = (turn.old, turn.new) if now else (turn.new, turn.old)
            how: How = turn.how if now else "note"
            edits = partial(turn.edits, node) if turn.edits is not None and how != "note" else None
            yield Entry("default" if "default" in turn.fact.name or turn.edits else "behaviour", turn.subject, origin,
                        old, new, turn.why, source_of(turn.fact), how, "differs", edits, turn.touches,
                        turn.help)  # fmt: skip


def _serves(node: NodeLaunch) -> bool:
    return node.program in ("serve", "api_server", "python") and not node.partial


def _absent(
    *flags: str, if_: Callable[[NodeLaunch, Step], bool] = lambda node, step: True
) -> Callable[[NodeLaunch, Step], Origin | None]:
    def applies(node: NodeLaunch, step: Step) -> Origin | None:
        if not _serves(node) or any(node.arg(flag) is not None for flag in flags) or not if_(node, step):
            return None
        return node.origin

    return applies


def _stock(node: NodeLaunch, step: Step) -> bool:
    return not step.b.is_ascend


def _on_gpu(node: NodeLaunch, step: Step) -> bool:
    cpu = node.hardware is not None and node.hardware.kind == "cpu"
    return _stock(node, step) and not cpu and "VLLM_USE_V2_MODEL_RUNNER" not in node.env


def _some(node: NodeLaunch, step: Step) -> bool:
    return _on_gpu(node, step) and not any(turns.RUNNER_V2.holds(target) for target in (step.a, step.b))


def _eplb(node: NodeLaunch, step: Step) -> bool:
    config = node.value("eplb-config")
    return node.switch("enable-eplb") is True and (config is None or (config.known and config.get("use_async") is None))


def _nixl(node: NodeLaunch, step: Step) -> Origin | None:
    found = [c for c in connectors(node.kv_transfer) if c.name in NIXL and c.option("kv_lease_duration") is None]
    return None if not found else found[0].tree.origin


def _budget(node: NodeLaunch, step: Step) -> Origin | None:
    for connector in offloads(node):
        options = budget_options(connector)
        known = connector.name is not None and registered(connector.name, step.a)
        if known and connector.is_builtin_offload and options is not None and not options:
            place = connector.tree.get("kv_connector")
            return place.origin if place is not None else connector.tree.origin
    return None


def _keep_budget(node: NodeLaunch) -> list[Edits | None]:
    """Return what writes the old default: for each rank where their number is known, else for the engine."""
    world = node.world_size
    kept = {"cpu_bytes_to_use_per_rank": _KEPT // world} if world else {"cpu_bytes_to_use": _KEPT}
    for connector in offloads(node):
        if connector.is_builtin_offload and not budget_options(connector):
            if connector.extra is not None:
                return [insert_entries(connector.extra, kept)]
            return [insert_entries(connector.tree, {"kv_connector_extra_config": kept})]
    return []


def _producer(node: NodeLaunch, step: Step) -> Origin | None:
    entry = node.additional.get("recompute_scheduler_enable") if node.additional else None
    on = entry is not None and entry.value is True
    return (entry.key or entry.origin) if entry is not None and on and node.role == "kv_producer" else None


def _other_drafts(node: NodeLaunch, step: Step) -> bool:
    config = config_of(node)
    method = config.get("method") if config is not None else None
    name = method.string() if method is not None else None
    return name in ("ngram", "suffix", "medusa", "mlp_speculator", "custom_class")


def _deepseek_v4(node: NodeLaunch, step: Step) -> Origin | None:
    model = node.model.string() if node.model is not None else None
    tree = node.additional
    given = tree is not None and (not tree.known or tree.get("multistream_dsv4_dsa_overlap") is not None)
    return node.origin if model is not None and "deepseek-v4" in model.lower() and not given else None


def _pcp(node: NodeLaunch, step: Step) -> Origin | None:
    tree = node.additional
    given = tree is not None and (not tree.known or tree.get("enable_pcp_o_proj_weight_sharding") is not None)
    size = node.arg("prefill-context-parallel-size")
    return size.origin if size is not None and (node.prefill_context or 1) > 1 and not given else None


def _both(en: str, zh: str) -> Msg:
    return Msg(en, zh)


TURNS = (
    Turn(
        turns.GPU_MEMORY, "--gpu-memory-utilization", "0.9", "0.92",
        _absent("gpu-memory-utilization", "device-memory-utilization", "kv-cache-memory-bytes"),
        _both("the default is higher: less memory is left for anything else on the device",
              "默认值变大：设备上留给其他程序的显存变少"),
        _both("write --gpu-memory-utilization 0.9 to keep it", "要保持不变，请写 --gpu-memory-utilization 0.9"),
    ),
    Turn(
        turns.GRAPH_MEMORY, "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "0", "1",
        _absent("enforce-eager", "kv-cache-memory-bytes",
                if_=lambda node, step: _stock(node, step)
                and "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS" not in node.env),
        _both("the memory of CUDA graphs is counted, so the KV cache has fewer blocks",
              "CUDA 图的显存计算在内，因此 KV 缓存的块数变少"),
        _both("compare num_gpu_blocks in the log before and after", "请比较前后日志里的 num_gpu_blocks"),
    ),
    Turn(
        turns.RUNNER_V2_SOME, "VLLM_USE_V2_MODEL_RUNNER", "V1", "V2 for some dense models", _absent(if_=_some),
        _both("dense models of a few architectures run on the V2 model runner by default",
              "少数架构的稠密模型默认使用 V2 模型运行器"),
        _both("set VLLM_USE_V2_MODEL_RUNNER=0 to keep V1", "要保持 V1，请设置 VLLM_USE_V2_MODEL_RUNNER=0"),
    ),
    Turn(
        turns.RUNNER_V2, "VLLM_USE_V2_MODEL_RUNNER", "V1 for most models", "V2", _absent(if_=_on_gpu),
        _both(("the V2 model runner is the default wherever Triton is available and the requested features are "
              "supported"),
              "只要有 Triton 且功能受支持，默认使用 V2 模型运行器"),
        _both("set VLLM_USE_V2_MODEL_RUNNER=0 to keep V1", "要保持 V1，请设置 VLLM_USE_V2_MODEL_RUNNER=0"),
    ),
    Turn(
        turns.STRICT_TOOLS, "VLLM_ENFORCE_STRICT_TOOL_CALLING", "0", "1",
        _absent(if_=lambda node, step: node.switch("enable-auto-tool-choice") is True
                and "VLLM_ENFORCE_STRICT_TOOL_CALLING" not in node.env),
        _both("tool calls are held to their schema while they are decoded", "解码时工具调用会按 schema 约束"),
        _both("set VLLM_ENFORCE_STRICT_TOOL_CALLING=0 to keep free decoding",
              "要保持自由解码，请设置 VLLM_ENFORCE_STRICT_TOOL_CALLING=0"),
    ),
    Turn(
        turns.NO_ORIGINS, "--allowed-origins", '["*"]', "[]",
        _absent("allowed-origins", if_=lambda node, step: node.program != "python"),
        _both("pages of other origins may no longer call the server from a browser",
              "其他来源的网页不能再从浏览器调用本服务"),
        _both("write --allowed-origins with the origins that may, where browsers call it",
              "如果有浏览器直接调用，请用 --allowed-origins 写出允许的来源"),
    ),
    Turn(
        turns.ASYNC_ANY_DRAFTS, "--async-scheduling", "off", "on",
        _absent("async-scheduling", "no-async-scheduling", if_=_other_drafts),
        _both("async scheduling is no longer switched off by this method of speculation",
              "这种推测方法不再关闭异步调度"),
        _both("write --no-async-scheduling to keep it off", "要保持关闭，请写 --no-async-scheduling"),
    ),
    Turn(
        turns.EPLB_ASYNC, "--eplb-config use_async", "false", "true", _absent(if_=_eplb),
        _both("experts are rebalanced asynchronously, in a separate thread", "专家重排改在独立线程里异步进行"),
        _both('write "use_async": false in --eplb-config to keep it',
              '要保持不变，请在 --eplb-config 里写 "use_async": false'),
    ),
    Turn(
        turns.NIXL_LEASE, "kv_lease_duration", "480 s (VLLM_NIXL_ABORT_REQUEST_TIMEOUT)", "30 s, renewed by decode",
        _nixl,
        _both("prefill frees blocks 30 s after decode last renewed its lease",
              "解码侧最后一次续租 30 秒后，预填充侧释放块"),
        _both('write "kv_lease_duration" in kv_connector_extra_config for a different time',
              '要用别的时间，请在 kv_connector_extra_config 里写 "kv_lease_duration"'),
    ),
    Turn(
        RENAMED, "offload budget", "8 GiB an engine", "as many blocks as the device has", _budget,
        _both("without a budget the renamed connector takes as much host memory as the device cache has",
              "没有写预算时，改名后的连接器占用的主机内存与设备缓存一样多"),
        _both(f'write "cpu_bytes_to_use": {_KEPT} to keep it', f'要保持不变，请写 "cpu_bytes_to_use": {_KEPT}'),
        "plausible", _keep_budget,
        frozenset({"cpu_bytes_to_use", "cpu_bytes_to_use_per_rank", "kv_connector_extra_config"}),
    ),
    Turn(
        PRODUCER_IGNORED, "recompute_scheduler_enable", "runs on prefill", "ignored on prefill", _producer,
        _both("the switch is ignored with a warning on a prefill node", "预填充节点上这个开关会被忽略，并打印警告"),
        _both("remove it there", "请从预填充节点上删掉"),
    ),
    Turn(
        turns.DSV4_OVERLAP, "multistream_dsv4_dsa_overlap", "false", "true", _deepseek_v4,
        _both("the overlap of DeepSeek-V4's attention is on by default", "DeepSeek-V4 注意力的多流重叠默认打开"),
        _both('write "multistream_dsv4_dsa_overlap": false to keep it',
              '要保持不变，请写 "multistream_dsv4_dsa_overlap": false'),
    ),
    Turn(
        turns.PCP_SHARDING, "enable_pcp_o_proj_weight_sharding", "false", "true", _pcp,
        _both("o_proj's weights are sharded over prefill context parallelism by default", "o_proj 权重默认按 PCP 切分"),
        _both('write "enable_pcp_o_proj_weight_sharding": false to keep it',
              '要保持不变，请写 "enable_pcp_o_proj_weight_sharding": false'),
    ),
)  # fmt: skip
