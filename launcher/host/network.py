"""Ports on which something listens, interfaces, and addresses."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import psutil

from pd_launch.launcher.host.tree import ROOT, text


def ports_in_use(root: Path) -> list[int] | None:
    """Return the TCP ports on which something listens, from /proc/net/tcp and tcp6 (no privileges needed)."""
    ports: set[int] = set()
    readable = False
    for name in ("tcp", "tcp6"):
        lines = text(root / "proc/net" / name)
        readable = readable or bool(lines)
        for line in lines.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 3 and fields[3] == "0A":
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return sorted(ports) if readable else None


def interface_facts(root: Path) -> dict[str, Any]:
    """Return the interfaces with their IPv4 addresses, and the one of the default route."""
    found: dict[str, list[str]] = {name: [] for name in psutil.net_if_addrs()}
    for address, name in addresses().items():
        found[name].append(address)
    return {"interfaces": found or None, "default_interface": default_interface(root)}


def addresses() -> dict[str, str]:
    """Return this host's IPv4 addresses, each with its interface."""
    found = {}
    for name, entries in psutil.net_if_addrs().items():
        for entry in entries:
            if entry.family == socket.AF_INET:
                found[entry.address] = name
    return found


def default_interface(root: Path = ROOT) -> str | None:
    """Return the interface of the default route, or None."""
    for line in text(root / "proc/net/route").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 2 and fields[1] == "00000000":
            return fields[0]
    return None
