"""Copies past the caches: every byte, no other byte, and no row that does not exist."""

from __future__ import annotations

import builtins
import platform
import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")
if platform.machine() not in ("x86_64", "AMD64"):
    pytest.skip("x86-64 only", allow_module_level=True)

import numpy as np  # noqa: E402

from pd_launch.connector import streaming as module  # noqa: E402
from pd_launch.connector.copies import CpuCopies  # noqa: E402
from pd_launch.connector.pool import HostPool  # noqa: E402
from pd_launch.connector.streaming import LEAST_BYTES, StreamingCopy, streaming  # noqa: E402


def pool(*widths: int, blocks: int = 20) -> Any:
    """Regions of random bytes, each of which begins at a cache line."""
    return HostPool(blocks * sum(widths), widths)


def fill(regions: Any) -> None:
    for region in regions:
        region.copy_(torch.randint(0, 256, region.shape, dtype=torch.uint8))


@pytest.mark.parametrize("widths", [(64,), (256,), (320, 64, 1024), (192, 4096, 18_432), (448,) * 7])
def test_rows_arrive_and_nothing_else_changes(widths: tuple[int, ...]) -> None:
    device, host = pool(*widths), pool(*widths, blocks=16)
    fill(device.regions)
    fill(host.regions)
    before = [region.clone() for region in host.regions]
    draw = random.Random(3)
    source, target = draw.sample(range(20), 9), draw.sample(range(16), 9)
    way = streaming(device.regions, host.regions)
    assert way is not None
    way.copy(np.asarray(source), np.asarray(target))
    for here, there, old in zip(device.regions, host.regions, before, strict=True):
        assert torch.equal(there[target], here[source])
        rest = [row for row in range(16) if row not in target]
        assert torch.equal(there[rest], old[rest])


def test_source_rows_may_lie_anywhere() -> None:
    whole = torch.randint(0, 256, (20 * 200 + 1,), dtype=torch.uint8)
    source = torch.as_strided(whole, (20, 128), (200, 1), 1)  # padded pages, aligned to nothing
    target = pool(128)
    way = streaming([source], target.regions)
    assert way is not None
    way.copy(np.arange(20), np.arange(20)[::-1])
    assert torch.equal(target.regions[0], source.flip(0))


@pytest.mark.parametrize("rows", [[20], [-1], [3, 20]])
@pytest.mark.parametrize("side", ["source", "target"])
def test_rows_that_do_not_exist_are_refused(rows: list[int], side: str) -> None:
    device, host = pool(128), pool(128)
    way = streaming(device.regions, host.regions)
    assert way is not None
    fine = np.arange(len(rows))
    wrong = np.asarray(rows)
    with pytest.raises(ValueError, match="do not exist, 20 do"):
        way.copy(*((wrong, fine) if side == "source" else (fine, wrong)))
    with pytest.raises(ValueError, match="2 rows cannot be copied to 1"):
        way.copy(np.arange(2), np.arange(1))


def test_rows_that_cannot_be_stored_so_are_left_to_numpy() -> None:
    aligned = pool(128).regions
    whole = torch.zeros(4096, dtype=torch.uint8)
    shifted = [torch.as_strided(whole, (20, 128), (128, 1), (-whole.data_ptr() % 64) + 8)]
    assert streaming(aligned, shifted) is None  # stores need the alignment
    assert streaming(shifted, aligned) is not None  # loads do not
    assert streaming(pool(100).regions, pool(100).regions) is None  # not whole lines
    assert streaming(aligned, [torch.zeros(20, 192, dtype=torch.uint8)[:, :128]]) is not None


def test_only_what_is_larger_than_the_caches_goes_past_them() -> None:
    way = streaming(pool(128, 64).regions, pool(128, 64).regions)
    assert way is not None
    least = -(-LEAST_BYTES // 192)
    assert way.takes(least) and not way.takes(least - 1)


def test_without_llvmlite_numpy_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("llvmlite"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    module._compiled.cache_clear()
    monkeypatch.setattr(builtins, "__import__", absent)
    device, host = pool(128), pool(128)
    fill(device.regions)
    assert streaming(device.regions, host.regions) is None
    CpuCopies(device.regions, host.regions).save([4], [7])
    assert torch.equal(host.regions[0][7], device.regions[0][4])


def test_other_processors_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert streaming(pool(128).regions, pool(128).regions) is None


def test_an_llvm_that_cannot_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module._compiled.cache_clear()
    monkeypatch.setattr(module, "_COPY", "this is no assembly")
    assert streaming(pool(128).regions, pool(128).regions) is None
    module._compiled.cache_clear()


def test_large_saves_and_loads_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_BYTES", 5 * 128)
    called: list[int] = []
    real = StreamingCopy.copy
    monkeypatch.setattr(StreamingCopy, "copy", lambda self, a, b: (called.append(len(a)), real(self, a, b))[1])
    device, host = pool(128), pool(128)
    fill(device.regions)
    before = device.regions[0].clone()
    copies = CpuCopies(device.regions, host.regions)
    copies.save([4], [7])
    copies.save([1, 2, 3, 5, 6], [9, 8, 10, 11, 12])
    device.regions[0].zero_()
    copies.load([6, 5, 3, 2, 1], [12, 11, 10, 8, 9])
    assert called == [5, 5]
    assert torch.equal(device.regions[0][[1, 2, 3, 5, 6]], before[[1, 2, 3, 5, 6]])
    assert not device.regions[0][4].any()
