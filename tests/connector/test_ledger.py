from __future__ import annotations

import pytest

from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.ledger import Ledger, State

FULL = Group(block_size=4)
WINDOWED = Group(block_size=4, window=8)


def parked_ledger(host_blocks: int = 10, tokens: int = 10) -> Ledger:
    ledger = Ledger([FULL], host_blocks)
    ledger.park("a", [[11, 12, 13, 14]], tokens)
    return ledger


def test_a_save_takes_only_the_blocks_that_hold_computed_tokens() -> None:
    ledger = parked_ledger()
    step = ledger.advance()
    assert [(t.request_id, t.device) for t in step.saves] == [("a", [11, 12, 13])]  # 14 is a lookahead block
    assert step.report
    assert ledger.host.free == 7


def test_a_copy_goes_from_saving_to_ready_to_gone() -> None:
    ledger = parked_ledger()
    step = ledger.advance()
    assert ledger.copies["a"].state is State.SAVING
    ledger.report(step.number)
    assert ledger.copies["a"].state is State.READY
    assert ledger.restorable("a", 20, 0) == 10
    load = ledger.plan_restore("a", [[21, 22, 23]], 10)
    assert load is not None and load.device == [21, 22, 23]
    assert ledger.copies["a"].state is State.RESTORING
    step = ledger.advance()
    assert step.loads == [load]
    assert "a" not in ledger.copies
    assert ledger.host.free == 7  # a worker may still be reading
    ledger.report(step.number)
    assert ledger.host.free == 10


def test_a_copy_can_be_restored_while_its_save_is_not_reported_yet() -> None:
    ledger = parked_ledger()
    save = ledger.advance()
    assert ledger.restorable("a", 20, 0) == 10
    ledger.plan_restore("a", [[21, 22, 23]], 10)
    load = ledger.advance()
    ledger.report(save.number)
    assert ledger.host.free == 7
    ledger.report(load.number)
    assert ledger.host.free == 10


@pytest.mark.parametrize(
    ("num_tokens", "local", "expected"), [(20, 0, 10), (10, 0, 9), (8, 4, 3), (20, 12, 0), (1, 0, 0)]
)
def test_restorable_is_clipped_and_exceeds_the_local_hit(num_tokens: int, local: int, expected: int) -> None:
    ledger = parked_ledger()
    assert ledger.restorable("a", num_tokens, local) == expected
    assert "a" in ledger.copies


def test_questions_change_nothing() -> None:
    ledger = parked_ledger()
    ledger.advance()
    for local in (0, 4, 8, 12, 0):
        ledger.restorable("a", 20, local)
        ledger.restorable("unknown", 20, local)
    assert ledger.restorable("a", 20, 4) == 6
    step = ledger.advance()
    assert (step.saves, step.loads) == ([], [])
    assert ledger.host.free == 7


def test_a_restore_leaves_out_what_the_local_cache_has() -> None:
    ledger = parked_ledger()
    ledger.advance()
    assert ledger.restorable("a", 20, 4) == 6
    load = ledger.plan_restore("a", [[31, 32, 33, 34]], 6)
    assert load is not None and load.device == [32, 33]
    assert load.host == ledger.copies["a"].rows[0][1:3]


def test_an_admission_that_needs_nothing_frees_the_copy() -> None:
    ledger = parked_ledger()
    step = ledger.advance()
    ledger.report(step.number)
    assert ledger.plan_restore("a", [[31]], 0) is None
    assert ledger.host.free == 10


def test_preempted_again_replaces_the_older_copy() -> None:
    ledger = parked_ledger()
    ledger.park("a", [[41, 42]], 6)
    step = ledger.advance()
    ledger.report(step.number)
    assert ledger.copies["a"].tokens == 6
    assert ledger.host.free == 8


