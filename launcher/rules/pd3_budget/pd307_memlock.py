"""PD307 memlock."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.offload import budget_of, served
from pd_launch.schemas.engine.pools import is_pool
from pd_launch.schemas.engine.segments import segment_bytes

ZH = """
memlock 限制低于要锁定的内存

## 作用

把每个 worker 进程要锁定或注册的主机内存（内置卸载连接器的预算、附带的连接器打开 `pin_host_memory` 时的预算、
KV 池的内存段）与主机的 RLIMIT_MEMLOCK 比较。

## 为什么重要

锁页内存超过 memlock 限制时会分配失败；NPU 驱动的分配是否也算在内，尚不清楚。

## 适用版本

所有版本。

## 来源

vllm-ascend 的 recompute_cpu_offload/worker.py（pin_memory=True）；getrlimit(2)。在 NPU 上的影响未核实。
"""


@rule("PD307", "memlock", "warning", zh=ZH, confidence="low", needs="H R")
def memlock(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The memlock limit is below the memory that will be pinned.

    ## What it does

    Compares the host memory that each worker process pins or registers (the built-in offload's budget, the bundled
    one's with `pin_host_memory`, a KV pool's segment) with the host's RLIMIT_MEMLOCK.

    ## Why it matters

    Pinning more than the memlock limit fails; whether the NPU driver's own allocations count is not known.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ```json
    // host facts
    {"memlock": 65536}
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    ulimit -l unlimited
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ```json
    // host facts
    {"memlock": 68719476736}
    ```

    ## Releases

    All.

    ## Sources

    vllm-ascend's recompute_cpu_offload/worker.py (pin_memory=True); getrlimit(2). The effect on an NPU was not checked.
    """
    limit = deployment.fact("memlock")
    if limit is None or limit < 0:
        return
    parts = list(_pinned(node, deployment))
    total = sum(size for size, _ in parts)
    if parts and total > limit:
        yield Hit(
            parts[0][1],
            Msg(
                f"each worker process pins {human_size(total)}, but RLIMIT_MEMLOCK is {human_size(limit)}",
                f"每个 worker 进程要锁定 {human_size(total)} 内存，但 RLIMIT_MEMLOCK 是 {human_size(limit)}",
            ),
            Msg(
                "raise it: ulimit -l unlimited, --ulimit memlock=-1 for docker, LimitMEMLOCK=infinity for systemd",
                "提高限制：ulimit -l unlimited；docker 用 --ulimit memlock=-1，systemd 用 LimitMEMLOCK=infinity",
            ),
        )


def _pinned(node: NodeLaunch, deployment: Deployment) -> Iterator[tuple[int, Origin]]:
    for connector in served(node, deployment.target):
        budget = budget_of(node, connector, deployment.target)
        if budget is not None and budget.per_rank_bytes is not None and _pins(connector, deployment):
            yield budget.per_rank_bytes, connector.tree.origin
    segment = segment_bytes(node)
    if segment is not None and any(is_pool(connector) for connector in connectors(node.kv_transfer)):
        yield segment[0], segment[1]


def _pins(connector: Connector, deployment: Deployment) -> bool:
    option = connector.option("pin_host_memory")
    return not connector.bundled_in(deployment.target) or (option is not None and option.value is True)
