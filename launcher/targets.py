"""Which release an input is checked against: the first known of --target, profile, image tag, installed, newest."""

from __future__ import annotations

import re
from importlib.util import find_spec

from pd_launch.schemas.kv_transfer import connectors
from pd_launch.schemas.launch import NodeLaunch
from pd_launch.schemas.target import Target, TargetError, ascend_target, newest, vllm_target

_ASCEND_NAMES = re.compile(
    r"Ascend|MooncakeConnectorV1|MooncakeHybrid|MooncakeLayerwise|MooncakeConnectorStoreV1|UCM|Sfa"
)
_DEVICE = re.compile(r"/dev/davinci\d")
_TAG = re.compile(r"(?:^|[/_-])v?(\d+\.\d+\.\d+(?:rc\d+|\.post\d+)?)")


def families(nodes: list[NodeLaunch]) -> tuple[bool, ...]:
    """Return what an input may be for: Ascend (True), other hardware (False), or both where it gives no sign."""
    signs = [sign for sign in map(_sign, nodes) if sign is not None]
    return (True in signs,) if signs else (True, False)


def is_ascend(nodes: list[NodeLaunch]) -> bool:
    """Whether an input is for Ascend: it says so, or it gives no sign at all."""
    return families(nodes)[0]


def _sign(node: NodeLaunch) -> bool | None:
    if node.hardware is not None:
        return node.hardware.ascend
    if any(name.startswith(("HCCL_", "ASCEND_", "VLLM_ASCEND_")) for name in node.env):
        return True
    if any(c.name and _ASCEND_NAMES.search(c.name) for c in connectors(node.kv_transfer)):
        return True
    if any(name.startswith(("CUDA_", "NCCL_", "VLLM_CPU_")) for name in node.env):
        return False
    container = node.container
    if container is None:
        return None
    if any(isinstance(d.value, str) and _DEVICE.match(d.value) for d in container.devices):
        return True
    if any(name.startswith("huawei.com/") for name in container.resources):
        return True
    image = container.image.string() if container.image else None
    if image and "ascend" in image.lower():
        return True
    if (image and "vllm" in image.lower()) or any(name.startswith("nvidia.com/") for name in container.resources):
        return False
    return None


def decide(ascend: bool, given: Target | None, profile: Target | None, nodes: list[NodeLaunch]) -> Target:
    """Return the target. One of the wrong family is passed over, unless ``--target`` is the only word there is."""
    hardware = any(node.hardware is not None for node in nodes)
    for target in (given, profile):
        if target is not None and (target.is_ascend == ascend or (target is given and not hardware)):
            return target
    return _of_image(ascend, nodes) or _installed(ascend) or newest(ascend)


def _of_image(ascend: bool, nodes: list[NodeLaunch]) -> Target | None:
    make = ascend_target if ascend else vllm_target
    for node in nodes:
        image = node.container.image.string() if node.container and node.container.image else None
        name, _, tag = (image or "").rpartition(":")
        if "vllm" in name.lower() and (match := _TAG.search(f"/{tag}")):
            try:
                return make(match[1], "image")
            except TargetError:
                continue
    return None


def _installed(ascend: bool) -> Target | None:
    package, make = ("vllm-ascend", ascend_target) if ascend else ("vllm", vllm_target)
    if find_spec(package.replace("-", "_")) is None:
        return None
    from importlib import metadata  # slow to import, and most machines that check have no engine

    try:
        return make(metadata.version(package), "installed")
    except (metadata.PackageNotFoundError, TargetError):
        return None