def test_a_full_pool_parks_the_longest_prefix() -> None:
    ledger = Ledger([FULL], 2)
    parked = ledger.park("a", [[1, 2, 3, 4]], 14)
    assert (parked.tokens, parked.needed, parked.free) == (8, 4, 2)
    assert ledger.advance().saves[0].device == [1, 2]
    assert ledger.restorable("a", 20, 0) == 8
    nothing = ledger.park("b", [[5, 6]], 6)
    assert (nothing.tokens, nothing.needed, nothing.free) == (0, 2, 0)
    assert "b" not in ledger.copies


def test_null_blocks_keep_their_place() -> None:
    ledger = Ledger([WINDOWED], 10)
    ledger.park("a", [[0, 0, 23, 24, 25]], 17)
    assert ledger.advance().saves[0].device == [23, 24, 25]
    assert ledger.restorable("a", 30, 0) == 17
    load = ledger.plan_restore("a", [[0, 0, 33, 34, 35, 36]], 17)
    assert load is not None
    assert load.device == [33, 34, 35]
    assert load.host == ledger.copies["a"].rows[0][2:]


def test_blocks_that_a_window_gave_up_are_not_saved() -> None:
    ledger = Ledger([WINDOWED], 10)
    ledger.park(
        "a", [[21, 22, 23, 24, 25]], 17
    )  # the tracked table still names 21 and 22, which others may have by now
    assert ledger.advance().saves[0].device == [23, 24, 25]


def test_rejected_drafts_may_reach_below_the_window_of_the_tracked_count() -> None:
    ledger = Ledger([Group(4, window=8, slack=6)], 10)
    ledger.park("a", [[21, 22, 23, 24, 25]], 17)
    assert ledger.restorable("a", 13, 0) == 12  # needs position 1, which a save of exactly 17 tokens leaves out
    load = ledger.plan_restore("a", [[0, 32, 33]], 12)
    assert load is not None and load.device == [32, 33]


def test_a_window_that_was_not_saved_is_not_restored() -> None:
    ledger = Ledger([WINDOWED], 10)
    ledger.park("a", [[0, 0, 23, 24, 25]], 17)
    assert ledger.restorable("a", 13, 0) == 0


def test_a_windowed_prefix_is_not_parked_when_its_blocks_are_gone() -> None:
    rows = [[1, 2, 3, 4, 5], [11, 12, 13, 14, 15]]
    assert Ledger([FULL, WINDOWED], 6).park("a", rows, 17).tokens == 16  # needs the same window as 17
    assert Ledger([FULL, WINDOWED], 5).park("a", rows, 17).tokens == 0  # 12 tokens would need position 1
    ledger = Ledger([FULL, WINDOWED], 5)
    assert ledger.park("a", [[1, 2, 3], [11, 12, 13]], 9).tokens == 8  # nothing has left this window yet


def test_hybrid_rows_share_one_pool() -> None:
    ledger = Ledger([FULL, WINDOWED], 20)
    parked = ledger.park("a", [[1, 2, 3, 4, 5], [0, 0, 13, 14, 15]], 17)
    assert (parked.tokens, parked.blocks) == (17, 8)
    copy = ledger.copies["a"]
    assert len(set(copy.host_blocks())) == 8
    ledger.restorable("a", 30, 0)
    load = ledger.plan_restore("a", [[41, 42, 43, 44, 45], [0, 0, 53, 54, 55]], 17)
    assert load is not None and load.device == [41, 42, 43, 44, 45, 53, 54, 55]


def test_a_block_that_was_never_saved_is_missing_and_ends_nothing() -> None:
    ledger = Ledger([WINDOWED], 10)
    ledger.park("a", [[0, 0, 23, 24, 25]], 17)
    ledger.restorable("a", 30, 0)
    load = ledger.plan_restore("a", [[0, 32, 33, 34, 35]], 17)
    assert load is not None and (load.device, load.missing) == ([33, 34, 35], [32])
    assert ledger.advance().loads == [load]


def test_fewer_tokens_than_offered_are_a_shorter_load() -> None:
    ledger = Ledger([FULL], 10)
    ledger.park("a", [[21, 22, 23, 24, 25]], 17)
    assert ledger.restorable("a", 30, 0) == 17
    load = ledger.plan_restore("a", [[31, 32, 33, 34, 35]], 8)
    assert load is not None and (load.device, load.missing) == ([31, 32], [])
    ledger.report(ledger.advance().number)
    assert ledger.host.free == 10


