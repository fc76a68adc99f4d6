"""What a pod says of a container: image, resources, placement, mounts and shared memory."""

from __future__ import annotations

from typing import Any

from pd_launch.launcher.sources.engine.mounted import named_volumes
from pd_launch.launcher.sources.forms.chart_words import ADDED
from pd_launch.launcher.sources.forms.pod_templates import Above
from pd_launch.launcher.sources.forms.pod_variables import entries, is_named
from pd_launch.schemas.core.launch import Container
from pd_launch.schemas.core.values import Node

_KSERVE_SHM = "dshm"


def facts_of(pod: Node, container: Node) -> Container:
    """Return what a pod says of one of its containers."""
    origin = (container.get("name") or container).origin
    facts = Container("manifest", origin)
    facts.image = container.get("image")
    facts.host_network = _true(pod.get("hostNetwork"))
    if _true(pod.get("hostIPC")):
        facts.shm_shared = pod.get("hostIPC").origin  # type: ignore[union-attr]
    facts.privileged = _true(container.get("securityContext", "privileged"))
    runtime = pod.get("runtimeClassName")
    facts.runtime = runtime.string() if runtime else None
    for section in ("requests", "limits"):
        resources = container.get("resources", section)
        for name, amount in resources.items() if resources else ():
            if name == "memory":
                facts.memory = amount if section == "limits" else facts.memory
            else:
                facts.resources[name] = amount
    ports = container.get("ports")
    facts.published = [p for entry in (ports.elements() if ports else ()) if (p := entry.get("containerPort"))]
    _mounts(pod, container, facts)
    return facts


def add_placement(pod: Node, around: Above, facts: Container) -> None:
    """Add where the pod may run, and its annotations, as far as all of it is written."""
    said = {
        "node_selector": pod.get("nodeSelector"),
        "tolerations": pod.get("tolerations"),
        "annotations": around.annotations,
    }
    for name, node in said.items():
        if node is not None and node.value and node.complete():
            facts.placement[name] = node.plain()


def _mounts(pod: Node, container: Node, facts: Container) -> None:
    volumes = named_volumes(pod)
    mounts = container.get("volumeMounts")
    given = volumes.get(_KSERVE_SHM)
    if given is not None and any(is_named(entry, ADDED) for entry in entries(container)):
        facts.shm_size = given.get("emptyDir", "sizeLimit")  # KServe's own template mounts it
    for mount in mounts.elements() if mounts else ():
        target, name = mount.get("mountPath"), mount.get("name")
        volume = volumes.get(name.value) if name and isinstance(name.value, str) else None
        if target is None or not isinstance(target.value, str):
            continue
        source = volume.get("hostPath", "path") if volume else None
        mode = ":ro" if source is not None and _true(mount.get("readOnly")) else ""
        facts.mounts.append(Node(f"{source.value if source else ''}:{target.value}{mode}", target.origin))
        if source is None:
            facts.volumes.append({"path": target.value, **_volume(volume), **_read_only(mount)})
        if target.value.rstrip("/") == "/dev/shm":
            _shared_memory(volume, target, facts)


def _volume(volume: Node | None) -> dict[str, Any]:
    """Return what a volume is that is no folder of the host."""
    claim = volume.get("persistentVolumeClaim", "claimName") if volume else None
    secret = volume.get("secret", "secretName") if volume else None
    if claim is not None and claim.string():
        return {"pvc": claim.string()}
    if secret is not None and secret.string():
        return {"secret": secret.string()}
    empty = volume.get("emptyDir") if volume else None
    if empty is not None:
        limit = empty.get("sizeLimit")
        return {"empty": True if limit is None or limit.string() is None else limit.string()}
    kinds = [key for key, _ in volume.items() if key != "name"] if volume else []
    return {"kind": kinds[0] if kinds else "a volume that is not there"}


def _read_only(mount: Node) -> dict[str, Any]:
    return {"read_only": True} if _true(mount.get("readOnly")) else {}


def _shared_memory(volume: Node | None, target: Node, facts: Container) -> None:
    """A Memory emptyDir has the size that it names; without one, or as another volume, its size is not known here."""
    limit = volume.get("emptyDir", "sizeLimit") if volume else None
    if limit is not None:
        facts.shm_size = limit
    else:
        facts.shm_shared = target.origin


def _true(node: Node | None) -> bool:
    return node is not None and node.value is True
