"""Versions: of Python packages, of CANN, of drivers, of the system."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from pd_launch.launcher.host.tree import text
from pd_launch.schemas.core.lazy import lazy_pattern

_PACKAGES = {
    "vllm": "vllm",
    "vllm_ascend": "vllm-ascend",
    "torch": "torch",
    "torch_npu": "torch-npu",
    "mooncake": "mooncake-transfer-engine",
    "pd_launch": "pd-launch",
}
_CANN = (
    "usr/local/Ascend/ascend-toolkit/latest/version.cfg",
    "usr/local/Ascend/cann/version.cfg",
    "usr/local/Ascend/ascend-toolkit/latest/compiler/version.info",
    "usr/local/Ascend/cann/compiler/version.info",
)
_VERSION = lazy_pattern(r"(?im)^(?:runtime_running_)?version\s*=\s*\[?(?:[\d.]+:)?([\w.]+)")


def release_facts(root: Path) -> dict[str, Any]:
    """Return all versions."""
    return {
        **{fact: _package(name) for fact, name in _PACKAGES.items()},
        "python": platform.python_version(),
        "cann": _cann(root),
        "npu_driver": _first(_VERSION, text(root / "usr/local/Ascend/driver/version.info")),
        "nvidia_driver": _first(re.compile(r"Kernel Module\s+([\d.]+)"), text(root / "proc/driver/nvidia/version")),
        "kernel": text(root / "proc/sys/kernel/osrelease").strip() or None,
        "machine": platform.machine(),
        "container": _container(root),
        "vllm_plugins": _plugins(),
    }


def _package(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _plugins() -> list[str] | None:
    """Return the plugins that vLLM loads here in each of its processes, by name; None where there is no vLLM here."""
    if _package("vllm") is None:
        return None
    return sorted({point.name for point in metadata.entry_points(group="vllm.general_plugins")})


def _cann(root: Path) -> str | None:
    home = os.environ.get("ASCEND_TOOLKIT_HOME") or os.environ.get("ASCEND_HOME_PATH")
    own = [f"{home.strip('/')}/version.cfg", f"{home.strip('/')}/compiler/version.info"] if home else []
    for path in (*own, *_CANN):
        found = _first(_VERSION, text(root / path))
        if found:
            return found
    return None


def _first(pattern: re.Pattern[str], written: str) -> str | None:
    match = pattern.search(written)
    return match[1] if match else None


def _container(root: Path) -> str | None:
    """Return the kind of container, where it says so itself; that none says so proves nothing."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if (root / ".dockerenv").exists():
        return "docker"
    return "podman" if (root / "run/.containerenv").exists() else None
