"""Host memory: exactly the budget, in both layouts, touched without changing a byte, pinned by the device."""

from __future__ import annotations

import ctypes
import errno
import gc
import mmap
import os
import time
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from pd_launch.connector import hostmem  # noqa: E402
from pd_launch.connector import pool as module  # noqa: E402
from pd_launch.connector.hostmem import device_node, parse_cpus, prefer_node, registrar  # noqa: E402
from pd_launch.connector.pool import HostPool  # noqa: E402

WIDTHS = [600, 400, 7]


def resident(pool: HostPool) -> int:
    """Bytes of the mapping that are backed by pages."""
    text = Path("/proc/self/smaps").read_text().splitlines()
    found = [i for i, line in enumerate(text) if line.startswith(f"{pool.address:x}-")]
    if not found:
        return 0
    return next(int(line.split()[1]) for line in text[found[0] :] if line.startswith("Rss:")) * 1024


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Linux only")
def test_a_fork_has_the_mapping_but_not_its_bytes() -> None:
    """Were the mapping gone there, closing the fork's mmap object would unmap what lies in its place by then."""
    pool = HostPool(1 << 20, [4096])
    pool.regions[0].fill_(7)
    pid = os.fork()
    if pid == 0:
        mapped = any(
            int(start, 16) <= pool.address < int(end, 16)
            for start, end in (line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines())
        )
        os._exit(0 if mapped and not any(pool._memory[:]) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert bool((pool.regions[0] == 7).all())


@pytest.mark.parametrize("block_major", [False, True])
def test_regions_cover_the_blocks_once(block_major: bool) -> None:
    pool = HostPool(10_000, WIDTHS, block_major)
    assert (pool.blocks, pool.block_bytes, len(pool._memory)) == (9, 1007, 10_000)
    assert [tuple(region.shape) for region in pool.regions] == [(9, 600), (9, 400), (9, 7)]
    for number, region in enumerate(pool.regions, 1):
        region.fill_(number)
    written = bytes(pool._memory)
    assert [written.count(bytes([number])) for number in (1, 2, 3, 0)] == [5400, 3600, 63, 10_000 - 9063]
    expected = b"\x01" * 600 + b"\x02" * 400 + b"\x03" * 7 if block_major else b"\x01" * 5400
    assert written.startswith(expected)
    pool.close()
    assert pool.regions == []


@pytest.mark.parametrize("kernel", ["new", "old"])
def test_touching_backs_all_of_it_before_anything_is_saved(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel == "old":
        monkeypatch.setattr(module, "POPULATE_WRITE", 9999)
    pool = HostPool(9 << 20, [4096])
    assert resident(pool) == 0
    pool.touch()
    assert 9 << 20 <= resident(pool) <= 1.02 * (9 << 20)
    assert not pool.regions[0].any()
    pool.close()


def test_memory_that_is_not_there_is_told_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> int:
        ctypes.set_errno(errno.ENOMEM)
        return -1

    monkeypatch.setattr(module, "_madvise", refuse)
    pool = HostPool(1 << 20, [4096])
    with pytest.raises(OSError, match="Cannot allocate memory"):
        pool.touch()
    assert not pool.back(0, 1)  # later it is no reason to end the engine
    pool.close()


@pytest.mark.parametrize("block_major", [False, True])
def test_backing_and_releasing_change_no_byte_of_other_blocks(block_major: bool) -> None:
    pool = HostPool(4 << 20, [9000, 123, 5000], block_major)
    for region in pool.regions:
        region[:100] = 7
    assert pool.back(90, 200)
    for region in pool.regions:
        assert (region[:100] == 7).all() and not region[100:].any()
        region[100:] = 9
    before = resident(pool)
    pool.release(100)
    assert resident(pool) < before - (2 << 20)
    for region in pool.regions:
        assert (region[:100] == 7).all()
        assert int((region[100:] == 9).sum()) <= 2 * 4096  # pages that other blocks have a part in
    pool.close()


def test_a_pool_that_nobody_saves_in_is_never_backed() -> None:
    pool = HostPool(64 << 20, [4096])
    pool.start_reserve()
    assert pool.reserve is not None
    for _ in range(1000):
        with pool.reserve.lock:
            pool.reserve.note(0, 0)
    assert resident(pool) == 0
    assert pool.reserve._thread is None
    pool.close()


def test_a_pool_that_is_given_up_without_a_word_goes_with_its_thread() -> None:
    pool = HostPool(64 << 20, [4096])
    pool.start_reserve()
    assert pool.reserve is not None
    pool.reserve._idle = 0.01
    with pool.reserve.lock:
        pool.reserve.note(5, 5)
    thread, gone = pool.reserve._thread, weakref.ref(pool)
    del pool
    assert thread is not None
    deadline = time.monotonic() + 20
    while (gone() is not None or thread.is_alive()) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert gone() is None and not thread.is_alive()


@pytest.mark.parametrize("block_major", [False, True])
def test_resident_is_what_is_used_and_the_reserve_and_goes_when_it_was_idle(block_major: bool) -> None:
    pool = HostPool(64 << 20, [1 << 16] * 2, block_major)
    pool.start_reserve()
    reserve = pool.reserve
    assert reserve is not None
    reserve._idle, reserve._peak._period = 0.2, 0.2
    with reserve.lock:
        reserve.note(400, 400)
        for region in pool.regions:
            region[:400] = 3
    used = 400 * pool.block_bytes
    reserve.settle()
    assert used < resident(pool) <= used + (64 << 20) // 8
    deadline = time.monotonic() + 20
    while resident(pool) > used // 2 and time.monotonic() < deadline:
        with reserve.lock:
            reserve.note(16, 0)  # sixteen blocks are held for long
        time.sleep(0.02)
    assert all((region[:16] == 3).all() for region in pool.regions)
    with reserve.lock:
        reserve.note(0, 0)
    while resident(pool) and time.monotonic() < deadline:  # no step comes any more
        time.sleep(0.02)
    assert resident(pool) == 0
    pool.close()
    assert reserve._thread is not None and not reserve._thread.is_alive()


class Device:
    def __init__(self, accepts: bool) -> None:
        self.accepts = accepts
        self.calls: list[tuple[str, int, int]] = []

    def register(self, address: int, size: int) -> bool:
        self.calls.append(("register", address, size))
        return self.accepts

    def unregister(self, address: int) -> None:
        self.calls.append(("unregister", address, 0))


def test_pinned_memory_is_the_budget_and_is_let_go() -> None:
    pool, device = HostPool(10_000, WIDTHS), Device(accepts=True)
    assert pool.pin(device) and pool.pinned
    pool.touch()
    assert resident(pool) == 0  # the device has seen to that
    address = pool.address
    pool.close()
    assert device.calls == [("register", address, 10_000), ("unregister", address, 0)]


def test_a_device_that_refuses_leaves_the_memory_as_it_is() -> None:
    pool, device = HostPool(10_000, WIDTHS), Device(accepts=False)
    assert not pool.pin(device) and not pool.pinned
    pool.close()
    assert [call[0] for call in device.calls] == ["register"]


def test_devices_without_a_call_have_no_registrar() -> None:
    assert registrar(torch.device("cpu")) is None
    assert isinstance(registrar(torch.device("cuda")), hostmem.CudaRegistrar)


def sysfs(root: Path, nodes: dict[int, str], bus: dict[str, str] | None = None) -> Path:
    for node, cpus in nodes.items():
        folder = root / f"devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus + "\n")
    for address, node in (bus or {}).items():
        folder = root / "bus/pci/devices" / address
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(node + "\n")
    return root


def test_the_node_of_the_cpus_that_this_process_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = sysfs(tmp_path, {0: "0-3,8-11", 1: "4-7,12-15"})
    cpu = torch.device("cpu")
    for allowed, node in (({5, 12}, 1), ({0, 9}, 0), ({0, 5}, None)):
        monkeypatch.setattr(hostmem.os, "sched_getaffinity", lambda _, allowed=allowed: allowed)
        assert device_node(cpu, root) == node


def test_one_node_is_no_choice(tmp_path: Path) -> None:
    assert device_node(torch.device("cpu"), sysfs(tmp_path, {0: "0-3"})) is None


@pytest.mark.parametrize(("text", "node"), [("1", 1), ("-1", None)])
def test_the_node_of_a_card_on_the_bus(text: str, node: int | None, tmp_path: Path, monkeypatch: Any) -> None:
    root = sysfs(tmp_path, {0: "0", 1: "1"}, {"0000:3b:00.0": text})
    card = SimpleNamespace(pci_domain_id=0, pci_bus_id=0x3B, pci_device_id=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    assert device_node(torch.device("cuda"), root) == node
    card.pci_bus_id = 0x3C  # not there
    assert device_node(torch.device("cuda"), root) is None
    del card.pci_bus_id  # an older torch
    assert device_node(torch.device("cuda"), root) is None


def test_devices_whose_place_cannot_be_known(tmp_path: Path) -> None:
    assert device_node(torch.device("xpu"), sysfs(tmp_path, {0: "0", 1: "1"})) is None


def test_cpu_lists() -> None:
    assert parse_cpus("0-2,5\n") == {0, 1, 2, 5}
    assert parse_cpus("\n") == set()


def test_the_kernel_is_asked_for_the_node() -> None:
    memory = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = torch.frombuffer(memory, dtype=torch.uint8).data_ptr()
    assert not prefer_node(address, 1 << 20, 900)  # there is no such node
    if Path("/sys/devices/system/node/node0").exists() and prefer_node(address, 1 << 20, 0):
        lines = Path("/proc/self/numa_maps").read_text().splitlines()
        assert any(line.startswith(f"{address:x} prefer") for line in lines)


def test_other_processors_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostmem.platform, "machine", lambda: "riscv64")
    assert not prefer_node(0, 4096, 0)
