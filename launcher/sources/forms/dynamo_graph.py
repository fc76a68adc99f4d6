"""Services of NVIDIA Dynamo's graphs: what is next to ``extraPodSpec`` counts for its main container too."""

from __future__ import annotations

from dataclasses import replace

from pd_launch.schemas.core.values import Node

SPEC, MAIN = "extraPodSpec", "mainContainer"
_GPU = "nvidia.com/gpu"


def completed(service: Node) -> Node:
    """Return the pod of a service, its main container with the variables and the devices that the service names."""
    pod = service.get(SPEC)
    main = pod.get(MAIN) if pod is not None else None
    if pod is None or main is None or not isinstance(main.value, dict):
        return service
    entries = dict(main.value)
    shared, own = service.get("envs"), main.get("env")
    if shared is not None:
        listed = [*shared.elements(), *(own.elements() if own is not None else ())]
        entries["env"] = replace(own or shared, value=listed)
    for section in ("requests", "limits"):
        count = service.get("resources", section, "gpu")
        if count is not None and main.get("resources", section, _GPU) is None:
            entries["resources"] = _with(entries.get("resources"), section, count)
    return replace(pod, value={**pod.value, MAIN: replace(main, value=entries)})


def _with(resources: Node | None, section: str, count: Node) -> Node:
    """Return resources with a number of GPUs in a section."""
    whole = resources if resources is not None and isinstance(resources.value, dict) else Node({}, count.origin)
    part = whole.get(section) or Node({}, count.origin)
    return replace(whole, value={**whole.value, section: replace(part, value={**part.value, _GPU: count})})
