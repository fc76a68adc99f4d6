"""PD311 pool-segment."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import TIB, human_size
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.machines import size_of
from pd_launch.schemas.engine.pools import is_pool
from pd_launch.schemas.engine.segments import segment_bytes

ZH = """
KV 池的内存段按 rank 计算，超过了主机内存

## 作用

把 `MOONCAKE_GLOBAL_SEGMENT_SIZE` 乘以本节点的 rank 数，与机器内存、cgroup 或容器上限比较：超过时报告为错误；
不知道主机内存时，合计超过 1 TiB 就报告为警告。

## 为什么重要

这是每个 rank 的大小，不是整个节点的：引擎启动时每个 rank 都会注册这么多，合计超过内存就会失败。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend 的 ascend_store/backend/mooncake_backend.py（0.26.0rc1 第 125–146、297–303 行）与
KV 池指南（每张卡注册的大小）。
"""


@rule("PD311", "pool-segment", "error", zh=ZH, needs="C H")
def pool_segment(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The KV pool's segment is allocated for each rank and exceeds the host's memory.

    ## What it does

    Multiplies `MOONCAKE_GLOBAL_SEGMENT_SIZE` by the ranks on the node and compares it with the memory of the machine,
    the cgroup and the container: above it is an error. Where the host is not known, more than 1 TiB in all is a
    warning.

    ## Why it matters

    The size applies to each rank, not to the node: at start every rank registers that much, and registration fails when
    the sum is more than is available.

    ## Example

    ```bash
    # target: 0.23.0
    export MOONCAKE_GLOBAL_SEGMENT_SIZE=200GB
    vllm serve /models/m --tensor-parallel-size 8 --kv-transfer-config '{"kv_connector": "AscendStoreConnector",
      "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0"}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    export MOONCAKE_GLOBAL_SEGMENT_SIZE=25GB
    vllm serve /models/m --tensor-parallel-size 8 --kv-transfer-config '{"kv_connector": "AscendStoreConnector",
      "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0"}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    vllm_ascend's ascend_store/backend/mooncake_backend.py (lines 125-146 and 297-303 at 0.26.0rc1), and the KV pool
    guide (memory registered by each card).
    """
    segment, world, engines = segment_bytes(node), node.local_world, node.local_engines
    if segment is None or not world or not engines:
        return
    if not any(
        is_pool(connector) and _mooncake(connector.option("backend")) for connector in connectors(node.kv_transfer)
    ):
        return
    size, place = segment
    ranks = world * engines
    total = size * ranks
    limit = _limit(node, deployment)
    sums = f"{ranks} × {human_size(size)} = {human_size(total)}"
    if limit is not None and total > limit:
        yield Hit(
            place,
            Msg(
                f"the segment size is per rank: {sums} on this node, which has {human_size(limit)}",
                f"内存段的大小是每个 rank 的：本节点共 {sums}，但只有 {human_size(limit)}",
            ),
            _help(limit // ranks),
        )
    elif limit is None and total > TIB:
        yield Hit(
            place,
            Msg(
                f"the segment size is per rank, not per node: {sums}; few machines have that much",
                f"内存段的大小是每个 rank 的，不是每个节点的：{sums}；很少有机器有这么多内存",
            ),
            _help(size // ranks),
            severity="warning",
        )


def _mooncake(backend: object) -> bool:
    return backend is None or getattr(backend, "value", None) == "mooncake"


def _help(each: int) -> Msg:
    gib = max(1, each // 2**30)
    return Msg(
        f"write what one rank may use, at most about {gib}GB here, and leave room for the engines",
        f"写每个 rank 可以用的大小，这里最多约 {gib}GB，还要给引擎留出内存",
    )


def _limit(node: NodeLaunch, deployment: Deployment) -> int | None:
    container = size_of(node.container.memory) if node.container else None
    known = [deployment.fact("mem_total"), deployment.fact("cgroup_memory"), container]
    return min((size for size in known if size is not None), default=None)