def test_a_step_tells_below_which_number_host_blocks_are_in_use() -> None:
    ledger = Ledger([FULL], 10)
    assert ledger.advance().used_below == 0
    ledger.park("a", [[1, 2, 3]], 12)
    step = ledger.advance()
    assert step.used_below == 3
    ledger.finish("a")
    assert ledger.advance().used_below == 3  # the save is not reported
    ledger.report(step.number)
    assert ledger.advance().used_below == 0


def test_late_and_repeated_reports_are_harmless() -> None:
    ledger = parked_ledger()
    first = ledger.advance()
    ledger.finish("a")
    second = ledger.advance()
    assert second.report  # blocks are still in a copy
    ledger.report(second.number)
    assert ledger.host.free == 10
    ledger.report(first.number)
    ledger.report(second.number)
    assert ledger.host.free == 10
    assert not ledger.advance().report


def test_blocks_are_not_handed_out_while_a_save_writes_them() -> None:
    ledger = parked_ledger(host_blocks=3)
    step = ledger.advance()
    ledger.finish("a")
    assert ledger.park("b", [[1]], 4).tokens == 0
    ledger.report(step.number)
    assert ledger.park("b", [[1]], 4).tokens == 4


def test_a_failed_save_drops_the_copy() -> None:
    ledger = parked_ledger()
    ledger.park("b", [[21]], 3)
    step = ledger.advance()
    assert ledger.report(step.number, failed={ledger.copies["a"].host_blocks()[1]}) == ["a"]
    assert ledger.restorable("a", 20, 0) == 0
    assert ledger.restorable("b", 20, 0) == 3
    assert ledger.host.free == 9


def test_a_reset_forgets_tables_and_copies() -> None:
    ledger = parked_ledger()
    ledger.track("r", [[5, 6]], 8)
    step = ledger.advance()
    assert ledger.reset() == 1
    assert ledger.forget("r") is None
    ledger.report(step.number)
    assert ledger.host.free == 10


def test_a_reset_may_leave_running_requests_alone() -> None:
    ledger = parked_ledger()
    ledger.track("r", [[5, 6]], 8)
    assert ledger.reset(running=False) == 1
    assert ledger.tables.keys() == {"r"} and not ledger.copies


def test_an_asynchronous_load_keeps_its_blocks_until_it_is_over() -> None:
    ledger = parked_ledger()
    step = ledger.advance()
    ledger.report(step.number)
    ledger.restorable("a", 20, 0)
    ledger.plan_restore("a", [[1, 2, 3]], 10, asynchronous=True)
    assert ledger.plan_restore("a", [[1, 2, 3]], 10, asynchronous=True) is None  # told again after the load
    step = ledger.advance()
    assert len(step.loads) == 1
    ledger.finish("a")  # aborted while it loads
    ledger.reset()
    ledger.report(step.number)
    assert ledger.host.free == 7
    assert ledger.park("a", [[9]], 4).tokens == 0  # the id is still in use
    assert ledger.loaded("a")
    assert not ledger.loaded("a")
    assert not ledger.loaded("somebody else's")
    assert ledger.host.free == 10


def test_tables_follow_the_scheduler() -> None:
    ledger = Ledger([FULL, FULL], 4)
    ledger.track("a", [[1], [2]], 4)
    ledger.extend("a", [[3], []], 5)
    ledger.extend("a", None, 6)
    ledger.extend("unknown", [[7], [8]], 9)
    table = ledger.forget("a")
    assert table is not None
    assert (table.rows, table.computed) == ([[1, 3], [2]], 6)
    assert ledger.tables == {}


def test_invalid_blocks_cut_the_tracked_count() -> None:
    ledger = Ledger([FULL], 4)
    ledger.track("a", [[1, 2, 3]], 10)
    ledger.track("b", [[4, 5]], 7)
    assert ledger.distrust({3, 2}) == []
    assert (ledger.tables["a"].computed, ledger.tables["b"].computed) == (4, 7)


