"""PD305 host-memory."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.wording.nouns import seat
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.budget import PER_RANK, RATIO, TOTAL
from pd_launch.schemas.engine.machines import by_container, by_machine, offload_bytes, size_of
from pd_launch.schemas.engine.offload import budget_of, served

ZH = """
卸载预算超过主机内存

## 作用

把一个节点上所有 rank 的卸载预算加起来，与机器的可用内存、cgroup 上限以及容器或 Pod 的内存上限比较，超过就报告。

## 为什么重要

卸载用的主机内存在引擎启动时一次性分配并写满，超过上限时，引擎要到加载完模型之后才会被终止。

## 适用版本

所有带卸载连接器的版本。

## 来源

vllm-ascend 的 recompute_cpu_offload/worker.py，第 100–111 行（0.27.1rc1）：主机张量在注册 KV 缓存时创建并清零。
"""


@rule("PD305", "host-memory", "error", zh=ZH, needs="H R")
def host_memory(deployment: Deployment) -> Iterator[Hit]:
    r"""The offload budget is more than the host's memory.

    ## What it does

    Adds up the offload budgets of all ranks on a node and compares them with the memory that the machine has available,
    with the cgroup's limit, and with the limit of the container or pod.

    ## Why it matters

    The host memory is allocated and filled at once when the engine starts, so an engine above the limit is killed after
    it has loaded the whole model.

    ## Example

    ```bash
    # target: 0.23.0
    docker run --memory=64g quay.io/ascend/vllm-ascend:v0.23.0 \
      vllm serve /models/m --tensor-parallel-size 8 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    docker run --memory=256g quay.io/ascend/vllm-ascend:v0.23.0 \
      vllm serve /models/m --tensor-parallel-size 8 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    All that have the offload connector.

    ## Sources

    vllm-ascend's recompute_cpu_offload/worker.py, lines 100-111 at 0.27.1rc1: the host tensors are created and zeroed
    when the KV cache is registered.
    """
    for container, nodes in by_container(deployment):
        limit = size_of(container.memory)
        if limit is not None and container.memory is not None:
            place = container.memory.origin
            yield from _over(deployment, nodes, limit, Msg("the container's limit is {}", "容器的上限是 {}"), place)
    for nodes in by_machine(deployment):
        limit, what = _machine_limit(deployment)
        if limit is not None:
            yield from _over(deployment, nodes, limit, what, None)


def _machine_limit(deployment: Deployment) -> tuple[int | None, Msg]:
    """Return the smallest of the limits that are known of the machine, and a sentence about it with a place for it."""
    available = deployment.fact("mem_available")
    machine = available if available is not None else deployment.fact("mem_total")
    if available is not None:
        what = Msg("the machine has {} available", "机器可用的只有 {}")
    else:
        what = Msg("the machine has {}", "机器总共只有 {}")
    cgroup = deployment.fact("cgroup_memory")
    if cgroup is not None and (machine is None or cgroup < machine):
        return cgroup, Msg("the cgroup allows {}", " cgroup 只允许 {}")
    return machine, what


def _over(
    deployment: Deployment, nodes: list[NodeLaunch], limit: int, what: Msg, place: Origin | None
) -> Iterator[Hit]:
    known = [(node, size) for node in nodes if (size := offload_bytes(node, deployment))]
    total = sum(size for _, size in known)
    if not known or total <= limit:
        return
    node = known[0][0]
    connector = served(node, deployment.target)[0]
    budget = budget_of(node, connector, deployment.target)
    if budget is None or budget.per_rank_bytes is None:
        return
    engines = sum(one.local_engines or 0 for one, _ in known)
    ranks, on = budget.ranks_per_engine, seat(node)
    written = connector.option(PER_RANK) or connector.option(TOTAL) or connector.option(RATIO)
    origin = written.origin if written else connector.tree.origin
    fits = limit // (engines * ranks)
    sums = f"{engines} × {ranks} × {human_size(budget.per_rank_bytes)} = {human_size(total)}"
    yield Hit(
        origin,
        Msg(
            f"offloading needs {sums} on this node ({counted(engines, 'engine')} of {counted(ranks, 'rank')}), "
            f"but {what.en.format(human_size(limit))}",
            f"卸载在这个节点上需要 {sums}（{engines} 个引擎，每个 {ranks} 个 rank），"
            f"但{what.zh.format(human_size(limit))}",
        ),
        Msg(
            f"give each {on.en} less than {human_size(fits)}, and leave room for the engines themselves",
            f"{on.each_zh} 的预算应小于 {human_size(fits)}，还要给引擎自己留出内存",
        ),
        related=((place, Msg("the limit is set here", "上限在这里设置")),) if place else (),
    )
