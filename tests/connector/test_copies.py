"""Regions, pool and copies on CPU tensors in the layouts that engines really use."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from pd_launch.connector.copying.choose import CpuCopies, TorchCopies  # noqa: E402
from pd_launch.connector.pool import HostPool  # noqa: E402
from pd_launch.connector.regions import LayoutError, block_regions  # noqa: E402

BLOCKS = 12
LAYERS = 3


def bytes_of(*shape: int, dtype: Any = torch.bfloat16) -> Any:
    """A tensor of random bytes, NaN patterns included."""
    size = torch.empty(shape, dtype=dtype).numel() * dtype.itemsize
    return torch.randint(0, 256, (size,), dtype=torch.uint8).view(dtype).view(shape)


def blocks_first() -> Any:  # vLLM's CPU and FlashInfer layout
    return {f"l{i}": bytes_of(BLOCKS, 2, 8, 16) for i in range(LAYERS)}


def keys_and_values_first() -> Any:  # FlashAttention: K and V outside the blocks
    return {f"l{i}": bytes_of(2, BLOCKS, 8, 2, 16) for i in range(LAYERS)}


def mla() -> Any:
    return {f"l{i}": bytes_of(BLOCKS, 8, 72) for i in range(LAYERS)}


def npu_tuples() -> Any:  # vllm-ascend: K and V (and an index cache) apart
    return {
        f"l{i}": (bytes_of(BLOCKS, 8, 1, 64), bytes_of(BLOCKS, 8, 1, 16), bytes_of(BLOCKS, 8, 1, 8, dtype=torch.int8))
        for i in range(LAYERS)
    }


def kernel_blocks() -> Any:  # a block split in two for the kernel
    return {f"l{i}": bytes_of(2 * BLOCKS, 4, 2, 16) for i in range(LAYERS)}


def one_allocation_layers_first() -> Any:
    whole = bytes_of(LAYERS, BLOCKS, 2, 8, 16)
    return {f"l{i}": whole[i] for i in range(LAYERS)}


def one_allocation_blocks_first() -> Any:
    whole = bytes_of(BLOCKS, LAYERS, 2, 8, 16)
    return {f"l{i}": whole[:, i] for i in range(LAYERS)}


def heads_outside() -> Any:
    whole = bytes_of(LAYERS, 2, BLOCKS, 8, 16)
    return {f"l{i}": whole[i].transpose(0, 1) for i in range(LAYERS)}


def padded_pages() -> Any:
    return {f"l{i}": bytes_of(BLOCKS, 300)[:, :256].unflatten(1, (2, 8, 16)) for i in range(LAYERS)}


def hybrid() -> Any:  # two layers share one tensor
    first, second = bytes_of(BLOCKS, 2, 8, 16), bytes_of(BLOCKS, 2, 8, 16)
    return {"full0": first, "full1": second, "window0": first, "window1": second.view(BLOCKS, 2, 8, 16)}


LAYOUTS: dict[Callable[[], Any], tuple[int, int]] = {  # regions, bytes per block
    blocks_first: (LAYERS, LAYERS * 512),
    keys_and_values_first: (2 * LAYERS, LAYERS * 1024),
    mla: (LAYERS, LAYERS * 1152),
    npu_tuples: (3 * LAYERS, LAYERS * (1024 + 256 + 64)),
    kernel_blocks: (LAYERS, LAYERS * 512),
    one_allocation_layers_first: (LAYERS, LAYERS * 512),
    one_allocation_blocks_first: (1, LAYERS * 512),
    heads_outside: (2 * LAYERS, LAYERS * 512),
    padded_pages: (LAYERS, LAYERS * 512),
    hybrid: (2, 1024),
}


def tensors(caches: Any) -> list[Any]:
    return [t for value in caches.values() for t in (value if isinstance(value, tuple) else (value,))]


def block_axis(tensor: Any) -> int:
    return 0 if tensor.shape[0] % BLOCKS == 0 else 1


def block_content(caches: Any, block: int) -> list[bytes]:
    out = []
    for tensor in tensors(caches):
        axis = block_axis(tensor)
        split = tensor.shape[axis] // BLOCKS
        part = tensor.narrow(axis, block * split, split)
        out.append(part.contiguous().view(torch.uint8).numpy().tobytes())
    return out


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_byte_of_a_block_is_covered_once(layout: Callable[[], Any]) -> None:
    caches = layout()
    regions = block_regions(caches, BLOCKS)
    assert (len(regions), sum(r.shape[1] for r in regions)) == LAYOUTS[layout]
    for region in regions:
        region[5].zero_()
    assert all(not any(content) for content in block_content(caches, 5))
    assert all(any(content) for block in (4, 6) for content in block_content(caches, block))


def past_the_caches(device: Any, host: Any) -> Any:
    """The CPU's copies, streaming whatever their size."""
    copies = CpuCopies(device, host)
    for way in filter(None, (copies._save_streaming, copies._load_streaming)):
        way.takes = lambda rows: True
    return copies


