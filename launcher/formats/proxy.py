"""The P/D proxy that belongs to a pair of sides, as a line to run in front of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pd_launch.launcher.formats.box import Box, bound, has_connector
from pd_launch.launcher.formats.words import shell_word

_ASCEND = "load_balance_proxy_server_example.py"
_LAYERWISE = "load_balance_proxy_layerwise_server_example.py"
_NIXL = "toy_proxy_server.py"
_PREFILL_FIRST = ("MooncakeConnectorV1", "MooncakeHybridConnector")
PROXY_PORT = 9000


def proxy_command(boxes: Sequence[Box], hosts: Callable[[Box], Sequence[str]]) -> str | None:
    """Return the command of the proxy that the connector goes with, or None where no proxy of its project is known.

    ``hosts`` are the addresses by which a proxy reaches a box, one for each instance.
    """
    program = _program(boxes)
    if program is None or {box.side for box in boxes} != {"prefill", "decode"}:
        return None
    words = [f"python {program} --port {PROXY_PORT}"]
    for side, option in (("prefill", "prefiller"), ("decode", "decoder")):
        served = [(host, port) for b in boxes if b.side == side for host in hosts(b) for port in bound(b, "http")]
        words.append(f"--{option}-hosts {' '.join(shell_word(host) for host, _ in served)}")
        words.append(f"--{option}-ports {' '.join(str(port) for _, port in served)}")
    return " ".join(words)


def _program(boxes: Sequence[Box]) -> str | None:
    if all(has_connector(box, "NixlConnector") for box in boxes):
        return _NIXL
    if all(box.ascend for box in boxes):
        layerwise = all(has_connector(box, "MooncakeLayerwiseConnector") for box in boxes)
        mooncake = any(has_connector(box, name) for box in boxes for name in _PREFILL_FIRST)
        return _LAYERWISE if layerwise else _ASCEND if mooncake else None
    return None
