"""What the ledger's books consist of, and what it ships to the workers. Pure Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.offload.groups import Group

Hashes = Sequence[Sequence[object]]


class State(Enum):
    """Where the copy of a parked request is."""

    SAVING = "saving"
    READY = "ready"
    RESTORING = "restoring"


@dataclass
class Table:
    """A running request: device block ids, one row per group (0 = null), and the tokens whose KV they hold."""

    rows: list[list[int]]
    computed: int


@dataclass
class Copy:
    """A parked request: host blocks at the positions of its rows, None where nothing was saved."""

    rows: list[list[int | None]]
    tokens: int
    state: State
    step: int
    since: float
    local: int = 0
    save: Transfer | None = None  # while it is SAVING

    def host_blocks(self) -> list[int]:
        """Return the host blocks it refers to."""
        return [block for row in self.rows for block in row if block is not None]

    def covers(self, groups: Sequence[Group], local: int, tokens: int) -> bool:
        """Whether it holds all that a restore of ``tokens`` needs beyond the ``local`` ones."""
        for group, row in zip(groups, self.rows, strict=True):
            first = max(local // group.block_size, group.first_needed(tokens))
            if any(block is None for block in row[first : group.blocks(tokens)]):
                return False
        return True


@dataclass
class Transfer:
    """Block copies of one request: ``device[i]`` and ``host[i]`` belong together.

    ``missing`` are device blocks of a load that wait for content which was never saved.
    """

    request_id: str
    device: list[int] = field(default_factory=list)
    host: list[int] = field(default_factory=list)
    asynchronous: bool = False
    missing: list[int] = field(default_factory=list)


@dataclass
class Step:
    """What the workers do in one engine step: all saves, then all loads.

    ``used_below`` is a number that all host blocks are below which anybody holds or a copy touches; None: not told.
    """

    number: int
    saves: list[Transfer] = field(default_factory=list)
    loads: list[Transfer] = field(default_factory=list)
    report: bool = False  # the ledger waits for the report of this or an earlier step
    used_below: int | None = None


@dataclass(frozen=True)
class Parked:
    """The outcome of a save: tokens parked of those computed, host blocks it refers to, blocks really copied."""

    tokens: int
    computed: int
    blocks: int
    copied: int
    needed: int
    free: int