@pytest.mark.parametrize(
    "backend", [CpuCopies, past_the_caches, TorchCopies, lambda d, h: TorchCopies(d, h, piece_bytes=1500)]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_survive_host_and_back(layout: Callable[[], Any], backend: Any) -> None:
    caches = layout()
    regions = block_regions(caches, BLOCKS)
    pool = HostPool(9 * sum(r.shape[1] for r in regions), [r.shape[1] for r in regions])
    copies = backend(regions, pool.regions)
    draw = random.Random(5)
    source = draw.sample(range(BLOCKS), 6)
    host = [2, 3, 4, 8, 0, 1]  # runs of three, one and two
    before = [block_content(caches, block) for block in source]
    kept = block_content(caches, next(b for b in range(BLOCKS) if b not in source))
    copies.save(source, host)
    for tensor in tensors(caches):
        tensor.view(torch.uint8 if tensor.dtype == torch.int8 else torch.int16).zero_()
    target = draw.sample(range(BLOCKS), 6)
    copies.load(target, host)
    assert [block_content(caches, block) for block in target] == before
    untouched = [b for b in range(BLOCKS) if b not in target]
    assert all(not any(c) for block in untouched for c in block_content(caches, block))
    assert any(any(c) for c in kept)


def test_a_save_does_not_touch_other_host_blocks() -> None:
    regions = block_regions(blocks_first(), BLOCKS)
    pool = HostPool(6 * 1536, [512] * LAYERS)
    for region in pool.regions:
        region.fill_(7)
    CpuCopies(regions, pool.regions).save([3], [4])
    for region in pool.regions:
        assert all((region[b] == 7).all() for b in (0, 1, 2, 3, 5))
        assert not (region[4] == 7).all()


def test_the_pool_is_exactly_the_budget() -> None:
    pool = HostPool(10_000, [600, 400, 7])
    assert (pool.blocks, pool.block_bytes) == (9, 1007)
    assert len(pool._memory) == 10_000
    assert [tuple(r.shape) for r in pool.regions] == [(9, 600), (9, 400), (9, 7)]
    places = sorted((r.data_ptr() - pool.address, r.numel()) for r in pool.regions)
    assert places == [(0, 5400), (5400, 3600), (9000, 63)]
    pool.close()
    assert pool.regions == []


def test_a_cache_without_a_block_dimension_is_refused() -> None:
    with pytest.raises(LayoutError, match="'l0' has shape"):
        block_regions({"l0": bytes_of(5, 7, 16)}, BLOCKS)


def test_pages_of_two_sizes_in_one_place_are_refused() -> None:
    whole = bytes_of(BLOCKS * 512, dtype=torch.int8)
    with pytest.raises(LayoutError, match="pages of 256 and 512 bytes in the same memory"):
        block_regions({"a": whole.view(BLOCKS, 512), "b": whole[: BLOCKS * 256].view(BLOCKS, 256)}, BLOCKS)
