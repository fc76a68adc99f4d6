"""What a node's engines need of /dev/shm: the message rings, and the file of upstream's CPU tier.

Source of the file tier: vllm/v1/kv_offload/cpu/shared_offload_region.py at 0.27.1 and 0.32.0, on CUDA only.
"""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import GIB, human_size
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.memory.host_memory import ring_bytes
from pd_launch.schemas.releases.stock import FILE_TIER

_NO_RINGS = ("ray", "uni", "external_launcher")


@dataclass(frozen=True)
class ShmNeed:
    """Bytes of /dev/shm: ``rings`` for vLLM's messages, ``files`` for a CPU tier that lives there."""

    rings: int = 0
    files: int = 0
    engines: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.rings + self.files

    def __add__(self, other: ShmNeed) -> ShmNeed:
        return ShmNeed(self.rings + other.rings, self.files + other.files, self.engines + other.engines)


def shm_need(node: NodeLaunch, target: Target) -> ShmNeed | None:
    """Return what ``node``'s engines need, or None where the layout is unknown."""
    world, engines = node.local_world, node.local_engines
    data = node.data or (engines if engines and engines > 1 else None)  # at least as many as on this node
    if not world or not data or not engines:
        return None
    backend = node.value("distributed-executor-backend")
    if backend is not None and (backend.string() is None or backend.string() in _NO_RINGS):
        return None
    cpu = node.hardware is not None and node.hardware.kind == "cpu"
    return ShmNeed(ring_bytes(world, data, engines, cpu), engines * (file_tier(node, target) or 0), engines)


def file_tier(node: NodeLaunch, target: Target) -> int | None:
    """Return the bytes of the CPU tier that one engine keeps as a file in /dev/shm, or None without one."""
    if target.is_ascend or not FILE_TIER.holds(target):
        return None
    return cpu_tier(node)


def cpu_tier(node: NodeLaunch) -> int | None:
    """Return the bytes of upstream's OffloadingConnector for one engine, or None without one or where it is unknown."""
    if node.hardware is not None and node.hardware.kind != "cuda":
        return None
    size = node.value("kv-offloading-size")
    backend = node.value("kv-offloading-backend")
    native = backend is None or backend.string() == "native"
    if size is not None and native and node.variable("VLLM_USE_SIMPLE_KV_OFFLOAD") in (None, "0", ""):
        return _gib(size.value)
    for connector in connectors(node.kv_transfer):
        if connector.name == "OffloadingConnector" and connector.module is None:
            spec = connector.option("spec_name")
            total = connector.option("cpu_bytes_to_use")
            if spec is None or spec.string() == "CPUOffloadingSpec":
                return total.integer() if total else None
    return None


def _gib(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        size = float(value)
    except ValueError:
        return None
    return int(size * GIB) if 0 < size < 2**40 else None


def addends(need: ShmNeed) -> Msg:
    """Return the parts of ``need`` for people."""
    named = ((need.rings, Msg("rings", "消息环")), (need.files, Msg("CPU tier", "CPU 缓存层文件")))
    parts = [(human_size(size), what) for size, what in named if size]
    en, zh = ([f"{size} ({what.en})" for size, what in parts], [f"{size}（{what.zh}）" for size, what in parts])
    return Msg(" + ".join(en) or "0", " + ".join(zh) or "0")