def test_a_save_that_read_blocks_of_a_failed_load_is_dropped() -> None:
    """Steps are scheduled ahead: the victim was preempted before anybody knew that its restore had failed."""
    ledger = Ledger([FULL], 10)
    ledger.park("a", [[1, 2]], 8, [["h0"]])
    ledger.park("b", [[3, 4]], 8, [["h0"]])  # shares the first block
    ledger.park("c", [[5]], 4)
    ledger.advance()
    assert ledger.distrust({1}) == ["a", "b"]
    assert ledger.restorable("c", 20, 0) == 4
    step = ledger.advance()
    ledger.report(step.number)
    assert ledger.distrust({5}) == []  # saved and reported before: by now the block is somebody else's
    assert ledger.restorable("c", 20, 0) == 4


def test_equal_hashes_share_a_host_block_with_counted_references() -> None:
    ledger = Ledger([FULL], 10)
    ledger.park("a", [[1, 2, 3]], 10, [["h0", "h1"]])
    parked = ledger.park("b", [[4, 5, 6]], 11, [["h0", "x1"]])
    assert (parked.blocks, parked.copied) == (3, 2)
    step = ledger.advance()
    assert [t.device for t in step.saves] == [[1, 2, 3], [5, 6]]
    ledger.report(step.number)
    ledger.finish("a")
    assert ledger.host.free == 7
    assert ledger.restorable("b", 20, 0) == 11
    ledger.finish("b")
    assert ledger.host.free == 10
    ledger.park("c", [[7]], 4, [["h0"]])  # the shared block is gone, so it is saved again
    assert ledger.advance().saves[0].device == [7]


def test_what_an_unreported_load_brought_is_not_shared() -> None:
    ledger = Ledger([FULL], 10)
    ledger.park("a", [[1, 2]], 8, [["h0"]])
    ledger.report(ledger.advance().number)
    ledger.restorable("a", 20, 0)
    ledger.plan_restore("a", [[3, 4]], 8)
    load = ledger.advance()
    ledger.park("a", [[3, 4]], 8, [["h0"]])  # at once: nobody knows yet whether 3 and 4 hold what they should
    assert ledger.park("b", [[5, 6]], 8, [["h0"]]).copied == 2
    ledger.advance()
    ledger.report(load.number)
    ledger.park("a", [[3, 4]], 8, [["h0"]])
    assert ledger.park("c", [[7, 8]], 8, [["h0"]]).copied == 1


def test_after_a_reset_nothing_is_shared_with_what_was_saved_before() -> None:
    """A copy that is being loaded stays, and so do its blocks: their content is of the weights before."""
    ledger = Ledger([FULL], 10)
    ledger.park("a", [[1, 2]], 8, [["h0", "h1"]])
    ledger.report(ledger.advance().number)
    ledger.restorable("a", 20, 0)
    ledger.plan_restore("a", [[3, 4]], 8, asynchronous=True)
    ledger.reset()
    assert ledger.copies.keys() == {"a"}
    assert ledger.park("b", [[5, 6]], 8, [["h0", "h1"]]).copied == 2
    assert ledger.loaded("a")
    assert ledger.park("c", [[7, 8]], 8, [["h0", "h1"]]).copied == 0  # the new content is still found by its name


def test_sharing_lets_more_fit() -> None:
    ledger = Ledger([FULL], 3)
    ledger.park("a", [[1, 2]], 8, [["h0", "h1"]])
    assert ledger.park("b", [[3, 4, 5]], 12, [["h0", "h1", "h2"]]).tokens == 12


def test_the_oldest_copy_tells_its_age() -> None:
    now = [100.0]
    ledger = Ledger([FULL], 10, clock=lambda: now[0])
    assert ledger.oldest_parked_seconds() == 0
    ledger.park("a", [[1]], 4)
    now[0] = 107.5
    ledger.park("b", [[2]], 4)
    assert ledger.oldest_parked_seconds() == 7.5
    ledger.finish("a")
    assert ledger.oldest_parked_seconds() == 0
