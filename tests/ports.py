"""Ports that no other test takes at the same time: not in this run, in another one, or of another user."""

from __future__ import annotations

import os
import socket

_FIRST, _LAST, _BLOCK = 20000, 32000, 8
_CLAIMS: list[socket.socket] = []
"""Held until this process ends: the kernel then gives them up, however it ended."""


def free_ports(count: int) -> int:
    """Return the first of ``count`` free ports in a row, up to eight."""
    assert count <= _BLOCK
    blocks = range(_FIRST, _LAST, _BLOCK)
    start = os.getpid() % len(blocks)
    for first in [*blocks[start:], *blocks[:start]]:
        if _claimed(first):
            if all(_free(port) for port in range(first, first + count)):
                return first
            _CLAIMS.pop().close()
    raise AssertionError("no free ports")


def _claimed(first: int) -> bool:
    """Claim a block by a name that all processes of this network see and that is no file."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0pd-launch-test-ports-{first}")
    except OSError:
        claim.close()
        return False
    _CLAIMS.append(claim)
    return True


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
