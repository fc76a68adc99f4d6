"""What ports are for, in words."""

from __future__ import annotations

USES = {
    "http": "HTTP",
    "kv": "KV transfer",
    "dp_rpc": "DP master",
    "side_channel": "NIXL side channel",
    "dp_supervisor": "DP supervisor",
}
USES_ZH = {
    "http": "HTTP",
    "kv": "KV 传输",
    "dp_rpc": "DP master",
    "side_channel": "NIXL side channel",
    "dp_supervisor": "DP supervisor",
}


def shown(ports: range, lang: str = "en") -> str:
    """Return a range of ports for people."""
    if len(ports) == 1:
        return f"port {ports.start}" if lang == "en" else f"端口 {ports.start}"
    return f"ports {ports.start}-{ports.stop - 1}" if lang == "en" else f"端口 {ports.start}-{ports.stop - 1}"
