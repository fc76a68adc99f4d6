"""Pairs of a prefill and a decode launch."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.sides import of_side

PREFILL = Msg("the prefill side", "预填充侧")
DECODE = Msg("the decode side", "解码侧")
SIDE_ZH = {"prefill": "预填充", "decode": "解码"}
"""A side in Chinese."""


_OF_A_RANK = ("port", "data-parallel-rank", "data-parallel-start-rank", "data-parallel-rpc-port", "node-rank")
"""Arguments that differ between the ranks of one side, and mean nothing to the other."""


def pairs(deployment: Deployment) -> Iterator[tuple[NodeLaunch, NodeLaunch]]:
    """Iterate over all pairs of a prefill and a decode launch; of launches that one command starts, over the first."""
    decodes = _commands(of_side(deployment, "decode"))
    for prefill in _commands(of_side(deployment, "prefill")):
        for decode in decodes:
            yield prefill, decode


def _commands(nodes: list[NodeLaunch]) -> list[NodeLaunch]:
    """Return one launch for each command and each set of values that may matter to the other side."""
    found: dict[tuple[object, ...], NodeLaunch] = {}
    for node in nodes:
        values = tuple(
            (arg.name, str(arg.value.plain())) for arg in node.args if arg.value and arg.name not in _OF_A_RANK
        )
        found.setdefault((node.origin, node.host, values, node.model and str(node.model.plain())), node)
    return list(found.values())
