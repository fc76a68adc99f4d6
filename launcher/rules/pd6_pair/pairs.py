"""Pairs of a prefill and a decode launch."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Msg
from pd_launch.schemas.launch import Deployment, NodeLaunch
from pd_launch.schemas.sides import of_side

PREFILL = Msg("the prefill side", "预填充一侧")
DECODE = Msg("the decode side", "解码一侧")


def pairs(deployment: Deployment) -> Iterator[tuple[NodeLaunch, NodeLaunch]]:
    """Iterate over all pairs of a prefill and a decode launch."""
    decodes = of_side(deployment, "decode")
    for prefill in of_side(deployment, "prefill"):
        for decode in decodes:
            yield prefill, decode
