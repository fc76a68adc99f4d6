"""THE budget arithmetic: how much host memory the offload connector gets. Used by rules, planner and connector alike.

Three ways to say it, the first that is given wins:

1. ``cpu_bytes_to_use_per_rank``: bytes for each rank (card).
2. ``cpu_bytes_to_use``: bytes for one engine (one DP rank), divided by its world size TP × PP × PCP. DP does not
   divide it: each DP engine has its own total. The upstream guides say otherwise; the code does this.
3. ``offload_host_memory_ratio``: host blocks as a multiple of the device's blocks.

With none of them: 8 GiB for the engine under the old connector name, ratio 1 under the new one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from pd_launch.schemas.core.errors import ValueFault, written
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import GIB, counted, human_size

PER_RANK = "cpu_bytes_to_use_per_rank"
TOTAL = "cpu_bytes_to_use"
RATIO = "offload_host_memory_ratio"
PREFIX_CACHING = "enable_offload_prefix_caching"
DEFAULT_TOTAL = 8 * GIB
MAX_RATIO = 10**12
"""No host has so much more memory than a device; the bound keeps the product an exact size."""
OLD_NAME = "RecomputeCPUOffloadConnector"
NEW_NAME = "PreemptOffloadConnector"
OFFLOAD_NAMES = (OLD_NAME, NEW_NAME)

BudgetSource = Literal["per_rank", "total", "ratio", "default_total", "default_ratio"]


class BudgetError(ValueFault):
    """A budget option that cannot be used. ``key`` names the option, ``reason`` says what to write."""

    def __init__(self, key: str, reason: Msg) -> None:
        super().__init__(Msg(f"{key}: {reason.en}", f"{key}：{reason.zh}"))
        self.key = key
        self.reason = reason


class Budget(NamedTuple):
    """What one rank gets.

    ``per_rank_bytes`` is None where it follows from a ratio and the device cache is not known; ``ratio`` is then set.
    """

    source: BudgetSource
    ranks_per_engine: int
    per_rank_bytes: int | None
    ratio: float | None = None

    @property
    def per_engine_bytes(self) -> int | None:
        """Bytes of all ranks of one engine."""
        return None if self.per_rank_bytes is None else self.per_rank_bytes * self.ranks_per_engine

    def per_node_bytes(self, engines: int, ranks: int | None = None) -> int | None:
        """Bytes of ``engines`` engines on one node; ``ranks`` of each are there, all where it is None."""
        if self.per_rank_bytes is None:
            return None
        return self.per_rank_bytes * (self.ranks_per_engine if ranks is None else ranks) * engines


def parse_bytes(key: str, value: object) -> int:
    """Return a byte option as the bundled connector reads it: a positive integer, or a decimal string of one.

    Raises:
        BudgetError: booleans, floats, strings with units, zero and negative numbers.
    """
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,30}", value.strip()):
        value = int(value.strip())
    if isinstance(value, bool) or not isinstance(value, int):
        raise BudgetError(
            key,
            Msg(
                f"must be a number of bytes as an integer, such as 17179869184 for 16 GiB; got {written(value)}",
                f"应当是整数字节数，例如 16 GiB 写 17179869184；现在是 {written(value)}",
            ),
        )
    if value <= 0:
        raise BudgetError(key, Msg(f"must be more than 0 bytes; got {value}", f"应当大于 0 字节；现在是 {value}"))
    return value


def parse_ratio(value: object) -> float:
    """Return ``offload_host_memory_ratio`` as a positive finite float.

    Raises:
        BudgetError: it is anything else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < MAX_RATIO:
        raise BudgetError(
            RATIO,
            Msg(
                f"must be a finite number above 0, such as 1.0; got {written(value)}",
                f"应当是大于 0 的有限数，例如 1.0；现在是 {written(value)}",
            ),
        )
    return float(value)


def split_total(total: int, world_size: int) -> int:
    """Return the bytes each rank gets of an engine's ``total``: whole bytes, rounded down."""
    return total // world_size


def resolve_budget(
    options: Mapping[str, object], world_size: int, name: str, device_cache_bytes: int | None = None
) -> Budget:
    """Return the budget that ``options`` (a connector's extra config) give each rank.

    Args:
        options: the connector's ``kv_connector_extra_config``.
        world_size: TP × PP × PCP of one engine.
        name: the connector's name, which decides the default.
        device_cache_bytes: bytes of one rank's device KV cache, where known; a ratio needs it.

    Raises:
        BudgetError: an option is not usable, or nothing is left for a rank.
    """
    per_rank = options.get(PER_RANK)
    if per_rank is not None:
        return Budget("per_rank", world_size, parse_bytes(PER_RANK, per_rank))
    total = options.get(TOTAL)
    if total is not None:
        share = split_total(parse_bytes(TOTAL, total), world_size)
        if share == 0:
            raise BudgetError(
                TOTAL,
                Msg(
                    f"{total} bytes divided by {counted(world_size, 'rank')} leaves nothing for a rank",
                    f"{total} 字节除以 {world_size} 个 rank 之后，每个 rank 一个字节也得不到",
                ),
            )
        return Budget("total", world_size, share)
    ratio = options.get(RATIO)
    if ratio is not None or name == NEW_NAME:
        value = 1.0 if ratio is None else parse_ratio(ratio)
        size = None if device_cache_bytes is None else int(device_cache_bytes * value)
        return Budget("default_ratio" if ratio is None else "ratio", world_size, size, value)
    return Budget("default_total", world_size, split_total(DEFAULT_TOTAL, world_size))


def host_blocks(per_rank_bytes: int, bytes_per_block: int) -> int:
    """Return how many blocks of ``bytes_per_block`` (all layers of one rank) fit into a rank's budget."""
    return per_rank_bytes // bytes_per_block


def describe(budget: Budget, engines: int, part: str = "card") -> str:
    """Return one line for people: what each ``part`` (a card, a rank), each engine and each node gets."""
    if budget.per_rank_bytes is None:
        return f"{budget.ratio:g} × the device KV cache on each {part}"
    node = budget.per_node_bytes(engines) or 0
    engine = budget.per_engine_bytes or 0
    each = f"{human_size(budget.per_rank_bytes)} per {part}"
    return f"{each}, {human_size(engine)} per engine, {human_size(node)} per node"
