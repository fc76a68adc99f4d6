"""Which blocks have pages, when, without any memory: the pages are played."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from pd_launch.connector import reserve as module
from pd_launch.connector.reserve import Peak, Reserve


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_peak_is_remembered_for_one_to_two_periods() -> None:
    clock = Clock()
    peak = Peak(10, clock)
    peak.add(50)
    peak.add(3)
    for second, highest in ((0, 50), (9, 50), (10, 50), (19, 50), (20, 3), (1000, 3)):
        clock.now = 100.0 + second
        assert peak.get() == highest, second
    peak.add(0)
    clock.now += 9.0
    assert peak.get() == 3
    clock.now += 100.0
    assert peak.get() == 0


class Pages:
    """Blocks with pages, and whether a block in use ever lost them."""

    def __init__(self, can: bool = True) -> None:
        self.can = can
        self.has: set[int] = set()
        self.in_use: set[int] = set()
        self.lost: set[int] = set()

    def back(self, first: int, stop: int) -> bool:
        if self.can:
            self.has.update(range(first, stop))
        return self.can

    def release(self, first: int) -> None:
        gone = set(range(first, 1000))
        self.lost |= gone & self.in_use
        self.has -= gone


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
    return condition()


def made(pages: Pages, clock: Clock, ahead: int = 20, blocks: int = 100) -> Reserve:
    return Reserve(pages, blocks, 1 << 20, ahead, idle=0.05, clock=clock)


def step(reserve: Reserve, pages: Pages, used_below: int | None, written: int = 0) -> None:
    with reserve.lock:
        reserve.note(used_below, written)
        pages.in_use = set(range(used_below or 0))
        pages.has |= set(range(written))


def test_nothing_happens_before_the_first_save() -> None:
    pages = Pages()
    reserve = made(pages, Clock())
    for used in (None, 0, 0):
        step(reserve, pages, used)
    assert reserve._thread is None and pages.has == set()
    reserve.close()


@pytest.mark.parametrize(("used", "backed"), [(5, 25), (90, 100)])
def test_some_blocks_beyond_those_in_use_are_backed(used: int, backed: int) -> None:
    pages = Pages()
    reserve = made(pages, Clock())
    step(reserve, pages, used, used)
    assert until(lambda: pages.has == set(range(backed)))
    assert until(lambda: reserve.backed == backed)
    reserve.close()


def test_what_was_not_used_for_long_goes_and_what_is_in_use_stays() -> None:
    pages, clock = Pages(), Clock()
    reserve = made(pages, clock)
    step(reserve, pages, 60, 60)
    assert until(lambda: len(pages.has) == 80)
    step(reserve, pages, 10)
    time.sleep(0.05)
    assert len(pages.has) == 80  # it was needed a moment ago
    clock.now += 1.0
    assert until(lambda: pages.has == set(range(30)))
    step(reserve, pages, 0)
    clock.now += 1.0
    assert until(lambda: pages.has == set())  # the reserve too
    assert pages.lost == set()
    reserve.close()


def test_memory_comes_and_goes_in_pieces_that_are_short_however_large_a_block_is() -> None:
    pages, clock = Pages(), Clock()
    reserve = Reserve(pages, 1000, module.BACK_BYTES // 4, 500, idle=10, clock=clock)
    reserve._thread = threading.Thread()  # turned by hand
    step(reserve, pages, 8, 8)
    pieces = [(reserve.turn() is not None, reserve.backed) for _ in range(2)]
    assert pieces == [(True, 12), (True, 16)]
    while reserve.turn() is not None:
        pass
    assert reserve.backed == 508 and pages.has == set(range(508))
    step(reserve, pages, 0)
    clock.now += 100.0
    at_once = 4 * module.RELEASE_BYTES // module.BACK_BYTES
    assert reserve.turn() is not None and reserve.backed == 508 - at_once
    assert pages.has == set(range(508 - at_once))
    large = Reserve(pages, 10, 4 * module.BACK_BYTES + 4 * module.RELEASE_BYTES, 5, idle=10, clock=clock)
    large._thread = threading.Thread()
    step(large, pages, 1, 1)
    assert large.turn() is not None and large.backed == 2
    step(large, pages, 0)
    clock.now += 100.0
    assert large.turn() is not None and large.backed == 1


def test_a_step_that_does_not_tell_keeps_what_is_there() -> None:
    pages, clock = Pages(), Clock()
    reserve = made(pages, clock)
    step(reserve, pages, 40, 40)
    step(reserve, pages, None)
    clock.now += 10.0
    time.sleep(0.05)
    assert until(lambda: len(pages.has) == 60)
    reserve.close()


def test_an_older_kernel_backs_nothing_ahead() -> None:
    pages, clock = Pages(can=False), Clock()
    reserve = made(pages, clock)
    step(reserve, pages, 40, 40)
    assert until(lambda: reserve._ahead == 0)
    assert pages.has == set(range(40))
    step(reserve, pages, 0)
    clock.now += 1.0
    assert until(lambda: pages.has == set())
    reserve.close()


def test_saves_never_meet_pages_that_go() -> None:
    """One thread plays steps that use more and fewer blocks, as fast as it can, while memory comes and goes."""
    pages = Pages()
    reserve = Reserve(pages, 100, module.RELEASE_BYTES // 3, 20, idle=0.001)
    end = time.monotonic() + 1.0
    number = 0
    while time.monotonic() < end:
        number += 1
        used = (number * 37) % 100 if number % 50 < 10 else 0
        step(reserve, pages, used, used)
        if number % 50 == 49:
            time.sleep(0.004)
    reserve.close()
    assert pages.lost == set()
    assert threading.active_count() >= 1
