"""PD801 container-devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.rules.container_facts import (
    DAVINCI,
    brings_devices,
    device_path,
    for_ascend,
    mounted,
    ranks_inside,
    targets,
)
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.machines import by_container

CONTROL = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
DRIVER = "/usr/local/Ascend/driver/lib64"

ZH = """
容器缺少 NPU 设备、管理设备或驱动

## 作用

对 `docker run` 与 compose 报告：传入的 davinci 设备少于容器内的 rank 数；缺少 `/dev/davinci_manager`、
`/dev/devmm_svm` 或 `/dev/hisi_hdc`；没有挂载驱动的 `lib64`。使用 `--privileged`、`--runtime=ascend`、
`ASCEND_VISIBLE_DEVICES` 或设备插件时不报告，它们会自行带入设备。

## 为什么重要

引擎在初始化设备时就会失败。

## 适用版本

所有版本。

## 来源

vllm-ascend 的安装文档；Ascend Docker Runtime 的默认挂载内容。
"""


@rule("PD801", "container-devices", "error", zh=ZH, needs="C R")
def container_devices(deployment: Deployment) -> Iterator[Hit]:
    r"""A container lacks NPU devices, control devices or the driver.

    ## What it does

    Fires on `docker run` and compose: fewer davinci devices than ranks inside, no `/dev/davinci_manager`,
    `/dev/devmm_svm` or `/dev/hisi_hdc`, or no mount of the driver's `lib64`. Not with `--privileged`,
    `--runtime=ascend`, `ASCEND_VISIBLE_DEVICES` or a device plugin, which provide them.

    ## Why it matters

    The engine fails as soon as it initialises its devices.

    ## Example

    ```bash
    docker run --net=host --shm-size=16g --device /dev/davinci0 --device /dev/davinci_manager \
      --device /dev/devmm_svm --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver \
      quay.io/ascend/vllm-ascend:v0.25.1rc1 vllm serve /models/m --tensor-parallel-size 2
    ```

    ## Use instead

    ```bash
    docker run --net=host --shm-size=16g --device /dev/davinci0 --device /dev/davinci1 --device /dev/davinci_manager \
      --device /dev/devmm_svm --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver \
      quay.io/ascend/vllm-ascend:v0.25.1rc1 vllm serve /models/m --tensor-parallel-size 2
    ```

    ## Releases

    All.

    ## Sources

    vllm-ascend's installation guide; the default mounts of the Ascend Docker Runtime.
    """
    for container, nodes in by_container(deployment):
        paths = [device_path(device) for device in container.devices]
        if container.partial or None in paths or "/dev" in paths or container.form not in ("docker", "compose"):
            continue
        if not for_ascend(container, deployment) or brings_devices(container, nodes):
            continue
        given = [path for path in paths if path is not None]
        yield from _devices(container, nodes, given)
        yield from _control(container, given)
        yield from _driver(container)


def _devices(container: Container, nodes: Sequence[NodeLaunch], paths: list[str]) -> Iterator[Hit]:
    needed = ranks_inside(nodes)
    given = {path for path in paths if DAVINCI.fullmatch(path)}
    if needed is None or len(given) >= needed:
        return
    last = [device for device in container.devices if DAVINCI.match(device_path(device) or "")]
    place: Node | None = last[-1] if last else None
    have, have_zh = (f"{len(given)} of them", f"只得到 {len(given)} 个") if given else ("none", "一个也没有")
    yield Hit(
        place.origin if place else container.origin,
        Msg(
            f"the engines inside need {counted(needed, 'NPU')}, but the container gets {have}",
            f"容器内的引擎需要 {needed} 个 NPU，但容器{have_zh}",
        ),
        Msg(
            f"add --device /dev/davinciN for each of the {needed} ranks, or use --runtime=ascend",
            f"为 {needed} 个 rank 各加一个 --device /dev/davinciN，或使用 --runtime=ascend",
        ),
    )


def _control(container: Container, paths: list[str]) -> Iterator[Hit]:
    missing = [path for path in CONTROL if path not in paths]
    if missing:
        names = series(missing)
        yield Hit(
            container.origin,
            Msg(f"the container lacks the control devices {names.en}", f"容器缺少管理设备 {names.zh}"),
            Msg(
                "add " + " ".join(f"--device {path}" for path in missing),
                "加上 " + " ".join(f"--device {path}" for path in missing),
            ),
        )


def _driver(container: Container) -> Iterator[Hit]:
    folders = targets(container)
    if folders is None or mounted(DRIVER, folders):
        return
    yield Hit(
        container.origin,
        Msg(f"the driver's libraries ({DRIVER}) are not mounted", f"没有挂载驱动的动态库（{DRIVER}）"),
        Msg(f"add -v {DRIVER}/:{DRIVER}/", f"加上 -v {DRIVER}/:{DRIVER}/"),
    )
