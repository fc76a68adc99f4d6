"""What the engines of a node need of the host besides the offload budget: shared memory for vLLM's message rings."""

from __future__ import annotations

from pd_launch.schemas.core.units import GIB, MIB

BROADCAST_RING = 160 * MIB
RESPONSE_RING = 240 * MIB
DOCKER_DEFAULT_SHM = 64 * MIB
ENGINE_MEMORY = 8 * GIB
"""An allowance for a rank's own process: code, communication buffers, weights on their way. Measure yours."""


def engine_memory(ranks: int) -> int:
    """Return the host memory to allow for the processes of ``ranks`` ranks, besides offload and shared memory."""
    return ranks * ENGINE_MEMORY


def ring_bytes(world_size: int, data: int, engines: int, cpu: bool = False) -> int:
    """Return the bytes of /dev/shm that ``engines`` engines on one node need for their message rings.

    Each engine has one broadcast ring and a response ring for each of its ranks, unless it is a lone rank on a device.

    Args:
        world_size: TP × PP × PCP of one engine.
        data: DP size of the whole side.
        engines: engines on this node.
        cpu: whether the engine's device is the CPU.
    """
    if world_size * data == 1 and not cpu:
        return 0
    return engines * (BROADCAST_RING + RESPONSE_RING * world_size)
