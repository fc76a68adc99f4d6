"""Which devices a launch is given, and how many its machine has."""

from __future__ import annotations

from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node, as_integer

ASCEND_VARIABLE = "ASCEND_RT_VISIBLE_DEVICES"
CUDA_VARIABLE = "CUDA_VISIBLE_DEVICES"
A2_DEVICES = 8
A3_DEVICES = 16
DIRECT_FIRST = 20000
DIRECT_PER_DEVICE = 1000
BASE_PORT = "ASCEND_BASE_PORT"
"""Of Mooncake's transport on Ascend: where AscendDirect begins to pick its ports."""
_A3_TAG = lazy_pattern(r"-a3(?![a-z0-9])")
_DAVINCI = lazy_pattern(r"/dev/davinci(\d{1,4})(?!\d)")
_SPREAD = ("ray", "external_launcher")


def visible_node(node: NodeLaunch, deployment: Deployment) -> Node | None:
    """Return what says which devices the engine sees: its variable, or else its container; None where nothing does.

    Inside a container that gets devices by number, they are counted from 0: the variable is then not the host's.
    """
    if node.container is not None and node.container.numbered is not None:
        return node.container.numbered
    variable = ASCEND_VARIABLE if deployment.target.is_ascend else CUDA_VARIABLE
    found = node.env.get(variable)
    return found.value if found else None


def visible(node: NodeLaunch, deployment: Deployment) -> list[int] | None:
    """Return the devices that the engine sees, as they are listed; None where that is not set or not known."""
    written = visible_node(node, deployment)
    text = written.string() if written else None
    if text is None:
        return None
    parts = [part.strip() for part in text.strip().strip(",").split(",")]
    return [int(part) for part in parts] if all(part.isdecimal() and len(part) < 6 for part in parts) else None


def spread(node: NodeLaunch) -> bool:
    """Whether one engine may reach over several machines, so that its ranks are not all here."""
    if node.container is not None and node.container.spread:
        return True
    backend = node.value("distributed-executor-backend")
    if backend is not None and (backend.string() is None or backend.string() in _SPREAD):
        return True
    return node.machines is None


def ranks_here(node: NodeLaunch) -> int | None:
    """Return the devices that ``node`` takes on its machine: one for each rank of its engines; None if unknown."""
    world, engines = node.local_world, node.local_engines
    return None if world is None or engines is None or spread(node) else world * engines


def device_count(node: NodeLaunch, deployment: Deployment) -> int | None:
    """Return how many devices the machine has, or None where that is unknown."""
    if node.hardware is not None:
        return node.hardware.devices
    npus = deployment.fact("npus")
    return npus if isinstance(npus, int) and deployment.target.is_ascend else None


def at_least(node: NodeLaunch, deployment: Deployment) -> int:
    """Return the least number of devices that the machine surely has; 0 where nothing says so."""
    here = [m for m in deployment.nodes if m is node or (m.host is not None and m.host == node.host)]
    listed = [max(devices) + 1 for m in here if (devices := visible(m, deployment))]
    return max([ranks_here(node) or 0, _of_container(node.container), *listed])


def _of_container(container: Container | None) -> int:
    """Return the devices that a container surely gets, or that its image is made for."""
    if container is None:
        return 0
    image = container.image.string() if container.image else None
    found = [A3_DEVICES if image and _A3_TAG.search(image.lower()) else 0]
    names = [device.string() or "" for device in container.devices]
    found += [int(match[1]) + 1 for name in names if (match := _DAVINCI.match(name))]
    found += [n for name, node in container.resources.items() if "huawei.com" in name and (n := node.integer())]
    return max(found)


def direct_ports(node: NodeLaunch, deployment: Deployment) -> tuple[range, int | None]:
    """Return the ports from which AscendDirect picks its own at random, and the device count they follow from.

    With the count unknown it is the range of 8 devices, or of 16 where more than 8 are surely there.
    ``ASCEND_BASE_PORT`` moves it; where that is unknown, so is the range, and it is empty.
    """
    written = node.env.get(BASE_PORT)
    first = DIRECT_FIRST if written is None else as_integer(written.value.value)
    count = device_count(node, deployment)
    if count is None and at_least(node, deployment) > A2_DEVICES:
        count = A3_DEVICES
    if first is None:
        return range(0), count
    return range(first, first + DIRECT_PER_DEVICE * (count or A2_DEVICES)), count
