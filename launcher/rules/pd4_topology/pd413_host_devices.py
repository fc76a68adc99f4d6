"""PD413 host-devices."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.devices import ranks_here, visible, visible_node

CONTROL = ("davinci_manager", "devmm_svm", "hisi_hdc")

ZH = """
本机没有这里需要的昇腾设备

## 作用

把一次启动需要的设备（每个 rank 一个，或 ASCEND_RT_VISIBLE_DEVICES 列出的）与本机的 /dev/davinci* 比较（主机信息文件
只有 NPU 数时，与该数比较），并检查 davinci_manager、devmm_svm 和 hisi_hdc 是否存在。只针对昇腾输入，需要主机信息。

## 为什么重要

容器里少了设备，引擎要到初始化时才失败，而且报的只是驱动的错误码。

## 适用版本

所有版本。

## 来源

vllm-ascend 的安装文档：容器需要的设备（/dev/davinci*、davinci_manager、devmm_svm、hisi_hdc）。
"""


@rule("PD413", "host-devices", "warning", zh=ZH, needs="H R")
def host_devices(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """This host does not have the Ascend devices that are needed here.

    ## What it does

    Compares what a launch needs (a device for each rank, or those that ASCEND_RT_VISIBLE_DEVICES lists) with the host's
    /dev/davinci* (or with its number of NPUs, where a file of facts has only that), and looks for davinci_manager,
    devmm_svm and hisi_hdc. For Ascend inputs only; it needs host facts.

    ## Why it matters

    When a container lacks a device, the engine fails at initialisation, with an error code of the driver.

    ## Example

    ```json
    // host facts
    {"devices": [0, 1, 2, 3], "control_devices": ["davinci_manager", "devmm_svm", "hisi_hdc"]}
    ```

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --tensor-parallel-size 8
    ```

    ## Use instead

    ```json
    // host facts
    {"devices": [0, 1, 2, 3], "control_devices": ["davinci_manager", "devmm_svm", "hisi_hdc"]}
    ```

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --tensor-parallel-size 4
    ```

    ## Releases

    All.

    ## Sources

    vllm-ascend's installation guide: the devices of a container (/dev/davinci*, davinci_manager, devmm_svm, hisi_hdc).
    """
    present = deployment.fact("devices")
    if not _for_ascend(node, deployment):
        return
    if not isinstance(present, list):
        yield from _counted(node, deployment)
        return
    if not present:
        yield Hit(
            node.origin,
            Msg("this host has no /dev/davinci*", "本机没有 /dev/davinci*"),
            Msg(
                "run this where the NPUs are, or give the container its devices (--device /dev/davinci0 …)",
                "在有 NPU 的机器上运行，或把设备传给容器（--device /dev/davinci0 …）",
            ),
        )
        return
    yield from _devices(node, deployment, present)
    yield from _control(node, deployment)


def _counted(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare with the host's number of NPUs, where that is all that is known and the input names another."""
    npus, need, said = deployment.fact("npus"), ranks_here(node), node.hardware.devices if node.hardware else None
    if not isinstance(npus, int) or need is None or visible(node, deployment) is not None:
        return
    if npus < need <= (said or 0):  # PD401 compares with what the input says
        yield _too_few(node, need, npus)


def _for_ascend(node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether the input says that it is for Ascend; that nothing says otherwise is not enough here."""
    if not (deployment.ascend and deployment.target.is_ascend):
        return False
    said = node.hardware is not None or any(name.startswith(("ASCEND_", "HCCL_")) for name in node.env)
    return said or deployment.target.decided_by != "unknown"


def _devices(node: NodeLaunch, deployment: Deployment, present: list[int]) -> Iterator[Hit]:
    listed, place, need = visible(node, deployment), visible_node(node, deployment), ranks_here(node)
    absent = [device for device in listed or () if device not in present]
    if absent and place is not None:
        yield Hit(
            place.origin,
            Msg(
                f"device {absent[0]} is listed, but this host does not have it", f"列表里有设备 {absent[0]}，但本机没有"
            ),
            Msg(f"list only devices from {_shown(present).en}", f"只写 {_shown(present).zh} 中的设备"),
        )
    elif listed is None and need is not None and need > len(present):
        yield _too_few(node, need, len(present))


def _too_few(node: NodeLaunch, need: int, have: int) -> Hit:
    return Hit(
        at(node, "tensor-parallel-size", "data-parallel-size-local", "data-parallel-size"),
        Msg(f"{need} devices are needed, but this host has {have}", f"需要 {need} 个设备，本机只有 {have} 个"),
        Msg("start fewer ranks here, or give the container its devices", "减少这里的 rank 数，或把设备传给容器"),
    )


def _control(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    control = deployment.fact("control_devices")
    missing = [name for name in CONTROL if name not in control] if isinstance(control, list) else []
    if missing:
        options = " ".join(f"--device /dev/{name}" for name in missing)
        yield Hit(
            node.origin,
            Msg(f"this host has no /dev/{missing[0]}", f"本机没有 /dev/{missing[0]}"),
            Msg(f"give the container {options}", f"给容器加上 {options}"),
        )


def _shown(present: list[int]) -> Msg:
    if present == list(range(present[0], present[-1] + 1)):
        return series([f"{present[0]}-{present[-1]}"])
    return series(map(str, present))
