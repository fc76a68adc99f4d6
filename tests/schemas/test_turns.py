"""Restores beside the steps one by one: who waits, and who need not."""

from __future__ import annotations

from pd_launch.schemas.offload.turns import OneByOne


def test_a_second_restore_waits_and_others_come_in() -> None:
    turns = OneByOne()
    assert not turns.must_wait("a", True)
    turns.begins("a")
    assert turns.must_wait("b", True) and not turns.must_wait("c", False)


def test_one_that_is_there_goes_before_everybody() -> None:
    turns = OneByOne()
    turns.begins("a")
    turns.over("a")
    assert turns.must_wait("b", True) and turns.must_wait("c", False)
    turns.ran("a")
    assert not turns.must_wait("b", True) and not turns.must_wait("c", False)


def test_one_that_is_asked_for_anew_or_gone_holds_nobody_up() -> None:
    turns = OneByOne()
    for end in (lambda: turns.must_wait("a", True), lambda: turns.ran("a")):
        turns.begins("a")
        end()
        assert not turns.must_wait("b", True)
    turns.over("a")  # a report that comes after its end
    assert not turns.must_wait("b", False)
