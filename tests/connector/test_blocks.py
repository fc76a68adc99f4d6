from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pd_launch.schemas.offload.blocks import HostBlocks, runs
from pd_launch.schemas.offload.groups import Group


def test_a_victim_gets_neighbours_when_there_are_some() -> None:
    host = HostBlocks(10)
    first = host.take(3)
    second = host.take(3)
    host.give(first)
    assert len(runs(host.take(4))) == 1  # the four at the end, not the three freed ones and one more
    assert host.take(3) == first
    assert second == [3, 4, 5]
    assert host.free == 0


def test_scattered_blocks_are_used_before_anything_is_refused() -> None:
    host = HostBlocks(6)
    taken = host.take(6)
    host.give([taken[0], taken[2], taken[4]])
    assert sorted(host.take(3)) == [0, 2, 4]
    with pytest.raises(ValueError, match="1 host blocks are asked for, but 0 are free"):
        host.take(1)


@pytest.mark.parametrize("again", [[2], [1, 2, 3], [0, 0]])
def test_giving_back_twice_is_an_error(again: list[int]) -> None:
    host = HostBlocks(8)
    host.take(2)
    with pytest.raises(ValueError, match="given back twice"):
        host.give(again)


def test_a_limit_takes_the_high_blocks_away_for_good() -> None:
    host = HostBlocks(10)
    taken = host.take(8)
    host.limit(5)
    assert (host.total, host.free) == (5, 0)
    host.give(taken)
    assert sorted(host.take(5)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError):
        host.take(1)


@given(st.lists(st.integers(1, 7), max_size=30), st.randoms())
def test_every_block_is_taken_once_and_comes_back(sizes: list[int], random: object) -> None:
    host, held = HostBlocks(40), []
    for size in sizes:
        if size <= host.free:
            held.append(host.take(size))
        elif held:
            host.give(held.pop(random.randrange(len(held))))  # type: ignore[attr-defined]
        everything = [block for blocks in held for block in blocks]
        assert len(set(everything)) == len(everything) == 40 - host.free
    for blocks in held:
        host.give(blocks)
    assert host.take(40) == list(range(40))


def test_runs_keep_the_order() -> None:
    assert runs([4, 5, 6, 1, 9, 8]) == [(4, 3), (1, 1), (9, 1), (8, 1)]


def test_first_needed_follows_the_window() -> None:
    group = Group(block_size=4, window=8, retained=2)
    assert [group.first_needed(n) for n in (0, 9, 12, 13, 17)] == [0, 0, 0, 1, 2]
    assert Group(4).first_needed(1000) == 0
    assert [group.blocks(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_the_shortest_run_that_is_enough_is_taken_and_of_equal_ones_the_lowest() -> None:
    host = HostBlocks(20)
    taken = host.take(20)
    host.give([*taken[2:7], *taken[8:11], *taken[14:17]])
    assert host.take(3) == [8, 9, 10]
    assert host.take(6) == [2, 3, 4, 5, 6, 14]  # no run is enough: the longest first
    assert host.take(2) == [15, 16]


def test_the_highest_block_in_use_is_known() -> None:
    host = HostBlocks(10)
    assert host.used_below == 0
    first, second = host.take(3), host.take(4)
    assert host.used_below == 7
    host.give(first)
    assert host.used_below == 7
    host.limit(8)
    assert host.used_below == 7
    host.give(second)
    assert host.used_below == 0
    host.take(8)
    assert host.used_below == 8
    assert HostBlocks(0).used_below == 0


def test_blocks_beyond_a_limit_are_in_use_until_they_are_given_back() -> None:
    host = HostBlocks(10)
    taken = host.take(8)
    host.limit(5)
    assert host.used_below == 8
    host.give(taken[6:])
    assert host.used_below == 6
    host.give(taken[:6])
    assert host.used_below == 0


class Counted(list):  # type: ignore[type-arg]
    """The list of lengths, which counts how often it is looked at."""

    looks = 0

    def __getitem__(self, index: object) -> object:
        Counted.looks += 1
        return super().__getitem__(index)  # type: ignore[index]


@pytest.mark.parametrize("total", [2_000, 80_000])
def test_taking_costs_what_is_taken_however_many_runs_are_free(total: int) -> None:
    """Single free blocks with a taken one between: the worst that there is."""
    host = HostBlocks(total)
    host.take(total)
    host.give(range(0, total, 2))
    host._lengths, Counted.looks = Counted(host._lengths), 0
    assert host.take(500) == list(range(0, 1000, 2))
    assert Counted.looks <= 4 * 500


def test_books_do_not_grow_with_runs_that_are_gone() -> None:
    host = HostBlocks(64)
    for _ in range(2000):
        single, rest = host.take(1), host.take(3)
        host.give(single)  # a run of one, which grows into a longer one at once
        host.give(rest)
    assert sum(map(len, host._starts.values())) < 64
    host.take(64)
    for _ in range(500):
        host.give([10])
        host.give([11])
        assert host.take(2) == [10, 11]
    assert sum(map(len, host._starts.values())) < 64
    assert host._starts.keys() == host._alive.keys() == set(host._lengths)


def test_a_pool_of_any_size_costs_what_is_taken() -> None:
    host = HostBlocks(10**15)
    first = host.take(3)
    assert host.take(2) == [3, 4]
    host.give(first)
    assert (host.free, host.used_below) == (10**15 - 2, 5)
