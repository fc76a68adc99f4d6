"""The device cache as byte arrays [blocks, width], each byte of a block in exactly one of them.

vLLM and vllm-ascend lay the cache out in many ways: blocks first or second, K and V in one tensor or two, several
layers in one allocation or one tensor under several names (hybrid models), pages padded or split into kernel blocks.
All that matters here is where the bytes of block ``b`` are: at a start plus ``b`` times a stride. Starts and strides
are taken from the tensors themselves; stretches that meet or overlap become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product

import torch

Caches = Mapping[str, "torch.Tensor | tuple[torch.Tensor, ...] | list[torch.Tensor]"]


class LayoutError(ValueError):
    """A KV cache tensor whose blocks cannot be found."""


@dataclass(frozen=True, order=True)
class _Stretch:
    """Bytes [start + b × stride, + width) of one allocation hold a part of block b."""

    storage: int
    stride: int
    start: int
    width: int


def block_regions(caches: Caches, num_blocks: int) -> list[torch.Tensor]:
    """Return uint8 views [num_blocks, width] that cover every block once.

    Args:
        caches: tensors by layer name, as vLLM registers them; a tuple or list holds K and V apart.
        num_blocks: blocks of the cache, the null block included.

    Raises:
        LayoutError: a tensor has no block dimension, or pages of different strides overlap.
    """
    owners: dict[int, torch.Tensor] = {}
    stretches: set[_Stretch] = set()
    for name, value in caches.items():
        for tensor in value if isinstance(value, (tuple, list)) else (value,):
            storage = tensor.untyped_storage().data_ptr()
            owners.setdefault(storage, tensor)
            stretches.update(_stretches(name, tensor, num_blocks, storage))
    merged = _merge(sorted(stretches))
    _check_apart(merged, num_blocks)
    return [_view(owners[s.storage], s, num_blocks) for s in merged]


def _stretches(name: str, tensor: torch.Tensor, num_blocks: int, storage: int) -> Iterable[_Stretch]:
    axis = next((d for d in range(min(2, tensor.dim())) if tensor.shape[d] % num_blocks == 0), None)
    if axis is None or num_blocks < 1:
        raise LayoutError(
            f"the KV cache of {name!r} has shape {tuple(tensor.shape)}, in which neither of the first two dimensions "
            f"counts the {num_blocks} blocks; this attention backend cannot be offloaded"
        )
    size = tensor.element_size()
    split = tensor.shape[axis] // num_blocks  # kernel blocks per block
    kernel_stride = tensor.stride(axis) * size
    stride = kernel_stride * split
    inner = [(tensor.shape[d], tensor.stride(d) * size) for d in range(tensor.dim()) if d != axis]
    outside = [(n, s) for n, s in inner if n > 1 and s >= stride]
    inside = [(n, s) for n, s in inner if n > 1 and s < stride]
    width = size + sum((n - 1) * s for n, s in inside) + (split - 1) * kernel_stride
    base = tensor.storage_offset() * size
    for steps in product(*(range(n) for n, _ in outside)):
        start = base + sum(step * s for step, (_, s) in zip(steps, outside, strict=True))
        yield _Stretch(storage, stride, start, width)


def _merge(stretches: list[_Stretch]) -> list[_Stretch]:
    out: list[_Stretch] = []
    for s in stretches:
        last = out[-1] if out else None
        if last and (last.storage, last.stride) == (s.storage, s.stride) and s.start <= last.start + last.width:
            width = max(last.width, s.start + s.width - last.start)
            if width <= s.stride:
                out[-1] = _Stretch(s.storage, s.stride, last.start, width)
                continue
        out.append(s)
    return out


def _check_apart(stretches: list[_Stretch], num_blocks: int) -> None:
    """Refuse pages of different strides in the same bytes: their blocks would not be the same bytes either."""
    ends: dict[int, int] = {}
    by_place = sorted(stretches, key=lambda s: (s.storage, s.start))
    for a, b in pairwise(by_place):
        ends[a.storage] = max(ends.get(a.storage, 0), a.start + (num_blocks - 1) * a.stride + a.width)
        if a.storage == b.storage and a.stride != b.stride and b.start < ends[a.storage]:
            raise LayoutError(
                f"the KV cache has pages of {a.stride} and {b.stride} bytes in the same memory; such a model cannot be "
                "offloaded: run it without this connector"
            )


def _view(owner: torch.Tensor, s: _Stretch, num_blocks: int) -> torch.Tensor:
    raw = torch.empty(0, dtype=torch.uint8, device=owner.device)
    return raw.set_(owner.untyped_storage(), s.start, (num_blocks, s.width), (s.stride, 1))
