"""Accelerators: which there are, what controls them, and who holds them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pd_launch.launcher.host.tree import names, open_files, processes, text
from pd_launch.schemas.core.lazy import lazy_pattern

CONTROL = ("davinci_manager", "devmm_svm", "hisi_hdc")
"""Without these an Ascend device cannot be used."""
_HELD = lazy_pattern(r"/dev/(davinci\d+|nvidia\d+)")


def device_count(root: Path) -> int | None:
    """Return how many NPUs are there, or None where there are none or /dev cannot be read."""
    return len(_numbers(names(root / "dev") or [], "davinci")) or None


def device_facts(root: Path) -> dict[str, Any]:
    """Return the numbers of the NPUs, their control devices, the count of GPUs, and who holds a device."""
    found = names(root / "dev")
    if found is None:
        return {}
    return {
        "devices": _numbers(found, "davinci"),
        "control_devices": [name for name in CONTROL if name in found],
        "gpus": len(_numbers(found, "nvidia")),
        "device_holders": _holders(root),
    }


def _numbers(found: list[str], kind: str) -> list[int]:
    return sorted(int(name[len(kind) :]) for name in found if re.fullmatch(rf"{kind}\d+", name))


def _holders(root: Path) -> list[dict[str, Any]]:
    """Return the processes that have a device open, as far as they may be looked at."""
    found = []
    for process in processes(root):
        held = {match[1] for path in open_files(process) or () if (match := _HELD.fullmatch(path))}
        if held:
            name = text(process / "comm").strip()
            found.append({"pid": int(process.name), "name": name, "devices": sorted(held)})
    return found
