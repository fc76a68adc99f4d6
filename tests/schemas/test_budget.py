"""The budget arithmetic, against the numbers that the releases' own code gives."""

from __future__ import annotations

import pytest

from pd_launch.schemas.core.parallel import Parallel, device_range
from pd_launch.schemas.core.units import GIB, MIB
from pd_launch.schemas.engine.budget import (
    NEW_NAME,
    OLD_NAME,
    PER_RANK,
    RATIO,
    TOTAL,
    BudgetError,
    describe,
    host_blocks,
    parse_bytes,
    parse_ratio,
    resolve_budget,
)
from pd_launch.schemas.memory.host_memory import ring_bytes

LAYOUTS = {
    "DP2 TP8": Parallel(tensor=8, data=2),
    "DP16 TP1": Parallel(tensor=1, data=16),
    "DP32 TP1": Parallel(tensor=1, data=32),
    "DP4 TP4": Parallel(tensor=4, data=4),
}


@pytest.mark.parametrize(
    ("layout", "world"),
    [
        (Parallel(tensor=8, data=2), 8),
        (Parallel(tensor=2, pipeline=2, data=4), 4),
        (Parallel(tensor=2, prefill_context=2), 4),
        (Parallel(tensor=8, decode_context=8, data=2), 8),
    ],
)
def test_world_size_is_that_of_one_engine(layout: Parallel, world: int) -> None:
    assert layout.world_size == world


@pytest.mark.parametrize(("index", "devices"), [(0, [0, 1, 2, 3]), (3, [12, 13, 14, 15])])
def test_device_range(index: int, devices: list[int]) -> None:
    assert list(device_range(index, 4)) == devices


@pytest.mark.parametrize(
    ("name", "options", "rank", "engine", "side"),
    [
        ("DP2 TP8", {}, 1, 8, 16),
        ("DP16 TP1", {}, 8, 8, 128),
        ("DP32 TP1", {}, 8, 8, 256),
        ("DP4 TP4", {}, 2, 8, 32),
        ("DP2 TP8", {TOTAL: 16 * GIB}, 2, 16, 32),
        ("DP16 TP1", {TOTAL: 16 * GIB}, 16, 16, 256),
        ("DP32 TP1", {TOTAL: 16 * GIB}, 16, 16, 512),
        ("DP4 TP4", {TOTAL: 16 * GIB}, 4, 16, 64),
        ("DP2 TP8", {PER_RANK: 16 * GIB}, 16, 128, 256),
        ("DP16 TP1", {PER_RANK: 16 * GIB}, 16, 16, 256),
        ("DP32 TP1", {PER_RANK: 16 * GIB}, 16, 16, 512),
        ("DP4 TP4", {PER_RANK: 16 * GIB}, 16, 64, 256),
    ],
)
def test_numbers_of_the_guides_layouts(name: str, options: dict[str, int], rank: int, engine: int, side: int) -> None:
    layout = LAYOUTS[name]
    budget = resolve_budget(options, layout.world_size, OLD_NAME)
    assert budget.per_rank_bytes == rank * GIB
    assert budget.per_engine_bytes == engine * GIB
    assert budget.per_node_bytes(layout.data) == side * GIB


@pytest.mark.parametrize(
    ("name", "options", "device", "source", "rank", "ratio"),
    [
        (OLD_NAME, {PER_RANK: 5, TOTAL: 800, RATIO: 2}, None, "per_rank", 5, None),
        (OLD_NAME, {TOTAL: 803, RATIO: 2}, None, "total", 100, None),
        (NEW_NAME, {TOTAL: "800"}, None, "total", 100, None),
        (OLD_NAME, {RATIO: 0.5}, 1000, "ratio", 500, 0.5),
        (NEW_NAME, {RATIO: 2}, None, "ratio", None, 2.0),
        (NEW_NAME, {}, 1000, "default_ratio", 1000, 1.0),
        (NEW_NAME, {}, None, "default_ratio", None, 1.0),
        (OLD_NAME, {PER_RANK: None}, None, "default_total", GIB, None),
    ],
)
def test_which_option_decides(
    name: str, options: dict[str, object], device: int | None, source: str, rank: int | None, ratio: float | None
) -> None:
    budget = resolve_budget(options, 8, name, device)
    assert (budget.source, budget.per_rank_bytes, budget.ratio) == (source, rank, ratio)
    assert budget.per_engine_bytes == (None if rank is None else rank * 8)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "16GiB", "1e9", "", [], "9" * 5000])
def test_refuses_bytes(value: object) -> None:
    with pytest.raises(BudgetError) as error:
        parse_bytes(PER_RANK, value)
    assert error.value.key == PER_RANK


@pytest.mark.parametrize(("value", "size"), [(1, 1), ("17179869184", 16 * GIB), (" 5 ", 5)])
def test_reads_bytes(value: object, size: int) -> None:
    assert parse_bytes(TOTAL, value) == size


@pytest.mark.parametrize("value", [0, -1.0, True, "1", float("nan"), float("inf"), 10**400, None])
def test_refuses_ratios(value: object) -> None:
    with pytest.raises(BudgetError, match="offload_host_memory_ratio: must be a finite number above 0"):
        parse_ratio(value)


def test_a_ratio_beyond_all_memory_is_refused() -> None:
    with pytest.raises(BudgetError, match=RATIO):
        resolve_budget({RATIO: 1e308}, 8, NEW_NAME, 64 * GIB)


def test_a_total_smaller_than_the_ranks_is_refused() -> None:
    with pytest.raises(BudgetError, match="7 bytes divided by 8 ranks leaves nothing"):
        resolve_budget({TOTAL: 7}, 8, OLD_NAME)


def test_host_blocks_round_down() -> None:
    assert host_blocks(1000, 300) == 3
    assert host_blocks(299, 300) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({PER_RANK: 16 * GIB}, "16 GiB per card, 128 GiB per engine, 256 GiB per node"),
        ({RATIO: 1.5}, "1.5 × the device KV cache on each card"),
    ],
)
def test_describe(options: dict[str, object], text: str) -> None:
    assert describe(resolve_budget(options, 8, OLD_NAME), 2) == text


@pytest.mark.parametrize(
    ("world", "data", "engines", "cpu", "mib"),
    [
        (8, 2, 2, False, 4160),
        (1, 16, 16, False, 6400),
        (1, 1, 1, False, 0),
        (1, 1, 1, True, 400),
        (8, 4, 1, False, 2080),
    ],
)
def test_ring_bytes(world: int, data: int, engines: int, cpu: bool, mib: int) -> None:
    assert ring_bytes(world, data, engines, cpu) == mib * MIB
