"""A range of ports of one engine, and from which data-parallel rank ranges are counted."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Node, Origin


@dataclass(frozen=True)
class PortRange:
    """``count`` ports from ``first``; ``binds`` tells whether this engine opens them or only dials or names them."""

    first: int
    count: int
    use: str
    binds: bool
    origin: Origin
    written: bool = True
    """Whether the number is written in the input, not a default."""

    @property
    def ports(self) -> range:
        """The ports."""
        return range(self.first, self.first + self.count)


def first_rank(node: NodeLaunch) -> int | None:
    """Return the global DP rank of the first engine that ``node`` starts, or None where it is unknown."""
    if node.external_dp:
        return node.number("data-parallel-rank", 0)
    if node.machines == 1 or node.arg("data-parallel-start-rank") is not None:
        return node.number("data-parallel-start-rank", 0)
    number, engines, data, machines = node.number("node-rank", 0), node.local_engines, node.data, node.machines
    if number is None or not engines or not data or not machines:
        return None
    return number * data // machines  # as vLLM infers it


def place_of(node: NodeLaunch, value: Node | None) -> Origin:
    """Return where a port is written, or where the engine is started."""
    return value.origin if value else node.origin
