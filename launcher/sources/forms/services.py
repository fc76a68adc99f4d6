"""Kubernetes Services: at which ports they send requests to the containers of pods that are read."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.sources.engine.found import Pod
from pd_launch.launcher.sources.forms.pod_parts import named_ports, spoken_of
from pd_launch.schemas.core.values import HOLE, Node


def send_requests(services: Sequence[Node], pods: Sequence[Pod]) -> None:
    """Give containers the ports at which Services send them requests, where nothing else of the pod may answer.

    A Service of which a port is not known is left out, and so is one without an address of its own: it gives names.
    """
    for service in services:
        selector, spec = _texts(service.get("spec", "selector")), service.get("spec")
        address = spec.get("clusterIP") if spec is not None else None
        if not selector or spec is None or (address is not None and address.value == "None"):
            continue
        for one in pods:
            if selector.items() <= _texts(one.labels).items():
                asked = _targets(spec, one.own)
                if asked and not any(spoken_of(port.integer() or 0, [one.pod], one.own) for port in asked):
                    one.container.asked.append(asked)


def _targets(spec: Node, container: Node) -> list[Node]:
    """Return the ports of the container at which a Service asks; none where one of them is not known."""
    named, found = named_ports(container), []
    listed = spec.get("ports")
    for entry in listed.elements() if listed is not None else ():
        port = entry.get("targetPort") or entry.get("port")
        if port is not None and isinstance(port.value, str) and not port.value.isdecimal():
            meant = named.get(port.value)
            port = meant if meant is None else Node(meant.value, port.origin, text=port.text)
        if port is None or port.integer() is None:
            return []
        found.append(port)
    return found


def _texts(node: Node | None) -> dict[str, str]:
    """Return a mapping of texts; an empty one where a part of it is not known."""
    pairs = {key: value.value for key, value in (node.items() if node is not None else ())}
    known = all(isinstance(value, str) and HOLE not in value and "{" not in value for value in pairs.values())
    return {key: str(value) for key, value in pairs.items()} if known else {}
