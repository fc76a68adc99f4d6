"""What the rules on containers share: the ranks inside one, its mounts, and whether it is for Ascend devices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.sides import exclusive, in_turn

DAVINCI = lazy_pattern(r"/dev/davinci(\d+)")
NPU_RESOURCE = lazy_pattern(r"huawei\.com/(?:ascend|npu)", re.IGNORECASE)
GPU_RESOURCE = "nvidia.com/gpu"
_ELSEWHERE = ("ray", "external_launcher")
_MOST_COMPARED = 100
"""Engines of one container among which those are looked for that never run together."""


_UNRELEASED = lazy_pattern(r"(?:^|[-_.])(?:nightly|dev|main|master)(?:[-_.]|$)", re.IGNORECASE)

_COMMIT = lazy_pattern(r"(?:^|[-_.])(?=[0-9a-f]*\d)[0-9a-f]{7,40}$")
"""A tag of one of the engine's own images that ends with a commit."""
_DYNAMO = lazy_pattern(r"dynamo\b[^:@\s]{0,200}:v?(\d{1,3})\.(\d{1,3})(?!\d|\.0rc)")
"""An image of Dynamo with the release in its tag; candidates of a release may still be as the one before."""


def unreleased(node: NodeLaunch) -> bool:
    """Whether the tag of the image says that its build is none of the releases: it may know names that they do not."""
    image = node.container.image if node.container is not None else None
    name = image.string() if image is not None else None
    tag = (name or "").rpartition("/")[2].partition("@")[0].partition(":")[2]
    if _UNRELEASED.search(tag) is not None:
        return True
    said = image_name(name or "")
    return said.official and said.version is None and tag not in ("", "latest") and _COMMIT.search(tag) is not None


def ranks_inside(nodes: Sequence[NodeLaunch]) -> int | None:
    """Return the ranks that run in one container; None where they are unknown or spread over several containers.

    Of engines of which one or the other runs, each alone says how many there are: None where they do not agree.
    """
    if any(exclusive(one, other) or in_turn(one, other) for one, other in combinations(nodes[:_MOST_COMPARED], 2)):
        each = {ranks_inside([node]) for node in nodes}
        return each.pop() if len(each) == 1 else None
    total = 0
    for node in nodes:
        engines, world = node.local_engines, node.local_world
        backends = (node.value("distributed-executor-backend"), node.value("data-parallel-backend"))
        spread = any(b is not None and b.value != "mp" for b in backends)
        if engines is None or world is None or spread or _reaches_out(node):
            return None
        total += engines * world
    return total


def _reaches_out(node: NodeLaunch) -> bool:
    """Whether an engine may have ranks in other containers: over Ray, or in a group of pods with a part in each."""
    container = node.container
    if container is None:
        return False
    return container.spread or (container.grouped and node.arg("data-parallel-size-local") is None)


def for_ascend(container: Container, deployment: Deployment) -> bool:
    """Whether the container says itself that it is for Ascend devices."""
    image = container.image.string() if container.image else None
    devices = any(isinstance(d.value, str) and DAVINCI.match(d.value) for d in container.devices)
    named = bool(image and "ascend" in image.lower()) or any(map(NPU_RESOURCE.match, container.resources))
    return deployment.target.is_ascend and (devices or named)


def brings_devices(container: Container, nodes: Sequence[NodeLaunch]) -> bool:
    """Whether something else than ``--device`` brings the devices and drivers: a runtime, a plugin, or privileges."""
    runtime = any("ASCEND_VISIBLE_DEVICES" in node.env for node in nodes)
    plugin = any(name != GPU_RESOURCE for name in container.resources)  # --gpus brings an Ascend container nothing
    return bool(container.privileged or container.runtime or plugin or runtime or container.form == "manifest")


def targets(container: Container) -> list[str] | None:
    """Return the paths inside the container that are mounted, or None where one of them is unknown."""
    found = []
    for mount in container.mounts:
        text = mount.string()
        if text is None:
            return None
        parts = text.split(":")
        found.append((parts[1] if len(parts) > 1 else parts[0]).rstrip("/") or "/")
    return found


def mounted(path: str, folders: Sequence[str]) -> bool:
    """Whether ``path`` or a folder above it is mounted."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def device_path(device: Node) -> str | None:
    """Return the device inside the container that ``HOST[:CONTAINER[:MODE]]`` gives, or None where it is unknown."""
    text = device.string()
    return text.split(":")[0] if text is not None else None


def dynamo_release(node: NodeLaunch) -> tuple[int, int] | None:
    """Return the release of Dynamo that the tag of the image names; of a candidate, which may be as before, None."""
    image = node.container.image if node.container is not None else None
    name = image.string() if image is not None else None
    found = _DYNAMO.search(name) if name else None
    return (int(found[1]), int(found[2])) if found is not None else None
