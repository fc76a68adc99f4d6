"""PD803 container-network."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.container_facts import NPU_RESOURCE
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import SIZED_CONNECTORS, connectors
from pd_launch.schemas.engine.ports import all_ports
from pd_launch.schemas.engine.sides import named_side, side_of, spans_machines

ELSEWHERE = frozenset({"http", "kv_events", "kv_events_replay"})
"""Ports for others than the nodes of the pair: who needs them knows."""
TRANSFERS = SIZED_CONNECTORS | {
    "MooncakeConnector", "NixlConnector", "SfaRemoteD2HConnector", "MooncakePullConnector", "MooncakeD2RHConnectorV1",
    "MoRIIOConnector", "P2pNcclConnector",
}  # fmt: skip
"""Connectors that carry KV from one node to another."""
_RANGE = lazy_pattern(r"(?:.*:)?(\d+)(?:-(\d+))?(?:/tcp)?")

ZH = """
多机 P/D 分离部署的容器没有使用主机网络

## 作用

对 `docker run` 与 compose：节点属于多机的 P/D 分离部署，容器却既没有 `--net=host`，也没有发布它要监听的端口时报告。
Pod 有自己的地址，只在数据并行跨多台机器的昇腾引擎没有 `hostNetwork` 时报告。
同一个 compose 文件里的两侧共用网络，不报告。

## 为什么重要

其他节点连不到容器内的端口，KV 传输和数据并行的握手都会失败。

## 适用版本

所有版本。

## 来源

vllm-ascend 的多机 P/D 教程；Docker 的网络模式。
"""


@rule("PD803", "container-network", "warning", zh=ZH, confidence="medium", needs="C")
def container_network(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A container of a multi-node P/D layout has no host network.

    ## What it does

    Fires on `docker run` and compose: the node belongs to a P/D layout over several machines, and the container has
    neither `--net=host` nor published ports for what it listens on. A pod has its own address, so it is reported
    only where an Ascend engine's data parallelism spans machines without `hostNetwork`. Two sides in one compose file
    share a network.

    ## Why it matters

    Other nodes cannot reach ports inside the container, so KV transfer and the data-parallel handshake fail.

    ## Example

    ```bash
    docker run --runtime=ascend --shm-size=16g -v /etc/hccn.conf:/etc/hccn.conf quay.io/ascend/vllm-ascend:v0.25.1rc1 \
      vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
      "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1},
      "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Use instead

    ```bash
    docker run --runtime=ascend --shm-size=16g --net=host -v /etc/hccn.conf:/etc/hccn.conf \
      quay.io/ascend/vllm-ascend:v0.25.1rc1 \
      vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
      "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1},
      "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Releases

    All.

    ## Sources

    vllm-ascend's tutorials on multi-node P/D; Docker's network modes.
    """
    container = node.container
    if container is None or container.host_network or container.partial:
        return
    if not _is_pd(node):
        return
    if container.form == "manifest":
        npu = any(map(NPU_RESOURCE.match, container.resources))
        wrong = npu and spans_machines(node, deployment)
    elif container.form == "compose" and _both_sides(deployment):
        wrong = spans_machines(node, deployment)
    elif container.form == "docker" and container.host_network is not None:
        wrong = spans_machines(node, deployment)  # a network of its own, on which the other side may be too
    else:
        wrong = container.form in ("docker", "compose")
    if not wrong or not _hidden(node, container):
        return
    how = {"manifest": "hostNetwork: true", "compose": "network_mode: host"}.get(container.form, "--net=host")
    yield Hit(
        container.origin,
        Msg(
            (
                "this node works with other machines, but its container neither uses the host network nor publishes "
                "its ports"
            ),
            "本节点要与其他机器通信，但容器既没有使用主机网络，也没有发布端口",
        ),
        Msg(f"add {how}", f"加上 {how}"),
    )


def _is_pd(node: NodeLaunch) -> bool:
    carries = any(c.name in TRANSFERS for c in connectors(node.kv_transfer))
    return carries and node.role in ("kv_producer", "kv_consumer")


def _both_sides(deployment: Deployment) -> bool:
    """Whether both sides are there, by their roles or, where those are wrong, by their names."""
    both = {"prefill", "decode"}
    return any({side(node) for node in deployment.nodes} >= both for side in (side_of, named_side))


def _hidden(node: NodeLaunch, container: Container) -> bool:
    """Whether a port that the node listens on for other machines is known not to be published."""
    if container.form == "manifest" or not container.published:
        return True
    published: set[int] = set()
    for entry in container.published:
        match = _RANGE.fullmatch(str(entry.value))
        if match is None:
            return False
        first = int(match[1][:6])
        published |= set(range(first, min(int((match[2] or match[1])[:6]), first + 4096) + 1))
    bound = [ports for ports in all_ports(node) if ports.binds and ports.use not in ELSEWHERE]
    return any(not set(ports.ports) <= published for ports in bound)
