"""PD804 container-config-file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.rules.container_facts import for_ascend, mounted, targets
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import SIZED_CONNECTORS, connectors
from pd_launch.schemas.engine.machines import by_container

HCCN = "/etc/hccn.conf"
TRANSPORTS = SIZED_CONNECTORS | {"AscendStoreConnector", "MooncakeConnectorStoreV1", "SfaRemoteD2HConnector"}
FILE_VARIABLES = ("MOONCAKE_CONFIG_PATH", "MMC_LOCAL_CONFIG_PATH", "LMCACHE_CONFIG_FILE", "UCM_CONFIG_FILE")

ZH = """
容器里没有需要的配置文件

## 作用

使用 Mooncake 系列连接器的昇腾容器没有挂载 `/etc/hccn.conf`，或者后端的配置文件（`MOONCAKE_CONFIG_PATH`、
`MMC_LOCAL_CONFIG_PATH`、`LMCACHE_CONFIG_FILE`、`UCM_CONFIG_FILE`）不在任何挂载之内时报告。由同一脚本在容器内写出的文件不报告；
使用 Ascend 容器运行时的容器不检查 `/etc/hccn.conf`。

## 为什么重要

没有 `hccn.conf`，传输层就找不到设备的网络地址：服务看似启动成功，KV 却是错的，或者传不过去。

## 适用版本

所有版本。

## 来源

Mooncake PR 502；vllm-ascend issue 7711 与安装文档。
"""


@rule("PD804", "container-config-file", "warning", zh=ZH, confidence="medium", needs="C R")
def container_config_file(deployment: Deployment) -> Iterator[Hit]:
    r"""A configuration file that is needed is not in the container.

    ## What it does

    Fires on an Ascend container with a connector of the Mooncake family that does not mount `/etc/hccn.conf`, and on a
    backend's configuration file (`MOONCAKE_CONFIG_PATH`, `MMC_LOCAL_CONFIG_PATH`, `LMCACHE_CONFIG_FILE`,
    `UCM_CONFIG_FILE`) that is not mounted. A file that the same script writes is left alone, and a container with the
    Ascend container runtime does not need `/etc/hccn.conf`.

    ## Why it matters

    Without `hccn.conf` the transport finds no device addresses: the service seems to start, but KV arrives wrong or not
    at all.

    ## Example

    ```bash
    docker run --privileged --net=host --shm-size=16g quay.io/ascend/vllm-ascend:v0.25.1rc1 \
      vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
      "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1},
      "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Use instead

    ```bash
    docker run --privileged --net=host --shm-size=16g -v /etc/hccn.conf:/etc/hccn.conf \
      quay.io/ascend/vllm-ascend:v0.25.1rc1 \
      vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
      "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1},
      "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Releases

    All.

    ## Sources

    Mooncake pull request 502; vllm-ascend issue 7711 and its installation guide.
    """
    for container, nodes in by_container(deployment):
        folders = targets(container)
        if folders is None or container.partial or container.form == "profile":
            continue
        yield from _hccn(container, nodes, folders, deployment)
        yield from _backends(container, nodes, folders, deployment)


def _hccn(
    container: Container, nodes: Sequence[NodeLaunch], folders: list[str], deployment: Deployment
) -> Iterator[Hit]:
    transports = [c.name for node in nodes for c in connectors(node.kv_transfer) if c.name in TRANSPORTS]
    runtime = container.runtime or any("ASCEND_VISIBLE_DEVICES" in node.env for node in nodes)
    if not transports or runtime or mounted(HCCN, folders) or not for_ascend(container, deployment):
        return
    mount = "a hostPath volume with it" if container.form == "manifest" else f"-v {HCCN}:{HCCN}"
    mount_zh = "把它作为 hostPath 卷挂载" if container.form == "manifest" else f"-v {HCCN}:{HCCN}"
    yield Hit(
        container.origin,
        Msg(
            f"{HCCN} is not mounted, so {transports[0]} finds no device addresses",
            f"没有挂载 {HCCN}，{transports[0]} 找不到设备的网络地址",
        ),
        Msg(f"add {mount}", f"加上 {mount_zh}"),
    )


def _backends(
    container: Container, nodes: Sequence[NodeLaunch], folders: list[str], deployment: Deployment
) -> Iterator[Hit]:
    for name, value in _files(nodes):
        path = value.string()
        if path is None or not path.startswith("/") or "$" in path or mounted(path, folders):
            continue
        if _written(path, value, deployment):
            continue
        yield Hit(
            value.origin,
            Msg(
                f"{name} points to {path}, which is not mounted in the container",
                f"{name} 指向 {path}，但容器里没有挂载这个路径",
            ),
            Msg(f"mount it: -v {path}:{path}", f"把它挂载进去：-v {path}:{path}"),
        )


def _files(nodes: Sequence[NodeLaunch]) -> Iterator[tuple[str, Node]]:
    for node in nodes:
        for name in FILE_VARIABLES:
            if name in node.env:
                yield name, node.env[name].value
        for connector in connectors(node.kv_transfer):
            written = connector.option("UCM_CONFIG_FILE")
            if written is not None:
                yield "UCM_CONFIG_FILE", written


def _written(path: str, value: Node, deployment: Deployment) -> bool:
    """Whether the same input writes or copies the file itself."""
    source = deployment.sources.get(value.origin.file)
    return source is not None and source.text.count(path) > 1
