"""What a profile says of containers and pods, taken from those that engines run in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pd_launch.launcher.formats.docker import CONTROL_DEVICES, DRIVER_MOUNTS, RUNTIME
from pd_launch.schemas.core.hardware import Hardware
from pd_launch.schemas.core.launch import Container, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Unknown, as_integer
from pd_launch.schemas.profile import CONTAINER_NAME

SHARED_MEMORY = "/dev/shm"
_SAID = ("image", "shm_size", "memory")
_POD = ("resources", "node_selector", "tolerations", "annotations")
_DAVINCI = lazy_pattern(r"/dev/davinci(\d{1,4})")


def container_section(engines: Sequence[NodeLaunch], hardware: Hardware) -> tuple[dict[str, Any], list[Msg]]:
    """Return the profile's ``container`` for engines, and what it cannot say of them.

    What a form gives by itself (the driver's mounts and devices, the model's folder) is left out.
    """
    containers = list({id(n.container): n.container for n in engines if n.container is not None}.values())
    if not containers:
        return {}, []
    first = containers[0]
    out: dict[str, Any] = {}
    for key in _SAID:
        node = getattr(first, key)
        if node is not None and not isinstance(node.value, Unknown):
            out[key] = node.value
    if first.runtime:
        out["runtime"] = first.runtime
    volumes = [v for v in first.volumes if "kind" not in v and v["path"].rstrip("/") != SHARED_MEMORY]
    for mount in first.mounts:
        if isinstance(mount.value, str) and mount.value.startswith("/") and ":" not in mount.value:
            volumes.append({"path": mount.value, "empty": True})
    mounts = list(_mounts(first, engines))
    devices = list(_devices(first))
    out |= {key: value for key, value in (("volumes", volumes), ("mounts", mounts), ("devices", devices)) if value}
    if first.name and re.fullmatch(CONTAINER_NAME, first.name) and all(c.name == first.name for c in containers):
        out["name"] = first.name
    pods = [_pod(container, hardware) for container in containers]
    out |= {key: pods[0][key] for key in _POD if pods[0][key]}
    return out, [_differs(key) for key in _POD if any(pod[key] != pods[0][key] for pod in pods)]


def replicas_of(engines: Sequence[NodeLaunch]) -> int:
    """Return how many instances of a side there are, each made of the same pods."""
    counts = {n.container.replicas for n in engines if n.container is not None}
    count = counts.pop() if len(counts) == 1 else None
    return count if isinstance(count, int) and count > 1 and not _by_ordinal(engines) else 1


def _by_ordinal(engines: Sequence[NodeLaunch]) -> bool:
    """Whether pods of one template are ranks of one side, which learn their number where they run."""
    for name in ("data-parallel-rank", "data-parallel-start-rank", "node-rank"):
        for engine in engines:
            value = engine.value(name)
            if value is not None and isinstance(value.value, Unknown):
                return True
    return False


def device_numbers(engine: NodeLaunch, variable: str | None) -> str | None:
    """Return the devices that an engine sees, by their numbers on the machine, as its variable has them; None: unsaid.

    A container counts those that it is given from 0.
    """
    seen = engine.variable(variable) if variable else None
    listed = engine.container.devices if engine.container is not None else []
    numbers = [int(match[1]) for device in listed if (match := _DAVINCI.fullmatch(str(device.value)))]
    if not numbers or numbers == list(range(len(numbers))):
        return seen
    inside = range(len(numbers)) if seen is None else [as_integer(part) for part in seen.split(",")]
    if any(index is None or not 0 <= index < len(numbers) for index in inside):
        return seen
    return ",".join(str(numbers[index]) for index in inside if index is not None)


def _mounts(container: Container, engines: Sequence[NodeLaunch]) -> Iterator[str]:
    ascend = any("/davinci" in str(d.value) for d in container.devices) or _for_npus(container)
    own = {f"{path}:{path}" for path in DRIVER_MOUNTS} if ascend and container.runtime != RUNTIME else set()
    own |= {f"{n.model.value}:{n.model.value}" for n in engines if n.model is not None}
    for mount in container.mounts:
        if isinstance(mount.value, str) and mount.value.find(":") > 0 and mount.value.removesuffix(":ro") not in own:
            yield mount.value


def _for_npus(container: Container) -> bool:
    return any(name.startswith("huawei.com/") for name in container.resources)


def _devices(container: Container) -> Iterator[str]:
    for device in container.devices:
        path = device.string()
        if path is not None and path.startswith("/") and path not in CONTROL_DEVICES and not _DAVINCI.match(path):
            yield path


def _pod(container: Container, hardware: Hardware) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    usual = hardware.resources[:1]
    for name, amount in container.resources.items() if container.form == "manifest" else ():
        if name not in usual and not isinstance(amount.value, Unknown):
            resources[name] = amount.plain()
    return {"resources": resources, **{key: container.placement.get(key) for key in _POD[1:]}}


def _differs(key: str) -> Msg:
    return Msg(
        f"container.{key} is shared by both sides, but here they differ: the first pod's is used; write the "
        "others' into patch",
        f"container.{key} 由两侧共用，而这里两侧不同：采用第一个 pod 的值；其余的请写进 patch",
    )
