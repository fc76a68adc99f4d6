"""What the machine offers for host memory: pinning through the device's own call, and NUMA placement."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path
from typing import Any, Protocol

import torch

MBIND = {"x86_64": 237, "aarch64": 235}  # system call numbers
PREFERRED = 1  # mbind: this node first, others when it is full
SYSFS = Path("/sys")


class Registrar(Protocol):
    """Pins memory that is already mapped, so that a device copies to and from it at full speed and asynchronously."""

    def register(self, address: int, size: int) -> bool:
        """Pin; False where the device refuses."""

    def unregister(self, address: int) -> None:
        """Undo :meth:`register`."""


class CudaRegistrar:
    """``cudaHostRegister``. Not run on a device so far."""

    def register(self, address: int, size: int) -> bool:
        """Pin; False where CUDA refuses."""
        return int(torch.cuda.cudart().cudaHostRegister(address, size, 0)) == 0

    def unregister(self, address: int) -> None:
        """Undo :meth:`register`."""
        torch.cuda.cudart().cudaHostUnregister(address)


class AscendRegistrar:
    """``aclrtHostRegister`` of CANN, type mapped. Not run on a device so far."""

    MAPPED = 0

    def __init__(self) -> None:
        self._library: Any = ctypes.CDLL("libascendcl.so")

    def register(self, address: int, size: int) -> bool:
        """Pin; False where CANN refuses."""
        mapped = ctypes.c_void_p()
        status = self._library.aclrtHostRegister(
            ctypes.c_void_p(address), ctypes.c_uint64(size), ctypes.c_int(self.MAPPED), ctypes.byref(mapped)
        )
        return int(status) == 0

    def unregister(self, address: int) -> None:
        """Undo :meth:`register`."""
        self._library.aclrtHostUnregister(ctypes.c_void_p(address))


def registrar(device: torch.device) -> Registrar | None:
    """Return the way to pin host memory for a device, None where there is no such call."""
    if device.type == "cuda":
        return CudaRegistrar()
    if device.type == "npu":
        try:
            return AscendRegistrar()
        except OSError:
            return None  # no CANN library on the search path
    return None


def device_node(device: torch.device, sysfs: Path = SYSFS) -> int | None:
    """Return the NUMA node that a device is on; None where it cannot be known or there is only one."""
    if len(list((sysfs / "devices/system/node").glob("node[0-9]*"))) < 2:
        return None
    if device.type == "cpu":
        return _node_of_cpus(os.sched_getaffinity(0), sysfs)
    if device.type == "cuda":
        return _node_of_bus(torch.cuda.get_device_properties(device), sysfs)
    return None


def _node_of_cpus(allowed: set[int], sysfs: Path) -> int | None:
    """Return the one node that all CPUs of this process are on."""
    nodes = {
        int(path.parent.name[len("node") :])
        for path in (sysfs / "devices/system/node").glob("node[0-9]*/cpulist")
        if allowed & parse_cpus(path.read_text())
    }
    return nodes.pop() if len(nodes) == 1 else None


def parse_cpus(text: str) -> set[int]:
    """Read a kernel CPU list, such as ``0-3,8``."""
    out: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        out.update(range(int(first), int(last or first) + 1))
    return out


def _node_of_bus(properties: Any, sysfs: Path) -> int | None:
    domain, bus, slot = (getattr(properties, f"pci_{name}_id", None) for name in ("domain", "bus", "device"))
    if domain is None or bus is None or slot is None:
        return None
    path = sysfs / "bus/pci/devices" / f"{domain:04x}:{bus:02x}:{slot:02x}.0" / "numa_node"
    try:
        node = int(path.read_text())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def prefer_node(address: int, size: int, node: int) -> bool:
    """Ask the kernel to take the pages of a mapping from one NUMA node; False where it refuses."""
    number = MBIND.get(platform.machine())
    if number is None:
        return False
    mask = (ctypes.c_ulong * 16)()
    mask[node // 64] = 1 << (node % 64)
    status = ctypes.CDLL(None, use_errno=True).syscall(
        ctypes.c_long(number),
        ctypes.c_void_p(address),
        ctypes.c_ulong(size),
        ctypes.c_int(PREFERRED),
        mask,
        ctypes.c_ulong(1024),
        ctypes.c_uint(0),
    )
    return int(status) == 0
