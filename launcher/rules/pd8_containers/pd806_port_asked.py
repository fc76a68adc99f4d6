"""PD806 port-asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node, Origin
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.machines import by_container
from pd_launch.schemas.engine.ports import all_ports, http_port

_PUBLISHED = lazy_pattern(r"(?:[\w.$ {}:\[\]-]{0,80}:)?(\d{1,5})(?:/tcp)?")
"""A port of a container as docker and compose publish it: ``[[ADDRESS:]HOST:]PORT``."""

ZH = """
探针或发布的端口上没有引擎监听

## 作用

Pod 的探针（startup、liveness、readiness）访问的端口，容器里没有引擎监听，Pod 里其他地方也没有提到时报告。
对 `docker run` 与 compose，报告所发布的容器端口：没有引擎监听它，而引擎的 HTTP 端口又没有发布（警告）。
选中 Pod 的 Service，如果请求都发到 Pod 里没有监听的端口（`targetPort`），也会报告（警告）。

## 为什么重要

探针得不到响应，kubelet 就会反复重启引擎，或者一直不把流量转给它。发布错了端口，主机上的请求就到不了引擎。

## 适用版本

所有版本。

## 来源

Kubernetes 与 Docker 的文档；引擎的端口见 PD405。
"""


@rule("PD806", "port-asked", "error", zh=ZH, needs="C")
def port_asked(deployment: Deployment) -> Iterator[Hit]:
    r"""A probe, published port or Service uses a port on which no engine listens.

    ## What it does

    Fires on the port of a pod's probes (startup, liveness, readiness) where every engine in the container listens on
    others, and nothing else in the pod mentions that port. With `docker run` and compose, on a published port of the
    container that no engine listens on, while the engine's HTTP port is not published: a warning. So is a Service that
    selects a pod and sends requests only to ports (`targetPort`) at which nothing in it listens.

    ## Why it matters

    Nothing answers the probe: the kubelet restarts the engine again and again, or never sends it a request. With a
    wrongly published port, no request from the host reaches the engine.

    ## Example

    ```yaml
    apiVersion: v1
    kind: Pod
    metadata: {name: decode}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.32.0
          command: [vllm, serve, /models/m, --port, "8200"]
          livenessProbe: {httpGet: {path: /health, port: 8000}}
    ```

    ## Use instead

    ```yaml
    apiVersion: v1
    kind: Pod
    metadata: {name: decode}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.32.0
          command: [vllm, serve, /models/m, --port, "8200"]
          livenessProbe: {httpGet: {path: /health, port: 8200}}
    ```

    ## Releases

    All.

    ## Sources

    The documentation of Kubernetes and of Docker; the engine's ports are those of PD405.
    """
    for container, nodes in by_container(deployment):
        served = _served(nodes)
        if served is None:
            continue
        if container.form == "manifest" and not container.partial:
            yield from _probes(container, nodes, served)
            yield from _sent(container, nodes, served)
        elif container.form in ("docker", "compose") and not container.host_network and not container.partial:
            yield from _published(container, nodes, served)


def _served(nodes: Sequence[NodeLaunch]) -> set[int] | None:
    """Return the ports of all engines of a container; None where one of them is not known."""
    ports: set[int] = set()
    for node in nodes:
        http = http_port(node)
        if http is None or node.partial or node.program not in ("serve", "api_server"):
            return None
        for one in all_ports(node):
            ports |= set(one.ports)
    return ports


def _probes(container: Container, nodes: Sequence[NodeLaunch], served: set[int]) -> Iterator[Hit]:
    for port in container.probed:
        number = port.integer()
        if number is not None and number not in served:
            yield Hit(
                port.origin,
                Msg(
                    f"the probe uses port {number}, but the engine listens on {_https(nodes).en}",
                    f"探针访问端口 {number}，但引擎监听的是 {_https(nodes).zh}",
                ),
                Msg("write the engine's --port", "写引擎的 --port"),
                None if any(node.arg("port") is not None for node in nodes) else "warning",
                related=_related(nodes),
            )
            return


def _sent(container: Container, nodes: Sequence[NodeLaunch], served: set[int]) -> Iterator[Hit]:
    """Yield the port to which a Service sends requests, where no port that it sends to is one of the engines'."""
    for ports in container.asked:
        if {port.integer() for port in ports} & served:
            continue
        yield Hit(
            ports[0].origin,
            Msg(
                f"the Service sends requests to port {ports[0].integer()}, but the engine listens on "
                f"{_https(nodes).en}",
                f"Service 把请求发到端口 {ports[0].integer()}，但引擎监听的是 {_https(nodes).zh}",
            ),
            Msg("write the engine's --port as targetPort", "targetPort 写引擎的 --port"),
            "warning",
            related=_related(nodes),
        )
        return


def _published(container: Container, nodes: Sequence[NodeLaunch], served: set[int]) -> Iterator[Hit]:
    inside: list[tuple[int, Node]] = []
    for entry in container.published:
        match = _PUBLISHED.fullmatch(str(entry.value))
        if match is None:
            return
        inside.append((int(match[1]), entry))
    if {number for number, _ in inside} & {port for node in nodes for port in _http(node)}:
        return
    for number, entry in inside:
        if number not in served:
            yield Hit(
                entry.origin,
                Msg(
                    f"port {number} of the container is published, but the engine listens on {_https(nodes).en}",
                    f"发布的是容器的端口 {number}，但引擎监听的是 {_https(nodes).zh}",
                ),
                Msg("publish the engine's --port", "发布引擎的 --port"),
                "warning",
                related=_related(nodes),
            )
            return


def _http(node: NodeLaunch) -> range:
    found = http_port(node)
    return found.ports if found is not None else range(0)


def _https(nodes: Sequence[NodeLaunch]) -> Msg:
    return series(str(port) for port in sorted({_http(node).start for node in nodes}))


def _related(nodes: Sequence[NodeLaunch]) -> tuple[tuple[Origin, Msg], ...]:
    found = http_port(nodes[0])
    place = found.origin if found is not None and found.written else nodes[0].origin
    return ((place, Msg("the engine's port", "引擎的端口")),)
