"""PD107 scheduler-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Arg, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.scheduling import (
    BATCH_JOBS,
    DYNTRA,
    PROFILING,
    SHORT_FIRST,
    Option,
    balance,
    option,
    role_of,
)
from pd_launch.schemas.releases.features import (
    PROFILING_ASYNC,
    SHORT_FIRST_PROFILING,
    SHORT_FIRST_PROFILING_ASYNC,
)
from pd_launch.schemas.releases.schedulers import SHORT_FIRST_PREFILL

V2_RUNNER = "VLLM_USE_V2_MODEL_RUNNER"

ZH = r"""
调度器不能同时使用，或者与角色不符

## 作用

检查目标版本启动时会拒绝的组合：

- 均衡调度：用在 P/D 节点上。
- short_request_first：用在解码节点上，调度策略不是 fcfs，或者与其他调度器同时打开。
- DyntraLB：用在解码节点以外，DP 为 1，或者与均衡调度、profiling_chunk 同时打开。
- profiling_chunk：没有流水线并行，与均衡调度同时打开，或者在不支持的版本里与 `--async-scheduling` 同时打开。

## 为什么重要

引擎读完模型配置就会退出。

## 适用版本

均衡调度：所有版本；profiling_chunk：从 <since reads-profiling_chunk_config> 起；short_request_first：
从 <since short-first-on-prefill-only> 起，
与 profiling_chunk 同时使用的检查从 <since short-first-profiling-synchronous> 起，
再加异步调度的检查（需要 V2 model runner）从 <since profiling-async-needs-v2> 起；DyntraLB：
从 <since reads-dyntra_lb_config> 起。

## 来源

vllm_ascend/platform.py 与 vllm_ascend/ascend_config.py，0.18.0 到 0.26.0rc1 的安装包（0.25.1rc1：
platform.py 第 630–670 行），以及 0.27.1rc1 到 0.30.0rc2 的源码包（0.30.0rc1：第 1030–1110 行）。
"""


@rule("PD107", "scheduler-conflict", "error", zh=ZH, needs="C R")
def scheduler_conflict(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Schedulers that cannot be combined, or do not fit this role.

    ## What it does

    Checks what the target release refuses at start: balance scheduling on a P/D node; short_request_first on a decode
    node, without the fcfs policy, or with another scheduler; DyntraLB outside decode nodes, with one DP rank, or with
    balance scheduling or profiling_chunk; profiling_chunk without pipeline parallelism, with balance scheduling, or
    with `--async-scheduling` where the release does not support it.

    ## Why it matters

    The engine exits at start, after it has read the model's configuration.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}' \
      --additional-config '{"scheduler_config": {"short_request_first_config": {"enabled": true}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}' \
      --additional-config '{"scheduler_config": {"short_request_first_config": {"enabled": true}}}'
    ```

    ## Releases

    Balance scheduling: all; profiling_chunk: from <since reads-profiling_chunk_config>; short_request_first: from
    <since short-first-on-prefill-only>, with profiling_chunk from <since short-first-profiling-synchronous>, and
    with async scheduling too from <since profiling-async-needs-v2>, which asks for the V2 model runner; DyntraLB:
    from <since reads-dyntra_lb_config>.

    ## Sources

    vllm_ascend/platform.py and vllm_ascend/ascend_config.py in the wheels of 0.18.0 to 0.26.0rc1 (0.25.1rc1:
    platform.py lines 630-670), and the source packages of 0.27.1rc1 to 0.30.0rc2 (0.30.0rc1: lines 1030-1110).
    """
    target = deployment.target
    if not target.is_ascend:
        return
    yield from _balance(node, target)
    yield from _short_first(node, target)
    yield from _dyntra(node, target)
    yield from _profiling(node, target)


