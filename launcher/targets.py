"""Which release an engine is checked for: what the call says, what the input says, what is installed, or unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pd_launch.schemas.kv_transfer import connectors
from pd_launch.schemas.launch import Deployment, NodeLaunch
from pd_launch.schemas.target import Choice, Decider, Target, TargetError, ascend_target, newest_final, vllm_target
from pd_launch.schemas.values import SourceFile

if TYPE_CHECKING:
    from pd_launch.schemas.profile import Profile

_ASCEND_NAMES = re.compile(
    r"Ascend|MooncakeConnectorV1|MooncakeHybrid|MooncakeLayerwise|MooncakeConnectorStoreV1|UCM|Sfa"
)
_DEVICE = re.compile(r"/dev/davinci\d")
_TAG = re.compile(r"(?:^|[/_-])v?(\d+\.\d+\.\d+(?:rc\d+|\.post\d+)?)")


@dataclass(frozen=True)
class Given:
    """What decides beside the input itself: ``--target``, the configuration file, and what this host has installed."""

    option: Target | None = None
    config: Target | None = None
    installed: tuple[Target, ...] = ()

    @classmethod
    def of(cls, option: Target | None, config: Target | None, host: Mapping[str, Any] | None) -> Given:
        """Return what is given in a call; ``host`` are the facts of the machine, where they count."""
        return cls(option, config, tuple(_installed(host or {})))


NOTHING_GIVEN = Given()


def choose(node: NodeLaunch, sources: Mapping[str, SourceFile], given: Given) -> Choice:
    """Return what an engine is checked for."""
    possible = families(node, sources)
    fixed = node.hardware is not None
    if given.option is not None and (given.option.is_ascend in possible or not fixed):
        return Choice(given.option, (given.option.is_ascend,))
    said = list(_said(node, sources))
    ordered = [
        *(target for target in said if target.decided_by == "comment"),
        *([given.config] if given.config is not None else []),
        *(target for target in said if target.decided_by != "comment"),
        *given.installed,
    ]
    return decided(ordered, possible)


def decided(ordered: Iterable[Target], possible: Sequence[bool]) -> Choice:
    """Return the first release of a possible family; without one, all releases that are possible."""
    target = next((target for target in ordered if target.is_ascend in possible), None)
    return Choice(None, tuple(possible)) if target is None else Choice(target, (target.is_ascend,))


def assumed(ascend: bool) -> Target:
    """Return the release that something is rendered for where nothing decides: the newest final one."""
    return newest_final(ascend).by("assumed")


def in_profile(source: SourceFile, profile: Profile | None, given: Given) -> Iterator[Target]:
    """Iterate over the releases that decide behind the profile's own key: configuration, image, what is installed."""
    if given.config is not None:
        yield given.config
    if profile is not None and profile.container is not None and profile.container.image is not None:
        yield from _of_image(profile.container.image)
    yield from given.installed


def choice_of(nodes: Sequence[NodeLaunch], given: Given) -> Choice:
    """Return what a deployment is checked for: what all of its engines are, or whatever one of them may be."""
    choices = list(dict.fromkeys(node.choice for node in nodes if node.choice is not None))
    if not choices:
        only = given.option or given.config
        return Choice(only, (only.is_ascend,)) if only is not None else Choice()
    if len(choices) == 1:
        return choices[0]
    return Choice(None, tuple(dict.fromkeys(family for choice in choices for family in choice.families)))


def choices(deployment: Deployment) -> Iterator[Choice]:
    """Iterate over what the engines of a deployment are checked for, each once."""
    own = Choice(deployment.target, (deployment.target.is_ascend,))
    whole = deployment.choice or own
    found = [node.choice or whole for node in deployment.nodes] if deployment.renderer is None else []
    yield from dict.fromkeys(found or [whole])


def file_choices(deployment: Deployment) -> Iterator[tuple[str, Choice]]:
    """Iterate over the files of a deployment with what their engines are checked for."""
    whole = deployment.choice or Choice(deployment.target, (deployment.target.is_ascend,))
    for node in deployment.nodes:
        yield node.origin.file, node.choice or whole
    if not deployment.nodes:
        yield next(iter(deployment.sources), ""), whole


def families(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> tuple[bool, ...]:
    """Return what an engine may be for: Ascend (True), other hardware (False), or both where it gives no sign."""
    sign = _sign(node)
    return (True, False) if sign is None else (sign,)


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


def _said(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> Iterator[Target]:
    """Iterate over the releases that the input names for an engine, the one that counts first."""
    image = node.container.image.string() if node.container and node.container.image else None
    yield from _of_image(image or "")


def _of_image(image: str) -> Iterator[Target]:
    name, _, tag = image.rpartition(":")
    if "vllm" in name.lower() and (match := _TAG.search(f"/{tag}")):
        make = ascend_target if "ascend" in name.lower() else vllm_target
        yield from _made(make, match[1], "image")


def _installed(host: Mapping[str, Any]) -> Iterator[Target]:
    for fact, make in (("vllm_ascend", ascend_target), ("vllm", vllm_target)):
        version = host.get(fact)
        if isinstance(version, str):
            yield from _made(make, version, "installed")
            if fact == "vllm_ascend":
                return  # the vLLM beside it is the one that it brings


def _made(make: Any, version: str, by: Decider) -> Iterator[Target]:
    try:
        yield make(version, by)
    except TargetError:
        return


def installed_versions() -> dict[str, str]:
    """Return the versions of the engine that the running Python has installed, by the names of host facts."""
    from importlib import metadata  # slow to import, and most machines that check have no engine

    found: dict[str, str] = {}
    for name in ("vllm_ascend", "vllm"):
        try:
            found |= {name: metadata.version(name.replace("_", "-"))} if find_spec(name) else {}
        except metadata.PackageNotFoundError:
            continue
    return found
