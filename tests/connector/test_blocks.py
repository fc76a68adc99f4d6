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
