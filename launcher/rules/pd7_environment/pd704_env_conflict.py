"""PD704 env-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, EnvVar, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.running import running
from pd_launch.schemas.engine.scheduling import recompute_runs
from pd_launch.schemas.releases.stock import EXPANDABLE_REFUSED
from pd_launch.schemas.releases.transfers import HCCL_HIERARCHY

CUDA_ALLOC, NPU_ALLOC = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF"
EXPANDABLE = "expandable_segments:True"

ZH = """
环境变量与启动参数冲突

## 作用

在以下情况下报告：KV 连接器（包括 `--kv-offloading-size` 带来的）与
`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` 同时使用；图模式与
`ASCEND_LAUNCH_BLOCKING=1` 同时使用；睡眠模式与 `PYTORCH_NPU_ALLOC_CONF=expandable_segments:True` 同时使用。
`HCCL_INTRA_PCIE_ENABLE=1` 加 `HCCL_INTRA_ROCE_ENABLE=0` 只作提示：它会打开分层 MC2，使重计算调度器的一项优化失效。

## 为什么重要

引擎会在启动时拒绝这种组合，或者悄悄改变另一项设置。

## 适用版本

可扩展段从 vLLM <since expandable-segments-refused> 起被拒绝（启用 cumem 分配器或睡眠模式除外）；
其余适用于表中所有 vllm-ascend 版本。
已经没有版本读取 `VLLM_USE_V1`（见 PD705）。

## 来源

vllm/config/vllm.py（0.23.0、0.27.1、0.32.0）；vllm_ascend/platform.py、device_allocator/camem.py、utils.py
（0.18.0 至 0.26.0rc1）。
"""


@rule("PD704", "env-conflict", "error", zh=ZH, needs="C R")
def env_conflict(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""An environment variable conflicts with what the command line asks for.

    ## What it does

    Fires on a KV connector (also the one that `--kv-offloading-size` adds) together with
    `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, on graph mode together with `ASCEND_LAUNCH_BLOCKING=1`, and on
    sleep mode together with `PYTORCH_NPU_ALLOC_CONF=expandable_segments:True`. As an info it reports that
    `HCCL_INTRA_PCIE_ENABLE=1` with `HCCL_INTRA_ROCE_ENABLE=0` switches on hierarchical MC2, which undoes an
    optimisation of the recompute scheduler.

    ## Why it matters

    The engine refuses the combination at start, or silently changes another setting.

    ## Example

    ```bash
    # target: 0.25.1rc1
    export ASCEND_LAUNCH_BLOCKING=1
    vllm serve /models/m --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}'
    ```

    ## Releases

    Expandable segments are refused from vLLM <since expandable-segments-refused> on, unless the cumem allocator or
    sleep mode is on; the rest holds for every vllm-ascend in the tables. No release in them reads `VLLM_USE_V1`
    (PD705).

    ## Sources

    vllm/config/vllm.py at 0.23.0, 0.27.1 and 0.32.0; vllm_ascend/platform.py, device_allocator/camem.py and utils.py at
    0.18.0 to 0.26.0rc1.
    """
    yield from _expandable(node, deployment)
    if deployment.target.is_ascend:
        yield from _blocking(node)
        yield from _sleep(node)
        yield from _hierarchy(node, deployment)


def _expandable(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    found = node.env.get(CUDA_ALLOC)
    if found is None or not _expands(found) or not EXPANDABLE_REFUSED.holds(deployment.target):
        return
    first = next(iter(running(node, deployment.target)), None)
    name = first.tree.get("kv_connector") if first is not None else None
    if name is None or name.value is None or node.switch("enable-sleep-mode") or node.switch("enable-cumem-allocator"):
        return
    yield Hit(
        found.value.origin,
        Msg(
            f"vLLM refuses expandable segments ({CUDA_ALLOC}) together with a KV connector",
            f"vLLM 拒绝同时使用可扩展段（{CUDA_ALLOC}）和 KV 连接器",
        ),
        Msg(
            f"remove {EXPANDABLE} from {CUDA_ALLOC}; on an NPU the variable is {NPU_ALLOC}",
            f"从 {CUDA_ALLOC} 中去掉 {EXPANDABLE}；NPU 上对应的变量是 {NPU_ALLOC}",
        ),
        related=((name.origin, Msg("the KV connector", "KV 连接器")),),
    )


def _blocking(node: NodeLaunch) -> Iterator[Hit]:
    found = node.env.get("ASCEND_LAUNCH_BLOCKING")
    if found is None or found.value.string() != "1" or _graphs(node) is not True:
        return
    yield Hit(
        found.value.origin,
        Msg("graph mode is refused while ASCEND_LAUNCH_BLOCKING is 1", "ASCEND_LAUNCH_BLOCKING=1 时图模式会被拒绝"),
        Msg(
            "unset ASCEND_LAUNCH_BLOCKING, or add --enforce-eager",
            "去掉 ASCEND_LAUNCH_BLOCKING，或加上 --enforce-eager",
        ),
    )


def _graphs(node: NodeLaunch) -> bool | None:
    """Whether the engine captures graphs, as it does unless it is told not to; None where that is unknown."""
    if node.partial:
        return None
    eager = node.switch("enforce-eager")
    config = node.value("compilation-config")
    mode = config.get("cudagraph_mode") if config else None
    if eager or (mode is not None and mode.value == "NONE"):
        return False
    if config is not None and (not config.known or not isinstance(config.value, dict)):
        return None
    level = config.get("mode") or config.get("level") if config else None
    return None if level is not None or (mode is not None and not mode.known) else True


def _sleep(node: NodeLaunch) -> Iterator[Hit]:
    found = node.env.get(NPU_ALLOC)
    if found is None or not _expands(found) or not node.switch("enable-sleep-mode"):
        return
    yield Hit(
        found.value.origin,
        Msg(
            f"sleep mode's allocator stops the engine when {NPU_ALLOC} asks for expandable segments",
            f"{NPU_ALLOC} 打开可扩展段时，睡眠模式的分配器会使引擎退出",
        ),
        Msg(f"remove {EXPANDABLE} from {NPU_ALLOC}", f"从 {NPU_ALLOC} 中去掉 {EXPANDABLE}"),
    )


def _hierarchy(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    pcie, roce = node.env.get("HCCL_INTRA_PCIE_ENABLE"), node.env.get("HCCL_INTRA_ROCE_ENABLE")
    target = deployment.target
    if pcie is None or roce is None or pcie.value.string() != "1" or roce.value.string() != "0":
        return
    if not HCCL_HIERARCHY.holds(target) or not recompute_runs(node, target) or (node.data or 1) < 2:
        return
    yield Hit(
        pcie.value.origin,
        Msg(
            "hierarchical MC2 is on, so the decode ranks still exchange token counts in every step, which the "
            "recompute scheduler would avoid",
            "分层 MC2 已打开，解码 rank 每步仍要交换 token 数，而重计算调度器本可省去这一步",
        ),
        Msg(
            "keep both variables only where the link between the machines needs them",
            "只有机器之间的链路确实需要时，才保留这两个变量",
        ),
        severity="info",
        related=((roce.value.origin, Msg("the other variable", "另一个变量")),),
    )


def _expands(variable: EnvVar) -> bool:
    node: Node = variable.value
    text = node.string()
    return text is not None and EXPANDABLE in text.replace(" ", "")
