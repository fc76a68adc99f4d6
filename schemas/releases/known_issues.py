"""Recorded faults of releases that a configuration can run into: each with its link and date, and what makes it show.

Only faults that a release in the tables has, that its own documents or a reproduced report describe, and that no other
rule covers. Releases are first and last: of vLLM, or of vllm-ascend.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target, release
from pd_launch.schemas.releases.facts import Code, Documented, Fact, rows

Needs = Literal[
    "speculation",
    "align",
    "full_decode_graphs",
    "v2_runner",
    "async",
    "prefill_or_decode",
    "under_multi",
    "repeated",
    "beside_metrics",
    "builtin_offload",
    "prefill",
    "load_async",
    "decode_context",
    "sparse_sfa_c8",
    "consumes",
    "async_on",
]


class KnownIssue(NamedTuple):
    """One fault. Every condition that is given must hold; ``connector`` must be one of the node's connectors."""

    link: str
    date: str
    first: str
    last: str
    of: Literal["vllm", "vllm-ascend"]
    connector: tuple[str, ...]
    what: Msg
    instead: Msg
    families: tuple[str, ...] = ()
    hybrid: bool = False
    needs: tuple[Needs, ...] = ()
    rare: bool = False
    """Whether it shows only when blocks run out, which most deployments never see: an info."""

    def hits(self, target: Target) -> bool:
        """Whether the target has the fault."""
        if (self.of == "vllm-ascend") != target.is_ascend:
            return False
        current = release(target.vllm_ascend or target.vllm)
        return release(self.first) <= current <= release(self.last)


_ASCEND = "https://github.com/vllm-project/vllm-ascend"
_VLLM = "https://github.com/vllm-project/vllm"
_OFFLOADS = ("RecomputeCPUOffloadConnector", "PreemptOffloadConnector")
_POOL = ("AscendStoreConnector", "MooncakeConnectorStoreV1")
_KEEPERS = (*_OFFLOADS, "OffloadingConnector", "SimpleCPUOffloadConnector")
_NO_PROGRESS = Msg(
    "when blocks run out, requests can preempt each other forever and no request gets a token, as async scheduling "
    "frees the blocks of a victim too late",
    "块不足时，请求可能无休止地互相抢占，没有请求能得到 token：异步调度下，被抢占请求的块释放得太晚",
)
_FROM_0_30 = Msg(
    "use a release from 0.30.0 on, or add --no-async-scheduling",
    "换用 0.30.0 或更新的版本，或加上 --no-async-scheduling",
)
_MOONCAKE = ("MooncakeConnectorV1", "MooncakeHybridConnector")

METRICS = frozenset({"NixlConnector", "OffloadingConnector", "MooncakeStoreConnector", "LMCacheMPConnector"})
"""vLLM's connectors that have metrics for Prometheus in the releases that _MULTI's faults are of."""

_SEEN = {
    f"{_VLLM}/issues/43828": Code(
        "vllm/distributed/kv_transfer/kv_connector/v1/mooncake/mooncake_connector.py",
        r"\A(?=(?s:.*)get_kv_connector_stats)(?!(?s:.*)def build_prom_metrics)",
    ),
    f"{_VLLM}/issues/39906": Code(
        "vllm/distributed/kv_transfer/kv_connector/v1/multi_connector.py", r"\A(?!(?s:.*)seen_classes)"
    ),
    f"{_ASCEND}/pull/16729": Code(
        "vllm_ascend/distributed/kv_transfer/kv_pool/kv_offload/preempt_offload/worker.py",
        r"\A(?!(?s:.*)_submitted_store_event_indices)",
    ),
    f"{_ASCEND}/issues/15802": Code(
        "vllm_ascend/patch/platform/patch_balance_schedule.py", r"def _disable_preemption_on_prefill_node"
    ),
}
"""Fault → where a release's own files show that it has it."""

