"""How large the HCCL buffer must be for expert parallelism.

The formulas are those of CANN's operator documents for MoeDistributeDispatch and MoeDistributeCombine. Sizes in bytes
unless a name says MiB; ``tokens`` are those of one rank and step, ``hidden`` the model's hidden size.
"""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.units import MIB

DEFAULT_MIB = 200
"""What HCCL takes where HCCL_BUFFSIZE is not set."""
PLAIN_LIMIT = 512
"""More tokens of one rank and step than this go another way than plain MC2."""
A2_LEAST_RANKS = 16
"""On A2 plain MC2 is used from this many ranks on."""


class Experts(NamedTuple):
    """A model's experts and how they are spread. ``ranks`` is the expert-parallel size."""

    experts: int
    top_k: int
    shared: int
    hidden: int
    ranks: int

    @property
    def local(self) -> int:
        """Experts of one rank, rounded up."""
        return -(-self.experts // self.ranks)


def _align(value: int, step: int) -> int:
    return -(-value // step) * step


def a3_bytes(model: Experts, tokens: int) -> int:
    """Return what dispatch and combine need on A3."""
    sent = _align(_align(2 * model.hidden, 32) + 64, 512)
    returned = _align(2 * model.hidden, 512)
    need = model.local * tokens * model.ranks * sent + (model.top_k + model.shared) * tokens * returned
    return max(2 * need, 2 * MIB)


def a2_bytes(model: Experts, tokens: int) -> int:
    """Return what dispatch and combine need on A2 (full mesh)."""
    return 2 * (tokens * model.ranks * min(model.local, model.top_k) * 2 * model.hidden + 2 * MIB)


def fused_bytes(model: Experts, tokens: int) -> int:
    """Return what fused MC2 needs."""
    return 3 * tokens * model.top_k * model.hidden + 10 * MIB


def to_mib(size: int) -> int:
    """Return bytes as MiB, rounded up."""
    return -(-size // MIB)
