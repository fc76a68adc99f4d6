"""The kinds of hardware a profile can name, and what is known of a node of each."""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.units import GIB


class Hardware(NamedTuple):
    """One kind. Numbers are per node and per device; None is unknown.

    On A3 the guides' "card" is one davinci device, which is one rank: 8 modules of 2 dies make 16.
    """

    kind: str
    ascend: bool
    devices: int | None
    device_bytes: int | None
    device_variable: str | None
    direct_ports: range | None = None
    """The range in which AscendDirect picks its ports at random: 1,000 for each device from 20000."""
    resources: tuple[str, ...] = ()


_NPU = ("huawei.com/Ascend910", "huawei.com/ascend-1980")
HARDWARE = {
    "a2": Hardware("a2", True, 8, 64 * GIB, "ASCEND_RT_VISIBLE_DEVICES", range(20000, 28000), _NPU),
    "a3": Hardware("a3", True, 16, 64 * GIB, "ASCEND_RT_VISIBLE_DEVICES", range(20000, 36000), _NPU),
    "cuda": Hardware("cuda", False, None, None, "CUDA_VISIBLE_DEVICES", resources=("nvidia.com/gpu",)),
    "cpu": Hardware("cpu", False, None, None, None),
}
