"""PD414 device-busy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.devices import visible

ZH = """
设备正被另一个进程占用

## 作用

列出正在占用本次启动所需设备（/dev/davinciN、/dev/nvidiaN）的进程，例如上一次没有完全退出的引擎。需要主机信息。

## 为什么重要

残留的进程占着设备内存，新的引擎会在分配 KV 缓存时内存不足，或者只得到很少的块。

## 适用版本

所有版本。

## 来源

Linux 的 /proc/PID/fd：哪些进程打开了设备文件。
"""


@rule("PD414", "device-busy", "warning", zh=ZH, needs="H R", confidence="medium")
def device_busy(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Another process holds a device.

    ## What it does

    Names the processes that have a device of this launch open (/dev/davinciN, /dev/nvidiaN), such as an engine that did
    not exit. It needs host facts.

    ## Why it matters

    A leftover engine process keeps its device memory, and the new engine runs out of memory when it allocates its KV
    cache, or gets few blocks.

    ## Example

    ```json
    // host facts
    {"devices": [0, 1], "device_holders": [{"pid": 4711, "name": "VLLM::Worker_TP0", "devices": ["davinci0"]}]}
    ```

    ```bash
    # target: 0.25.1rc1
    export ASCEND_RT_VISIBLE_DEVICES=0
    vllm serve /models/m
    ```

    ## Use instead

    ```json
    // host facts
    {"devices": [0, 1], "device_holders": [{"pid": 4711, "name": "VLLM::Worker_TP0", "devices": ["davinci0"]}]}
    ```

    ```bash
    # target: 0.25.1rc1
    export ASCEND_RT_VISIBLE_DEVICES=1
    vllm serve /models/m
    ```

    ## Releases

    All.

    ## Sources

    Linux's /proc/PID/fd: which processes have a device open.
    """
    holders = deployment.fact("device_holders")
    if not isinstance(holders, list):
        return
    kind = "davinci" if deployment.ascend else "nvidia"
    listed = visible(node, deployment)
    wanted = None if listed is None else {f"{kind}{number}" for number in listed}
    for holder in holders:
        held = _held(holder, kind, wanted)
        if held:
            pid, name = holder.get("pid"), holder.get("name", "")
            yield Hit(
                node.origin,
                Msg(
                    f"/dev/{held[0]} is held by process {pid} ({name})",
                    f"/dev/{held[0]} 正被进程 {pid}（{name}）占用",
                ),
                Msg(
                    f"stop it if it is a leftover (kill {pid}), or use other devices",
                    f"如果是残留进程就结束它（kill {pid}），或使用别的设备",
                ),
            )


def _held(holder: object, kind: str, wanted: set[str] | None) -> list[str]:
    devices = holder.get("devices") if isinstance(holder, dict) else None
    named = [d for d in devices if isinstance(d, str)] if isinstance(devices, list) else []
    return [d for d in named if re.fullmatch(rf"{kind}\d+", d) and (wanted is None or d in wanted)]
