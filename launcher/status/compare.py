"""What a profile says of each engine's address, and where the running engine is otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal

from packaging.version import InvalidVersion, Version

from pd_launch.launcher.inputs import read_profile
from pd_launch.launcher.sources.profiles.deployment import profile_deployment
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.profiles.shipped import find_profile
from pd_launch.launcher.status.fetch import Address
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.offload import offloads
from pd_launch.schemas.engine.ports import http_port
from pd_launch.schemas.engine.sides import own_address
from pd_launch.schemas.status import Difference, EngineStatus, Role

_HERE = "127.0.0.1"
_FLAGS = {
    "block-size": "block_size",
    "num-gpu-blocks-override": "num_gpu_blocks_override",
    "kv-cache-dtype": "cache_dtype",
    "gpu-memory-utilization": "gpu_memory_utilization",
}
"""Flags whose value vLLM shows as a label of ``vllm:cache_config_info``."""
_SWITCHES = {"enable-prefix-caching": "enable_prefix_caching"}


@dataclass(frozen=True)
class Expected:
    """One address of a profile. ``sizes`` by the labels of vLLM's own series; ``ranks`` is None where unknown."""

    name: str
    role: Role
    host: str | None
    port: int
    offload: Literal["bundled", "builtin"] | None = None
    vllm: str | None = None
    ranks: int | None = None
    sizes: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> Address:
        """Where it answers; on this machine where the profile names none."""
        return Address("http", self.host or _HERE, self.port)


class Unrendered(ValueError):
    """The profile renders no engine; ``pd-launch check`` says why."""


def expected_of(profile: str, settings: Sequence[str] = ()) -> list[Expected]:
    """Return every address that a profile's engines serve.

    Raises:
        ProfileNotFound: there is no such profile.
        SettingError: a setting cannot be applied.
        Unrendered: it renders nothing that serves.
    """
    loaded = load_profile(read_profile(str(find_profile(profile))), settings)
    deployment = profile_deployment(loaded, assume=True)
    target = deployment.target if deployment.target.decided_by != "assumed" else None
    found = [one for node in deployment.nodes for one in _of_node(node, target)]
    often = Counter(one.name for one in found)
    found = [replace(one, name=f"{one.name} {one.port}") if often[one.name] > 1 else one for one in found]
    if not found:
        raise Unrendered(f"{loaded.source.path} renders no engine that serves: pd-launch check says why")
    return found


def _bundled(connector: Connector, target: Target | None) -> bool:
    return connector.is_bundled_offload if target is None else connector.bundled_in(target)


def _of_node(node: NodeLaunch, target: Target | None) -> list[Expected]:
    ports = http_port(node)
    if ports is None:
        return []
    role: Role = "prefill" if node.side == "prefill" else "decode" if node.side == "decode" else "unknown"
    kinds = offloads(node)
    offload = None if not kinds else "bundled" if any(_bundled(c, target) for c in kinds) else "builtin"
    return [
        Expected(
            node.label,
            role,
            own_address(node),
            port,
            offload,  # type: ignore[arg-type]
            target.vllm if target else None,
            _ranks(node),
            _sizes(node),
        )
        for port in ports.ports
    ]


def _ranks(node: NodeLaunch) -> int | None:
    """How many data-parallel ranks one address answers for."""
    if node.external_dp or node.switch("data-parallel-multi-port-external-lb"):
        return 1
    if node.switch("data-parallel-hybrid-lb"):
        return node.local_engines
    return node.number("data-parallel-size", 1)


def _sizes(node: NodeLaunch) -> dict[str, str]:
    sizes = {}
    for flag, label in _FLAGS.items():
        value = node.value(flag)
        if value is not None and value.known:
            sizes[label] = str(value.value)
    for flag, label in _SWITCHES.items():
        said = node.switch(flag)
        if said is not None:
            sizes[label] = str(said)
    return sizes


def matched(expected: Sequence[Expected], addresses: Sequence[Address]) -> dict[str, Expected]:
    """Return which engine of the profile each address is: by port, and by host where several have that port."""
    found = {}
    for address in addresses:
        same = [one for one in expected if one.port == address.port]
        there = [one for one in same if one.host == address.host] or [one for one in same if one.host is None] or same
        if len(there) == 1:
            found[address.shown] = there[0]
    return found


def differences(expected: Expected, running: EngineStatus) -> list[Difference]:
    """Return where an engine runs otherwise than its profile says; what it does not tell is not compared."""
    found = []
    if expected.vllm and running.version and not _same_version(expected.vllm, running.version):
        found.append(Difference(what="vLLM", profile=expected.vllm, running=running.version))
    for label, wanted in expected.sizes.items():
        there = running.cache.get(label)
        if there is not None and not _same_value(wanted, there):
            found.append(Difference(what=label, profile=wanted, running=there))
    ranks = max(1, len(running.ranks))
    if expected.ranks is not None and expected.ranks != ranks:
        found.append(Difference(what="data-parallel ranks", profile=str(expected.ranks), running=str(ranks)))
    shows = shows_offload(running)
    if shows and expected.offload is None:
        found.append(Difference(what="offload connector", profile="none", running="pd_launch.connector"))
    if not shows and expected.offload == "bundled":
        found.append(Difference(what="offload connector", profile="pd_launch.connector", running="none"))
    return found


def shows_offload(running: EngineStatus) -> bool:
    """Whether an engine has series of the bundled connector, also where one of them holds no number."""
    totals = running.totals
    return totals is not None and (totals.parked is not None or totals.restored is not None)


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one).public == Version(other).public
    except InvalidVersion:
        return one == other


def _same_value(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one.casefold() == other.casefold()
