"""PD310 stale-shared-memory."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.memory.host_memory import DOCKER_DEFAULT_SHM
from pd_launch.schemas.memory.shared_memory import ShmNeed, shm_need

ZH = """
/dev/shm 里有已退出引擎残留的文件

## 作用

主机信息显示 /dev/shm 里属于已退出引擎的文件达到 64 MiB，或者删掉它们空间才够用时报告。

## 为什么重要

残留文件一直占着内存和 /dev/shm，新的引擎可能因此无法启动。

## 适用版本

所有版本。

## 来源

vLLM 的 shm_broadcast.py：共享内存段由进程正常退出时删除，被强行终止的进程则会把它留下。
"""


@rule("PD310", "stale-shared-memory", "warning", zh=ZH, needs="H R")
def stale_shared_memory(deployment: Deployment) -> Iterator[Hit]:
    r"""Files of dead engines are left in /dev/shm.

    ## What it does

    Fires when the host facts say that files of dead engines take 64 MiB or more of /dev/shm, or that there would be
    enough room only without them.

    ## Why it matters

    The leftovers keep memory and /dev/shm occupied, and a new engine may not start for lack of it.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --tensor-parallel-size 8
    ```

    ```json
    // host facts
    {"stale_shm": 8589934592, "shm_total": 68719476736, "shm_free": 34359738368}
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --tensor-parallel-size 8
    ```

    ```json
    // host facts
    {"stale_shm": 0, "shm_total": 68719476736, "shm_free": 42949672960}
    ```

    ## Releases

    All.

    ## Sources

    vLLM's shm_broadcast.py: a segment is removed when its process ends normally; one that is killed leaves it behind.
    """
    stale, free = deployment.fact("stale_shm"), deployment.fact("shm_free")
    if not stale or not deployment.nodes:
        return
    needs = (shm_need(node, deployment.target) for node in deployment.nodes)
    need = max((one.total for one in needs if one is not None), default=ShmNeed().total)
    if stale < DOCKER_DEFAULT_SHM and (free is None or free >= need):
        return
    yield Hit(
        deployment.nodes[0].origin,
        Msg(
            f"{human_size(stale)} of /dev/shm belong to engines that no longer run",
            f"/dev/shm 中有 {human_size(stale)} 属于已经退出的引擎",
        ),
        Msg(
            "remove them when no engine runs: rm /dev/shm/psm_* /dev/shm/vllm_offload_*",
            "确认没有引擎在运行后删除它们：rm /dev/shm/psm_* /dev/shm/vllm_offload_*",
        ),
    )
