"""What vllm-ascend's Mooncake connectors ask of the block sizes and the context parallelism of both sides."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.transfers import BLOCKS_DIVIDE, CONTEXT_EITHER_WAY

DCP = "decode-context-parallel-size"
V1, LAYERWISE = "MooncakeConnectorV1", "MooncakeLayerwiseConnector"


def uses(node: NodeLaunch, name: str) -> bool:
    """Whether a launch has a connector of that name, be it a child of another."""
    return any(connector.name == name for connector in connectors(node.kv_transfer))


def pairs_blocks(prefill: NodeLaunch, decode: NodeLaunch, sizes: tuple[int, int], target: Target) -> bool:
    """Whether a connector of vllm-ascend pairs block sizes that differ.

    Args:
        prefill: a launch of the prefill side.
        decode: a launch of the decode side.
        sizes: tokens of a block of prefill and of decode.
        target: the release.
    """
    left, right = sizes
    own, other = _shards(decode, target), _shards(prefill, target)
    known = own is not None and other is not None
    if uses(decode, LAYERWISE):  # prefill writes: its blocks are parts of decode's
        return right % left == 0 and (not known or own == other == 1)
    if not uses(decode, V1) or not BLOCKS_DIVIDE.holds(target) or max(sizes) % min(sizes):
        return False
    if own is None or other is None or own == 1:
        return True
    if other == 1 and CONTEXT_EITHER_WAY.holds(target):
        return False
    return right % left == 0 and (other // own) % (right // left) == 0


def pairs_contexts(prefill: NodeLaunch, decode: NodeLaunch, target: Target) -> bool:
    """Whether MooncakeConnectorV1 pairs decode context parallel sizes that differ; also where one is unknown."""
    if not target.is_ascend or not uses(decode, V1):
        return False
    own, other = _shards(decode, target), _shards(prefill, target)
    if not own or not other:
        return True
    return other % own == 0 or (own % other == 0 and CONTEXT_EITHER_WAY.holds(target))


def _shards(node: NodeLaunch, target: Target) -> int | None:
    """Return over how many ranks the blocks of a request are spread; None where that is unknown."""
    decode = node.number(DCP, 1)
    if CONTEXT_EITHER_WAY.holds(target):
        return decode
    context = node.prefill_context
    return None if decode is None or context is None else decode * context