KNOWN_ISSUES = [
    KnownIssue(
        link=f"{_ASCEND}/pull/16729",
        date="2026-09-16",
        first="0.28.0rc1",
        last="0.29.0rc1",
        of="vllm-ascend",
        connector=_OFFLOADS,
        families=("qwen3.5",),
        needs=("builtin_offload",),
        what=Msg(
            "the built-in preemption offload restores a wrong state of Qwen3.5's linear layers",
            "内置的抢占卸载恢复 Qwen3.5 线性层状态时会出错",
        ),
        instead=Msg(
            "use a release with that fix, or leave preemption offload out for this model",
            "换用包含该修复的版本，或对该模型不启用抢占卸载",
        ),
    ),
    KnownIssue(
        link=f"{_ASCEND}/pull/16729",
        date="2026-09-16",
        first="0.28.0rc1",
        last="0.29.0rc1",
        of="vllm-ascend",
        connector=_OFFLOADS,
        needs=("v2_runner", "builtin_offload"),
        what=Msg(
            "the V2 model runner saves each preempted request twice, the second time from reused blocks",
            "V2 模型运行器会把每个被抢占的请求保存两次，第二次读到的是已被复用的块",
        ),
        instead=Msg(
            "unset VLLM_USE_V2_MODEL_RUNNER, or use a release with that fix",
            "去掉 VLLM_USE_V2_MODEL_RUNNER，或换用包含该修复的版本",
        ),
    ),
    KnownIssue(
        link=f"{_ASCEND}/issues/17245",
        date="2026-09-22",
        first="0.28.0rc1",
        last="0.28.0rc1",
        of="vllm-ascend",
        connector=("AscendStoreConnector",),
        families=("glm-5-next",),
        what=Msg(
            "the KV pool stops the engine at start: its block size does not fit the model's hybrid KV groups",
            "KV 池会使引擎在启动时停止：它的块大小不适合该模型的混合 KV 组",
        ),
        instead=Msg("use the P/D connector without the pool for this model", "该模型只用 P/D 连接器，不加 KV 池"),
    ),
    KnownIssue(
        link=f"{_ASCEND}/issues/15802",
        date="2026-09-07",
        first="0.23.0",
        last="0.23.0.post1",
        of="vllm-ascend",
        connector=_POOL,
        families=("qwen3.5",),
        needs=("prefill", "load_async"),
        what=Msg(
            "preemption is switched off on prefill nodes, and prefill hangs while the pool loads asynchronously",
            "预填充节点上的抢占被关闭，KV 池异步加载时预填充会挂起",
        ),
        instead=Msg("set load_async to false, or use a newer release", "把 load_async 设为 false，或换用更新的版本"),
    ),
    KnownIssue(
        link=f"{_ASCEND}/pull/14017",
        date="2026-08-11",
        first="0.23.0",
        last="0.23.0.post1",
        of="vllm-ascend",
        connector=_MOONCAKE,
        needs=("decode_context", "sparse_sfa_c8"),
        what=Msg(
            "decode context parallelism and enable_sparse_sfa_c8 do not work well together",
            "解码上下文并行与 enable_sparse_sfa_c8 同时开启会有问题",
        ),
        instead=Msg("leave enable_sparse_sfa_c8 out", "去掉 enable_sparse_sfa_c8"),
    ),
    KnownIssue(
        link=f"{_ASCEND}/issues/8992",
        date="2026-05-17",
        first="0.19.1rc1",
        last="0.19.1rc1",
        of="vllm-ascend",
        connector=_MOONCAKE,
        families=("glm-5",),
        needs=("speculation", "full_decode_graphs"),
        what=Msg(
            "the first replay of a full decode graph crashes while Mooncake transfers KV",
            "Mooncake 传输 KV 期间，首次重放完整解码图会崩溃",
        ),
        instead=Msg(
            'use {"cudagraph_mode": "PIECEWISE"} in --compilation-config, or a newer release',
            '在 --compilation-config 中改用 {"cudagraph_mode": "PIECEWISE"}，或换用更新的版本',
        ),
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/43828",
        date="2026-05-28",
        first="0.21.0",
        last="0.32.0",
        of="vllm",
        connector=("MooncakeConnector",),
        needs=("beside_metrics",),
        what=Msg(
            "beside a connector with Prometheus metrics, MooncakeConnector ends the API server after a transfer",
            "与有 Prometheus 指标的连接器放在一起时，MooncakeConnector 会在一次传输之后使 API 服务器退出",
        ),
        instead=Msg(
            "use vLLM 0.33.0 or newer, or MooncakeConnector alone",
            "使用 vLLM 0.33.0 或更新的版本，或只用 MooncakeConnector",
        ),
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/39906",
        date="2026-04-15",
        first="0.18.0",
        last="0.19.1",
        of="vllm",
        connector=("OffloadingConnector", "NixlConnector"),
        needs=("repeated",),
        what=Msg(
            "two children of one class register the same Prometheus metrics, and the server stops at start",
            "两个相同类的子连接器会重复注册同样的 Prometheus 指标，服务在启动时停止",
        ),
        instead=Msg("use vLLM 0.20.0 or newer, or one of them", "使用 vLLM 0.20.0 或更新的版本，或只用其中一个"),
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/46014",
        date="2026-06-18",
        first="0.23.0",
        last="0.23.0",
        of="vllm",
        connector=("OffloadingConnector",),
        needs=("async", "prefill_or_decode"),
        what=Msg(
            "a preempted request that resumes while its blocks are still being stored kills the engine",
            "被抢占的请求在其块仍在写出时又被调度，会使引擎崩溃",
        ),
        instead=Msg("add --no-async-scheduling, or use vLLM 0.27.1", "加上 --no-async-scheduling，或使用 vLLM 0.27.1"),
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/52170",
        date="2026-08-13",
        first="0.26.0",
        last="0.26.0",
        of="vllm",
        connector=("OffloadingConnector",),
        needs=("under_multi",),
        what=Msg(
            "a request that is aborted while waiting kills the engine (issue 49118)",
            "请求在等待时被取消会使引擎崩溃（issue 49118）",
        ),
        instead=Msg(
            "use another release, or leave OffloadingConnector out of the MultiConnector",
            "换用其他版本，或从 MultiConnector 中去掉 OffloadingConnector",
        ),
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/39500",
        date="2026-04-10",
        first="0.19.0",
        last="0.19.0",
        of="vllm",
        connector=("OffloadingConnector",),
        needs=("under_multi",),
        what=Msg(
            "OffloadingConnector together with NixlConnector crashes the decode node (segmentation fault)",
            "OffloadingConnector 与 NixlConnector 一起使用时，解码节点会崩溃（段错误）",
        ),
        instead=Msg(
            "use a newer release, or leave OffloadingConnector out of the MultiConnector",
            "换用更新的版本，或从 MultiConnector 中去掉 OffloadingConnector",
        ),
    ),
    KnownIssue(
        link="https://github.com/LMCache/LMCache/issues/4247",
        date="2026-08-16",
        first="0.26.0",
        last="0.26.0",
        of="vllm",
        connector=("LMCacheMPConnector",),
        hybrid=True,
        what=Msg(
            "requests with a common prefix get wrong answers on hybrid models",
            "混合模型上，共享前缀的请求会得到错误的回答",
        ),
        instead=Msg(
            "add --no-enable-prefix-caching, or use another connector for this model",
            "加上 --no-enable-prefix-caching，或为该模型换用其他连接器",
        ),
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/52617",
        date="2026-08",
        first="0.26.0",
        last="0.26.0",
        of="vllm",
        connector=("LMCacheConnectorV1",),
        needs=("prefill_or_decode",),
        what=Msg(
            "P/D through LMCache answers differently from a single engine although every hit is reported complete",
            "经 LMCache 的 P/D 与单引擎的回答不同，尽管每次命中都报告为完整",
        ),
        instead=Msg("use NixlConnector for P/D with this release", "该版本的 P/D 请使用 NixlConnector"),
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/53505",
        date="2026-08-24",
        first="0.27.1",
        last="0.27.1",
        of="vllm",
        connector=("LMCacheMPConnector", "LMCacheConnectorV1", "OffloadingConnector"),
        hybrid=True,
        needs=("speculation", "align"),
        what=Msg(
            "speculative decoding of a hybrid model with aligned Mamba caching and a KV connector garbles answers",
            "混合模型在对齐式 Mamba 缓存、KV 连接器与推测解码同时启用时，回答会损坏",
        ),
        instead=Msg(
            "remove --speculative-config or --mamba-cache-mode align",
            "去掉 --speculative-config 或 --mamba-cache-mode align",
        ),
    ),
    KnownIssue(
        link=f"{_VLLM}/pull/49675",
        date="2026-07-24",
        first="0.24.0",
        last="0.29.0",
        of="vllm",
        connector=_KEEPERS,
        needs=("async_on", "consumes"),
        what=_NO_PROGRESS,
        instead=_FROM_0_30,
    ),
    KnownIssue(
        link=f"{_VLLM}/issues/49674",
        date="2026-07-24",
        first="0.24.0",
        last="0.29.0",
        of="vllm",
        connector=(
            "NixlConnector",
            "NixlPullConnector",
            "MooncakeConnector",
            "LMCacheConnectorV1",
            "LMCacheMPConnector",
        ),
        needs=("async_on", "consumes"),
        rare=True,
        what=_NO_PROGRESS,
        instead=_FROM_0_30,
    ),
    KnownIssue(
        link=f"{_ASCEND}/issues/16315",
        date="2026-09-11",
        first="0.24.0rc1",
        last="0.29.0rc1",
        of="vllm-ascend",
        connector=_POOL,
        needs=("async_on", "consumes"),
        rare=True,
        what=_NO_PROGRESS,
        instead=Msg(
            "use a release for vLLM 0.30.0 or later, or add --no-async-scheduling",
            "换用基于 vLLM 0.30.0 或更新版本的发行版，或加上 --no-async-scheduling",
        ),
    ),
    KnownIssue(
        link=f"{_VLLM}/pull/57104",
        date="2026-09-16",
        first="0.27.1",
        last="0.30.0",
        of="vllm",
        connector=("NixlConnector", "NixlPullConnector", "OffloadingConnector", "MooncakeConnector"),
        needs=("speculation", "consumes"),
        rare=True,
        what=Msg(
            "when blocks run out, requests whose KV cache is being loaded can hold all blocks and wait forever for "
            "those that their draft tokens need",
            "块不足时，正在加载 KV 的请求可能占满所有块，又都在等草稿 token 所需的块，永远等不到",
        ),
        instead=Msg(
            "use a release from 0.31.0 on, or remove --speculative-config",
            "换用 0.31.0 或更新的版本，或去掉 --speculative-config",
        ),
    ),
]
"""The faults. The last release of a range is the last one that was seen with it, not always the one before the fix."""


def facts() -> list[Fact]:
    """Return the faults as facts, whose ranges are read again where a release's files show them."""
    return [_fact(number, issue) for number, issue in enumerate(KNOWN_ISSUES)]


def _fact(number: int, issue: KnownIssue) -> Fact:
    newer = [row for row in rows(issue.of) if release(row) > release(issue.last)]
    seen = [_SEEN[issue.link]] if issue.link in _SEEN else []
    return Fact(
        f"issue-{number}-{issue.link.rpartition('/')[2]}", issue.of, issue.first, newer[0] if newer else None,
        issue.what.en, (*seen, Documented(issue.link, issue.date)),
    )  # fmt: skip
