"""Copies past the caches: every byte, no other byte, and no row that does not exist."""

from __future__ import annotations

import importlib.util
import platform
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if not importlib.util.find_spec("llvmlite"):  # not imported: it stays out of the processes that tests fork
    pytest.skip("needs llvmlite", allow_module_level=True)
if platform.machine() not in ("x86_64", "AMD64"):
    pytest.skip("x86-64 only", allow_module_level=True)

import numpy as np  # noqa: E402

from pd_launch.connector.copying import streaming as module  # noqa: E402
from pd_launch.connector.copying import streaming_code  # noqa: E402
from pd_launch.connector.copying.choose import CpuCopies  # noqa: E402
from pd_launch.connector.copying.streaming import LEAST_BYTES, MOST_BYTES, StreamingCopy, streaming  # noqa: E402
from pd_launch.connector.pool import HostPool  # noqa: E402


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


def test_large_copies_go_past_the_caches_and_small_ones_take_one_call() -> None:
    way = streaming(pool(128, 64).regions, pool(128, 64).regions)
    assert way is not None
    least, most = -(-LEAST_BYTES // 192), MOST_BYTES // 192
    assert way.takes(least) and not way.takes(least - 1)
    assert way.takes(1) and way.takes(most) and not way.takes(most + 1)


@pytest.mark.parametrize("least", [0, 1 << 40])
def test_both_ways_copy_the_same(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_BYTES", least)
    device, host = pool(320, 64), pool(320, 64)
    fill(device.regions)
    way = streaming(device.regions, host.regions)
    assert way is not None
    called: list[str] = []
    for name in ("_past", "_near"):
        real = getattr(way, name)
        setattr(way, name, lambda *a, name=name, real=real: (called.append(name), real(*a)))
    way.copy([3, 1, 2], [7, 8, 9])
    assert called == (["_past"] if least == 0 else ["_near"])
    for here, there in zip(device.regions, host.regions, strict=True):
        assert torch.equal(there[[7, 8, 9]], here[[3, 1, 2]])
        assert not there[:7].any() and not there[10:].any()


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """As in a process that has not compiled yet, and again so for the tests after it."""
    streaming_code.load.cache_clear()
    yield
    streaming_code.load.cache_clear()


def numpy_copies() -> bool:
    device, host = pool(128), pool(128)
    fill(device.regions)
    CpuCopies(device.regions, host.regions).save([4], [7])
    return streaming(device.regions, host.regions) is None and torch.equal(host.regions[0][7], device.regions[0][4])


@pytest.mark.usefixtures("uncompiled")
def test_without_llvmlite_numpy_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "llvmlite.py").write_text("raise ImportError('llvmlite')")
    monkeypatch.syspath_prepend(tmp_path)
    assert numpy_copies()


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("program", ["/bin/false", "/bin/echo", "/there/is/none"])
def test_without_code_numpy_copies(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert numpy_copies()


@pytest.mark.usefixtures("uncompiled")
def test_a_compiler_that_does_not_end_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(streaming_code, "PATIENCE", 0.2)
    assert numpy_copies()


@pytest.mark.usefixtures("uncompiled")
def test_where_memory_may_not_be_executed_numpy_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hardened:
        def mprotect(self, *_: Any) -> int:
            return -1

    monkeypatch.setattr(streaming_code.ctypes, "CDLL", lambda *_, **__: Hardened())
    assert numpy_copies()


@pytest.mark.parametrize(
    ("assembly", "reason"),
    [
        ("this is no assembly", "expected"),
        ("@a = global i64 3\ndefine i64 @copy() { %a = load i64, ptr @a\n ret i64 %a }", "needs more than itself"),
        ("declare void @f()\ndefine void @copy() { call void @f()\n ret void }", "needs more than itself"),
    ],
)
def test_code_that_does_not_stand_alone_is_refused(assembly: str, reason: str) -> None:
    """In a process of its own, as llvmlite must not be imported into this one."""
    program = f"from pd_launch.connector.copying import streaming_code as s; s._COPY = {assembly!r}; s.compile_here()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode and "RuntimeError" in done.stderr and reason in done.stderr


def test_the_compiler_stays_out_of_the_process() -> None:
    program = (
        "import sys, torch; from pd_launch.connector.copying.streaming import streaming; "
        "from pd_launch.connector.pool import HostPool; "
        "assert streaming(HostPool(128, [128]).regions, HostPool(128, [128]).regions); "
        "print([name for name in sys.modules if 'llvmlite' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_other_processors_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert streaming(pool(128).regions, pool(128).regions) is None


def test_large_saves_and_loads_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_BYTES", 5 * 128)
    monkeypatch.setattr(module, "MOST_BYTES", 0)
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
