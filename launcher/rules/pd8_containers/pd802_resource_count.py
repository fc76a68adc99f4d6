"""PD802 resource-count."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.container_facts import GPU_RESOURCE, NPU_RESOURCE, ranks_inside
from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.schemas.core.launch import Container, Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.engine.machines import by_container

ZH = """
Pod 申请的设备数与 rank 数不同

## 作用

Pod 的 `resources` 申请的 NPU（或 GPU）数量与容器内所有 rank 的数量不同时报告。rank 数为奇数、
多申请一个以凑成整卡（A3）时不报告；引擎可能通过 Ray、`--nnodes` 或一组 Pod（LeaderWorkerSet）
分布在多个 Pod 上时也不报告。不会同时运行的引擎（例如脚本两个分支里的）不相加：只有它们需要的数量相同时才比较。

## 为什么重要

申请少了，引擎启动时找不到设备；申请多了，多出的设备一直闲置。

## 适用版本

所有版本。

## 来源

vLLM 的并行配置（每个 rank 一个设备）；Ascend 设备插件的资源名。
"""


@rule("PD802", "resource-count", "error", zh=ZH, needs="C")
def resource_count(deployment: Deployment) -> Iterator[Hit]:
    """A pod requests a different number of devices than its ranks need.

    ## What it does

    Fires where the NPUs (or GPUs) in a pod's `resources` are not as many as the container has ranks. One more than an
    odd number is left alone, since cards of two dies are handed out whole, and so are engines that Ray, `--nnodes` or a
    group of pods (LeaderWorkerSet) may spread over several pods. Of engines that never run at once, such as those in
    two branches of a script, each is compared separately, and only where all need the same number.

    ## Why it matters

    With too few the engine does not find its devices at start, and with too many the rest is reserved but never used.

    ## Example

    ```yaml
    apiVersion: v1
    kind: Pod
    metadata: {name: decode}
    spec:
      containers:
        - name: vllm
          image: quay.io/ascend/vllm-ascend:v0.25.1rc1
          command: [vllm, serve, /models/m, --tensor-parallel-size, "4"]
          resources: {limits: {huawei.com/Ascend910: "2"}}
    ```

    ## Use instead

    ```yaml
    apiVersion: v1
    kind: Pod
    metadata: {name: decode}
    spec:
      containers:
        - name: vllm
          image: quay.io/ascend/vllm-ascend:v0.25.1rc1
          command: [vllm, serve, /models/m, --tensor-parallel-size, "4"]
          resources: {limits: {huawei.com/Ascend910: "4"}}
    ```

    ## Releases

    All.

    ## Sources

    vLLM's parallel configuration (one device for each rank); the resource names of the Ascend device plugin.
    """
    for container, nodes in by_container(deployment):
        needed = ranks_inside(nodes) if container.form == "manifest" else None
        if needed is not None:
            yield from _asked(container, needed)


def _asked(container: Container, needed: int) -> Iterator[Hit]:
    for name, amount in container.resources.items():
        npu = NPU_RESOURCE.match(name)
        asked = amount.integer()
        if asked is None or asked == needed or not (npu or name == GPU_RESOURCE):
            continue
        if npu and needed % 2 and asked == needed + 1:
            continue
        yield Hit(
            amount.origin,
            Msg(
                f"the pod requests {asked} {name}, but its engines need {needed}",
                f"Pod 申请 {asked} 个 {name}，其中的引擎需要 {needed} 个",
            ),
            Msg(
                f"request {needed}, or change the parallel sizes to {counted(asked, 'rank')}",
                f"申请 {needed} 个，或把并行大小改为 {asked} 个 rank",
            ),
            fix=_fix(container, name, needed),
        )


def _fix(container: Container, name: str, needed: int) -> FixEdits | None:
    edits = set_value(container.resources[name], str(needed))
    return fix(Msg(f"request {needed}", f"申请 {needed} 个"), edits)