def _balance(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    state, role = balance(node, target), role_of(node)
    if state.on and role.known and role.name not in (None, "kv_both"):
        yield _hit(
            state,
            f"balance scheduling is refused on a P/D node ({role.said.en})",
            f"P/D 节点不能使用均衡调度（{role.said.zh}）",
        )


def _short_first(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    state, role = option(node, SHORT_FIRST, target), role_of(node)
    if not state.on or not SHORT_FIRST_PREFILL.holds(target):
        return
    if role.known and role.name == "kv_consumer":
        yield _hit(
            state,
            "short_request_first is for prefill and PD-mixed nodes, not for decode nodes",
            "short_request_first 用于预填充节点和 PD 混合节点，不能用于解码节点",
        )
    policy = node.value("scheduling-policy")
    if policy is not None and policy.known and policy.value != "fcfs":
        yield _hit(
            state,
            f"short_request_first needs --scheduling-policy fcfs, not {policy.value}",
            f"short_request_first 需要 --scheduling-policy fcfs，而不是 {policy.value}",
        )
    yield from _pair(state, option(node, BATCH_JOBS, target))
    if SHORT_FIRST_PROFILING.holds(target):
        yield from _pair(state, option(node, PROFILING, target))


def _dyntra(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    state, role = option(node, DYNTRA, target), role_of(node)
    if not state.on:
        return
    if role.known and role.name != "kv_consumer":
        yield _hit(
            state, f"DyntraLB is for decode nodes only ({role.said.en})", f"DyntraLB 只能用于解码节点（{role.said.zh}）"
        )
    if node.data == 1 and not node.external_dp:
        yield _hit(state, "DyntraLB needs more than one DP rank", "DyntraLB 至少需要两个 DP rank")
    yield from _pair(state, balance(node, target))
    yield from _pair(state, option(node, PROFILING, target))


def _profiling(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    state = option(node, PROFILING, target)
    if not state.on:
        return
    if node.pipeline == 1:
        yield _hit(
            state,
            "profiling_chunk_config needs --pipeline-parallel-size above 1",
            "profiling_chunk_config 需要 --pipeline-parallel-size 大于 1",
        )
    yield from _pair(state, balance(node, target))
    asynchronous = node.named("async-scheduling")
    if not node.switch("async-scheduling") or not asynchronous:
        return
    second = node.env.get(V2_RUNNER)
    if PROFILING_ASYNC.holds(target) and (second is None or second.value.string() in ("0", "")):
        yield _flag(
            state,
            asynchronous[-1],
            f"profiling_chunk_config with --async-scheduling needs {V2_RUNNER}=1",
            f"profiling_chunk_config 要与 --async-scheduling 同时使用，需要 {V2_RUNNER}=1",
        )
    if option(node, SHORT_FIRST, target).on and SHORT_FIRST_PROFILING_ASYNC.holds(target):
        yield _flag(
            state,
            asynchronous[-1],
            "profiling_chunk_config with short_request_first does not work with --async-scheduling",
            "profiling_chunk_config 与 short_request_first 同时使用时，不能再用 --async-scheduling",
        )


def _flag(state: Option, arg: Arg, en: str, zh: str) -> Hit:
    assert state.place is not None  # an option is on where it is switched on
    return Hit(
        state.place.origin,
        Msg(en, zh),
        Msg("write --no-async-scheduling, or switch the option off", "写 --no-async-scheduling，或关闭该选项"),
        related=((arg.origin, Msg("async scheduling is switched on here", "异步调度在这里打开")),),
    )


def _pair(state: Option, other: Option) -> Iterator[Hit]:
    if other.on:
        yield _hit(
            state,
            f"{state.name} and {other.name} cannot be combined",
            f"{state.name} 与 {other.name} 不能同时使用",
            other,
        )


def _hit(state: Option, en: str, zh: str, other: Option | None = None) -> Hit:
    assert state.place is not None  # an option is on where it is switched on
    second = other.place if other else None
    return Hit(
        state.place.origin,
        Msg(en, zh),
        Msg(f"switch {state.name} off here", f"在这里关闭 {state.name}"),
        related=((second.origin, Msg("the other is switched on here", "另一个在这里打开")),) if second else (),
    )
