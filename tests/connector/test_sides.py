"""The two sides with vLLM's classes but without an engine: what the scheduler says is played by hand."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("vllm.distributed.kv_transfer.kv_connector.v1.base")

from pd_launch.connector.metadata import StepMetadata, WorkerReport  # noqa: E402
from pd_launch.connector.metrics import OffloadStats  # noqa: E402
from pd_launch.connector.scheduler import OffloadScheduler  # noqa: E402
from pd_launch.connector.wording import WORDING, Wording  # noqa: E402
from pd_launch.connector.worker import OffloadWorker  # noqa: E402
from pd_launch.schemas.offload.groups import Group  # noqa: E402
from pd_launch.schemas.offload.ledger import Step, Transfer  # noqa: E402
from pd_launch.schemas.offload.reasons import of_kind  # noqa: E402

WORDS = WORDING["RecomputeCPUOffloadConnector"]


class Pool:
    def __init__(self) -> None:
        self.resets = 0

    def reset_prefix_cache(self) -> bool:
        self.resets += 1
        return True


def scheduler(
    host_blocks: int = 10,
    hash_block_size: int | None = None,
    groups: Sequence[Group] = (Group(4),),
    words: Wording = WORDS,
    pool: Any = None,
) -> OffloadScheduler:
    made = OffloadScheduler(groups, host_blocks, words, hash_block_size)
    made.wrap_reset(pool or Pool())
    made.worker_output(answer(0))  # its workers are there
    return made


def answer(done: int, capacity: int = 100, **fields: Any) -> Any:
    return SimpleNamespace(
        kv_connector_worker_meta=WorkerReport(done, capacity, **fields), invalid_block_ids=set(), finished_recving=None
    )


def request(rid: str = "a", num_tokens: int = 20, **fields: Any) -> Any:
    return SimpleNamespace(request_id=rid, num_tokens=num_tokens, **fields)


def output(
    new: dict[str, tuple[list[list[int]], int]] | None = None,
    cached: dict[str, tuple[list[list[int]] | None, int]] | None = None,
    scheduled: dict[str, int] | None = None,
    preempted: set[str] | None = None,
    finished: set[str] = frozenset(),  # type: ignore[assignment]
    resumed: set[str] = frozenset(),  # type: ignore[assignment]
) -> Any:
    rows = cached or {}
    return SimpleNamespace(
        preempted_req_ids=preempted,
        finished_req_ids=finished,
        num_scheduled_tokens=scheduled or {},
        scheduled_new_reqs=[
            SimpleNamespace(req_id=r, block_ids=b, num_computed_tokens=n) for r, (b, n) in (new or {}).items()
        ],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=list(rows),
            new_block_ids=[b for b, _ in rows.values()],
            num_computed_tokens=[n for _, n in rows.values()],
            resumed_req_ids=resumed,
        ),
    )


def running(made: OffloadScheduler, **fields: Any) -> None:
    """Admit request a with 6 tokens in blocks 1, 2, then decode two more into block 2."""
    made.allocated(request(**fields), [[1, 2]], 0)
    made.step(output(new={"a": ([[1, 2]], 0)}, scheduled={"a": 6}))
    made.step(output(cached={"a": (None, 6)}, scheduled={"a": 1}))
    made.step(output(cached={"a": ([[3]], 7)}, scheduled={"a": 2}))


def counts(made: OffloadScheduler) -> dict[str, float]:
    return made.counts.take()


def test_the_stock_path_saves_what_was_tracked() -> None:
    made = scheduler()
    running(made)
    step = made.step(output(preempted={"a"}))
    assert [t.device for t in step.saves] == [[1, 2, 3]]
    assert counts(made) == {"parked": 1}
    assert made.matched(request(num_tokens=10), 0) == (9, False)
    made.allocated(request(), [[7, 8, 9]], 9)
    step = made.step(output(cached={"a": ([[7, 8, 9]], 9)}, scheduled={"a": 1}, resumed={"a"}))
    assert [t.device for t in step.loads] == [[7, 8, 9]]
    assert counts(made) == {"restored": 1}
    step = made.step(output(preempted={"a"}))
    assert [t.device for t in step.saves] == [[7, 8, 9]]


def test_with_several_groups_a_copy_is_offered_when_its_save_is_reported() -> None:
    made = scheduler(groups=[Group(4), Group(4)])
    made.before_preempt(request(), ([1, 2], [3, 4]), 8)
    step = made.step(output(preempted={"a"}))
    assert step.report
    assert made.matched(request(), 0) == (None, False)
    made.worker_output(answer(step.number))
    assert made.matched(request(), 0) == (8, False)


def test_the_hook_saves_the_exact_table_once() -> None:
    made = scheduler()
    running(made)
    assert made.before_preempt(request(), ([1, 2, 3],), 8)
    assert made.before_preempt(request(), ([1, 2, 3],), 8)
    step = made.step(output(preempted={"a"}))
    assert [t.device for t in step.saves] == [[1, 2]]
    assert counts(made) == {"parked": 1}


def test_after_the_hook_a_victim_is_followed_no_longer() -> None:
    """The table that was tracked may name blocks that others have by now."""
    made = scheduler(host_blocks=1)
    running(made)
    assert made.before_preempt(request(), ([1, 2, 3],), 8)
    assert made.ledger.tables == {}
    made.step(output())
    made.ledger.finish("a")
    step = made.step(output(preempted={"a"}))  # named once more, a step later
    assert step.saves == []
    assert counts(made) == {"fallback.partial": 1, "fallback.untracked": 1, "parked": 1}


def held(made: OffloadScheduler) -> dict[str, Any]:
    """What is remembered of requests and blocks, by name."""
    places = (made, made.ledger, made.ledger.shelf, made.turns)
    kept = {name: value for place in places for name, value in vars(place).items() if isinstance(value, (dict, set))}
    return {name: value for name, value in kept.items() if value}


@pytest.mark.parametrize("end", ["running", "saved", "parked by the hook", "asked", "loading beside", "reset"])
def test_nothing_is_remembered_of_a_request_that_ended(end: str) -> None:
    made = scheduler(hash_block_size=4)
    made.async_from = 1
    asked = request(block_hashes=["h0", "h1", "h2"])
    made.allocated(asked, [[1, 2, 3]], 0)
    made.step(output(new={"a": ([[1, 2, 3]], 0)}, scheduled={"a": 12}))
    if end == "parked by the hook":
        assert made.before_preempt(asked, ([1, 2, 3],), 12)
    if end not in ("running", "reset"):
        made.worker_output(answer(made.step(output(preempted={"a"})).number))
    if end == "reset":
        made.reset()
    if end in ("asked", "loading beside"):
        assert made.matched(asked, 0) == (12, True)
    if end == "loading beside":
        made.allocated(asked, [[4, 5, 6]], 12)
    done = made.step(output(finished={"a"})).number
    over = answer(done)
    over.finished_recving = {"a"} if end == "loading beside" else None
    made.worker_output(over)
    assert held(made) == {}


def test_a_victim_that_does_not_fit_waits_and_is_not_ended() -> None:
    made = scheduler(host_blocks=2)
    assert made.before_preempt(request("b"), ([4, 5],), 8)
    assert made.before_preempt(request("a"), ([1, 2, 3],), 9)  # False would truncate its answer
    assert made.matched(request("a"), 0) == (0, False)
    assert counts(made) == {"parked": 1, "fallback.pool_full": 1}


@pytest.mark.parametrize("words", WORDING.values(), ids=WORDING)
def test_the_line_of_a_victim_that_does_not_fit_tells_what_is_computed_again(
    words: Wording, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr("pd_launch.connector.telling.logger.warning", lambda text, *values: lines.append(text % values))
    made = scheduler(1, words=words)
    assert made.before_preempt(request("b"), ([4],), 4)
    assert made.before_preempt(request("a"), ([1, 2, 3],), 9)
    assert lines == [
        f"Skip {words.feature} offload for request a: CPU cache has 0 free blocks, but 3 are needed; computed_tokens=9 "
        "will be recomputed. Raise cpu_bytes_to_use_per_rank if this happens often"
    ]


def test_the_line_of_a_victim_whose_window_is_gone_does_not_ask_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("pd_launch.connector.telling.logger.warning", lambda text, *values: lines.append(text % values))
    made = scheduler(groups=[Group(4, window=8)])
    assert made.before_preempt(request("a"), ([0, 0, 3],), 12)
    assert lines == [
        "Skip recompute offload for request a: CPU cache has 10 free blocks and 1 would be taken, but blocks that an "
        "attention window looks at were gone; computed_tokens=12 will be recomputed"
    ]
    assert counts(made) == {"fallback.window": 1}


@pytest.mark.parametrize("late", ["finished", "scheduled"])
def test_a_victim_that_ended_or_runs_again_is_not_saved(late: str) -> None:
    made = scheduler()
    running(made)
    if late == "finished":
        step = made.step(output(preempted={"a"}, finished={"a"}))
    else:
        step = made.step(output(preempted={"a"}, cached={"a": ([[5, 6, 7]], 0)}, scheduled={"a": 9}, resumed={"a"}))
    assert step.saves == []
    assert counts(made) == ({} if late == "finished" else {"fallback.reset_running": 1})


def test_resumable_and_untracked_requests_are_refused() -> None:
    made = scheduler()
    running(made, resumable=True)
    assert made.step(output(preempted={"a", "never seen"})).saves == []
    assert counts(made) == {"fallback.resumable": 1, "fallback.untracked": 1}
    assert made.before_preempt(request(resumable=True), ([1],), 4)
    assert made.ledger.copies == {}


def test_a_reset_calls_the_wrap_and_nothing_stale_is_saved() -> None:
    pool = Pool()
    made = scheduler(pool=pool)
    running(made)
    made.before_preempt(request("b"), ([4],), 4)
    assert pool.reset_prefix_cache()
    assert pool.resets == 1
    step = made.step(output(preempted={"a"}))
    assert [t.request_id for t in step.saves] == ["b"]  # already planned: harmless, nobody restores it
    assert made.matched(request("b"), 0) == (0, False)
    assert counts(made)["fallback.reset"] == 1


def test_without_a_reset_to_watch_nothing_is_saved() -> None:
    made = OffloadScheduler([Group(4)], 10, WORDS)
    made.worker_output(answer(0))
    made.wrap_reset(SimpleNamespace())
    running(made)
    assert made.step(output(preempted={"a"})).saves == []
    assert made.before_preempt(request("b"), ([4],), 4)
    assert made.ledger.copies == {}


def test_without_a_worker_of_ours_nothing_is_saved_and_it_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("pd_launch.connector.telling.logger.warning", lambda text, *values: lines.append(text % values))
    made = OffloadScheduler([Group(4)], 10, WORDS)
    made.wrap_reset(Pool())
    running(made)
    step = made.step(output(preempted={"a"}))
    assert step.report and step.saves == []  # each step asks
    assert made.before_preempt(request("b"), ([4],), 4)
    assert made.ledger.copies == {}
    assert len(lines) == 1 and "shut that engine down first" in lines[0]
    made.worker_output(answer(step.number))
    assert not made.step(output()).report
    running(made)
    assert [t.device for t in made.step(output(preempted={"a"})).saves] == [[1, 2, 3]]


def test_an_unfinished_prompt_pass_that_must_be_whole_is_not_saved() -> None:
    made = scheduler()
    wanted = request(num_prompt_tokens=10, skip_reading_prefix_cache=True)
    assert made.before_preempt(wanted, ([1, 2, 3],), 9)
    assert made.ledger.copies == {} and wanted.skip_reading_prefix_cache
    assert counts(made) == {"fallback.prompt_pass": 1}


def test_a_request_that_reads_no_cache_is_let_take_its_own_kv_and_nothing_else() -> None:
    """vLLM looks into its own cache before it asks, and newer releases at the flag once more afterwards."""
    made = scheduler()
    wanted = request(num_tokens=11, num_prompt_tokens=10, skip_reading_prefix_cache=True)
    made.before_preempt(wanted, ([1, 2, 3],), 10)
    made.step(output(preempted={"a"}))
    for _ in range(3):
        assert wanted.skip_reading_prefix_cache  # now vLLM looks into its own
        assert made.matched(wanted, 0) == (10, False)
        assert not wanted.skip_reading_prefix_cache
        made.step(output())  # it was not admitted
    made.matched(wanted, 0)
    made.allocated(wanted, [[7, 8, 9]], 10)
    made.step(output(cached={"a": ([[7, 8, 9]], 10)}, scheduled={"a": 1}, resumed={"a"}))
    assert wanted.skip_reading_prefix_cache
    assert made.matched(wanted, 0) == (0, False)
    assert wanted.skip_reading_prefix_cache  # nothing is offered, so nothing is opened


def test_a_release_that_lets_nobody_write_it_recomputes() -> None:
    class Closed:
        request_id, num_tokens, num_prompt_tokens = "a", 20, 5

        @property
        def skip_reading_prefix_cache(self) -> bool:
            return True

    made = scheduler()
    assert made.before_preempt(Closed(), ([1, 2, 3],), 10)
    assert counts(made) == {"fallback.prompt_pass": 1}
    assert made.matched(Closed(), 0) == (0, False)


def test_the_names_read_of_requests_are_vllms() -> None:
    """A rename would make every refused reset cost the copies again, silently."""
    from pd_launch.connector.requests import RUNNING

    states = pytest.importorskip("vllm.v1.request").RequestStatus
    assert RUNNING in states.__members__ and "PREEMPTED" in states.__members__


def running_request(state: str = "RUNNING", **fields: Any) -> Any:
    return request(status=SimpleNamespace(name=state), **fields)


@pytest.mark.parametrize("way", ["refused", "raises", "works", "tells nothing"])
def test_a_reset_that_is_refused_costs_nothing(way: str) -> None:
    class Stubborn:
        def reset_prefix_cache(self) -> Any:
            if way == "raises":
                raise RuntimeError("in the middle")
            return {"refused": False, "works": True}.get(way)

    pool = Stubborn()
    made = scheduler(pool=pool)
    made.allocated(running_request(), [[1, 2]], 0)
    made.step(output(new={"a": ([[1, 2]], 0)}, scheduled={"a": 8}))
    made.before_preempt(request("b"), ([4],), 4)
    made.step(output(preempted={"b"}))
    if way == "raises":
        with pytest.raises(RuntimeError, match="in the middle"):
            pool.reset_prefix_cache()
    else:
        pool.reset_prefix_cache()
    kept = way == "refused"
    assert made.matched(request("b"), 0) == ((4, False) if kept else (0, False))
    step = made.step(output(preempted={"a"}))
    assert [t.device for t in step.saves] == ([[1, 2]] if kept else [])
    assert counts(made).get("fallback.reset") == (None if kept else 1)


@pytest.mark.parametrize("state", ["PREEMPTED", "FINISHED_ABORTED", None])
def test_a_reset_that_preempted_all_and_is_refused_all_the_same_is_one(state: str | None) -> None:
    """As for a weight update: vLLM throws the running requests' KV away, and so does the connector."""
    pool = SimpleNamespace(reset_prefix_cache=lambda: False)
    made = scheduler(pool=pool)
    victim = running_request()
    made.allocated(victim, [[1, 2]], 0)
    made.step(output(new={"a": ([[1, 2]], 0)}, scheduled={"a": 8}))
    made.before_preempt(request("b"), ([4],), 4)
    made.step(output(preempted={"b"}))
    victim.status = state and SimpleNamespace(name=state)
    assert pool.reset_prefix_cache() is False
    assert made.step(output(preempted={"a"})).saves == []
    assert made.matched(request("b"), 0) == (0, False)
    assert counts(made) == {"parked": 1, "fallback.reset": 1, "fallback.reset_running": 1}


@pytest.mark.parametrize("state", ["RUNNING", "PREEMPTED"])
def test_emptying_the_connectors_cache_leaves_what_runs_alone(state: str) -> None:
    made = scheduler()
    made.allocated(running_request(state), [[1, 2]], 0)
    made.step(output(new={"a": ([[1, 2]], 0)}, scheduled={"a": 8}))
    made.before_preempt(request("b"), ([4],), 4)
    made.step(output(preempted={"b"}))
    assert made.reset_cache() is True
    assert made.matched(request("b"), 0) == (0, False)
    step = made.step(output(preempted={"a"}))
    assert [t.device for t in step.saves] == ([[1, 2]] if state == "RUNNING" else [])


def test_a_scheduler_that_takes_fewer_tokens_than_offered_has_the_rest_reported() -> None:
    made = scheduler(groups=[Group(4, window=8)])
    made.before_preempt(request(), ([0, 0, 23, 24, 25],), 17)
    made.step(output(preempted={"a"}))
    assert made.matched(request(num_tokens=30), 0) == (17, False)
    made.allocated(request(), [[0, 32, 33, 34]], 13)
    (load,) = made.step(output()).loads
    assert load.missing == [32]
    there, _ = worker()
    there.save(Step(1, saves=[Transfer("a", [3, 4], [0, 1])]))
    there.load(Step(1, loads=[Transfer("a", [5, 6], [0, 1], missing=[7])]))
    assert there.take_invalid() == {5, 6, 7}
    assert there.counts.totals()["fallback.load_failed"] == 1


def test_a_request_under_the_identifier_of_one_that_just_ended_is_followed() -> None:
    made = scheduler()
    running(made)
    made.finished("a")
    made.allocated(request(resumable=True), [[4, 5]], 0)
    made.step(output(new={"a": ([[4, 5]], 0)}, scheduled={"a": 6}, finished={"a"}))
    assert made.step(output(preempted={"a"})).saves == []
    assert counts(made) == {"fallback.resumable": 1}


def test_prefix_hashes_share_only_final_full_blocks() -> None:
    made = scheduler(hash_block_size=2)
    for rid, rows in (("a", [[1, 2, 3]]), ("b", [[4, 5, 6]])):
        made.allocated(request(rid, num_tokens=9, block_hashes=[10, 11, 12, 13, 14]), rows, 0)
        made.step(output(new={rid: (rows, 0)}, scheduled={rid: 12}))
    step = made.step(output(preempted={"a", "b"}))
    first, second = sorted(step.saves, key=lambda t: len(t.device), reverse=True)
    assert len(first.device) == 3
    assert len(second.device) == 1  # 12 tokens are computed, but of 9 known ones only two blocks are surely final


@pytest.mark.parametrize(
    "fields", [{"new_block_ids_to_zero": [2]}, {"kv_cache_block_copies": [SimpleNamespace(dst_block_id=2)]}]
)
def test_blocks_that_the_v2_runner_overwrites_first_are_not_saved(fields: dict[str, Any]) -> None:
    for late in (False, True):
        made = scheduler()
        made.saves_late = late
        running(made)
        made.allocated(request("b"), [[4]], 0)
        made.step(output(new={"b": ([[4]], 0)}, scheduled={"b": 4}))
        both = output(preempted={"a", "b"})
        both.__dict__.update(fields)
        step = made.step(both)
        assert sorted(t.request_id for t in step.saves) == (["b"] if late else ["a", "b"])
        assert made.matched(request(num_tokens=20), 0) == ((0, False) if late else (9, False))
        assert counts(made).get("fallback.overwritten") == (1 if late else None)


def test_a_request_that_shares_a_block_which_is_not_saved_recomputes_too() -> None:
    made = scheduler(hash_block_size=4)
    made.saves_late = True
    for rid, rows in (("a", [[1, 2, 3]]), ("b", [[4, 5, 6]])):
        made.allocated(request(rid, num_tokens=12, block_hashes=[10, 11]), rows, 0)
        made.step(output(new={rid: (rows, 0)}, scheduled={rid: 11}))
    both = output(preempted={"a", "b"})
    both.new_block_ids_to_zero = [1, 4]  # whichever of the two is saved first
    assert made.step(both).saves == []
    assert made.ledger.copies == {}


def test_invalid_blocks_cut_what_is_saved() -> None:
    made = scheduler()
    running(made)
    made.worker_output(SimpleNamespace(kv_connector_worker_meta=None, invalid_block_ids={2}, finished_recving=None))
    assert [t.device for t in made.step(output(preempted={"a"})).saves] == [[1]]


def test_reports_move_the_ledger_and_totals_become_counts() -> None:
    made = scheduler()
    running(made)
    step = made.step(output(preempted={"a"}))
    for total in (100.0, 150.0, 150.0):
        report = WorkerReport(step.number, 8, set(), {"saved_bytes": total})
        made.worker_output(
            SimpleNamespace(kv_connector_worker_meta=report, invalid_block_ids=set(), finished_recving=None)
        )
    assert made.ledger.host.total == 8
    stats = made.stats()
    assert stats is not None
    assert stats.data["counts"] == {"parked": 1, "saved_bytes": 150.0}
    assert stats.data["gauges"]["pool_blocks_used"] == 3
    report = WorkerReport(step.number, 8, {0, 1, 2}, {})
    made.worker_output(SimpleNamespace(kv_connector_worker_meta=report, invalid_block_ids=set(), finished_recving=None))
    assert made.matched(request(), 0) == (0, False)
    stats = made.stats()
    assert stats is not None
    assert stats.data["counts"] == {"fallback.save_failed": 1}
    assert made.stats() is None


def test_reports_of_ranks_combine() -> None:
    one = WorkerReport(4, 90, {1}, {"saved_bytes": 5})
    both = one.aggregate(WorkerReport(3, 100, {2}, {"saved_bytes": 6, "x": 1}))
    assert both == WorkerReport(3, 90, {1, 2}, {"saved_bytes": 11, "x": 1})
    assert pickle.loads(pickle.dumps(StepMetadata(Step(3)))) == StepMetadata(Step(3))


def test_statistics_add_up_and_travel_as_dicts() -> None:
    stats = OffloadStats(data={"counts": {"parked": 1}, "gauges": {"pool_blocks_used": 5}})
    stats.aggregate(OffloadStats(data={"counts": {"parked": 2, "restored": 1}, "gauges": {"pool_blocks_used": 3}}))
    assert stats.reduce() == {"parked": 3, "restored": 1, "pool_blocks_used": 3}
    assert not stats.is_empty()
    assert stats["data"] is stats.data
    stats.reset()
    assert stats.is_empty()


def worker(budget: int = 4096) -> tuple[OffloadWorker, Any]:
    made = OffloadWorker(budget, 8, WORDS)
    cache = torch.arange(8 * 256, dtype=torch.int32).view(8, 2, 8, 16)
    made.register({"layer": cache})
    return made, cache


def test_a_worker_saves_before_it_loads_and_reports_when_asked() -> None:
    made, cache = worker()
    before = cache[3].clone()
    step = Step(1, saves=[Transfer("a", [3], [0])], loads=[Transfer("a", [5], [0])], report=True)
    made.save(step)
    cache[3] = 0
    made.save(step)  # some runners call twice: the second time would save what is there by now
    made.load(step)
    assert torch.equal(cache[5], before)
    report = made.report(step)
    assert report is not None
    assert (report.done, report.capacity, report.failed) == (1, 4, set())
    assert report.totals["saved_bytes"] == report.totals["restored_bytes"] == 1024
    assert made.report(Step(2)) is None


def test_a_step_is_loaded_once_however_often_it_is_asked_for() -> None:
    made, _ = worker()
    made.save(Step(1, saves=[Transfer("a", [3], [0])]))
    step = Step(2, loads=[Transfer("a", [5], [0], asynchronous=True)])
    made.load(step)
    made.load(step)
    made.settle()
    assert made.take_loaded() == {"a"}
    made.load(step)
    made.settle()
    assert made.take_loaded() == set(), "vLLM would be told twice, and stops"


def test_a_worker_side_with_a_new_cache_has_nothing_of_before() -> None:
    made, cache = worker()
    made.save(Step(1, saves=[Transfer("a", [3], [0])]))
    later = cache.clone() + 1
    made.register({"layer": later})
    made.load(Step(2, loads=[Transfer("a", [5], [0])]))
    assert made.take_invalid() == {5}
    made.save(Step(3, saves=[Transfer("b", [3], [1])]))
    made.load(Step(3, loads=[Transfer("b", [5], [1])]))
    assert torch.equal(later[5], later[3]) and not torch.equal(later[5], cache[3])
    report = made.report(Step(3, report=True))
    assert report is not None and (report.done, report.failed) == (3, {0, 2, 3})


def test_a_save_that_fails_recomputes_and_the_engine_goes_on() -> None:
    made, cache = worker()
    made.save(Step(1, saves=[Transfer("a", [3], [9])]))  # no such host block
    report = made.report(Step(1, report=True))
    assert report is not None and report.failed == {9}
    made.load(Step(2, loads=[Transfer("a", [5], [9])]))
    assert made.take_invalid() == {5}
    assert made.take_invalid() == set()
    made.save(Step(3, saves=[Transfer("b", [3], [1])]))
    made.load(Step(3, loads=[Transfer("b", [5], [1])]))
    assert torch.equal(cache[5], cache[3])


def test_a_budget_without_room_for_a_block_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no block of 1 KiB; raise cpu_bytes_to_use_per_rank"):
        worker(budget=1000)


def test_what_a_reset_preempts_is_counted_whether_it_runs_again_at_once_or_not() -> None:
    for again in (False, True):
        made = scheduler()
        running(made)
        made.reset()
        made.step(
            output(preempted={"a"}, cached={"a": ([[5, 6, 7]], 0)}, scheduled={"a": 9}, resumed={"a"})
            if again
            else output(preempted={"a"})
        )
        assert counts(made) == {"fallback.reset_running": 1}
        assert made.step(output(preempted={"a"} if not again else {"b"})).saves == []
        assert counts(made) == {"fallback.untracked": 1}  # the reset is over


def test_a_copy_that_nobody_needs_is_counted() -> None:
    made = scheduler()
    running(made)
    made.step(output(preempted={"a"}))
    made.allocated(request(), [[7, 8, 9]], 0)  # the device has as much
    assert counts(made) == {"parked": 1, "fallback.superseded": 1}
    made.allocated(request("new"), [[1]], 0)  # nothing of it was parked
    assert counts(made) == {}


def test_a_request_that_ends_while_it_is_parked_is_counted() -> None:
    made = scheduler()
    running(made)
    made.step(output(preempted={"a"}))
    made.finished("a")
    made.step(output(finished={"a"}))
    assert counts(made) == {"parked": 1, "fallback.ended": 1}
    running(made)
    made.finished("a")
    assert counts(made) == {}


def test_a_victim_that_the_hook_refused_is_counted_once() -> None:
    made = scheduler(host_blocks=2)
    running(made)
    assert made.before_preempt(request("b"), ([4, 5],), 8)
    assert made.before_preempt(request(), ([1, 2, 3],), 9)
    made.step(output(preempted={"a", "b"}))
    assert counts(made) == {"parked": 1, "fallback.pool_full": 1}
    running(made)
    made.step(output(preempted={"a"}))  # a later one without the hook
    assert counts(made) == {"fallback.pool_full": 1}


def test_what_cannot_be_saved_yet_is_counted() -> None:
    silent = OffloadScheduler([Group(4)], 10, WORDS)
    silent.wrap_reset(Pool())
    running(silent)
    silent.step(output(preempted={"a"}))
    assert counts(silent) == {"fallback.no_worker": 1}
    blind = OffloadScheduler([Group(4)], 10, WORDS)
    blind.worker_output(answer(0))
    running(blind)
    blind.step(output(preempted={"a"}))
    assert counts(blind) == {"fallback.no_pool": 1}


@pytest.mark.parametrize("seed", range(20))
def test_every_preemption_and_every_copy_is_accounted_for(seed: int) -> None:
    """Random lives of requests: parked + not saved = preempted, and parked = restored + lost + not needed + parked."""
    draw = random.Random(seed)
    made, totals, preempted = scheduler(host_blocks=draw.choice([3, 6, 12])), {}, 0
    made.saves_late = draw.random() < 0.3
    live: dict[str, str] = {}
    for number in range(200):
        name = f"r{draw.randrange(6)}"
        act = draw.choice(["new", "preempt", "preempt", "resume", "end", "reset", "hook"])
        step = output()
        if act == "new" and name not in live:
            made.allocated(request(name, num_tokens=20), [[1, 2, 3]], 0)
            step, live[name] = output(new={name: ([[1, 2, 3]], 0)}, scheduled={name: 9}), "runs"
        elif act in ("preempt", "hook") and live.get(name) == "runs":
            preempted += 1
            if act == "hook":
                made.before_preempt(request(name, num_tokens=20), ([1, 2, 3],), 9)
            step, live[name] = output(preempted={name}), "waits"
            step.new_block_ids_to_zero = [1] if draw.random() < 0.3 else None
        elif act == "resume" and live.get(name) == "waits":
            found, _ = made.matched(request(name, num_tokens=20), draw.choice([0, 4, 12]))
            made.allocated(request(name, num_tokens=20), [[4, 5, 6, 7, 8]], found or 0)
            step = output(cached={name: ([[4, 5, 6]], found or 0)}, scheduled={name: 9}, resumed={name})
            live[name] = "runs"
        elif act == "end" and name in live:
            made.finished(name)
            step = output(finished={name})
            del live[name]
        elif act == "reset" and draw.random() < 0.2:
            made.reset()
            victims = {name for name, state in live.items() if state == "runs"}
            preempted += len(victims)
            live.update(dict.fromkeys(victims, "waits"))
            step = output(preempted=victims)
        done = made.step(step)
        failed = {block for t in done.saves for block in t.host} if draw.random() < 0.1 else set()
        made.worker_output(answer(done.number, failed=failed))
        for key, value in counts(made).items():
            totals[key] = totals.get(key, 0) + value
        fallback = {
            key.removeprefix("fallback."): value for key, value in totals.items() if key.startswith("fallback.")
        }
        assert totals.get("parked", 0) + of_kind("unsaved", fallback) == preempted, number
        gone = totals.get("restored", 0) + of_kind("lost", fallback) + of_kind("unneeded", fallback)
        assert totals.get("parked", 0) == gone + len(made.ledger.copies), (number, totals)


def test_the_age_of_the_oldest_copy_goes_on_while_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from prometheus_client import REGISTRY, Counter, Gauge, Histogram

    from pd_launch.connector import metrics

    clock = [100.0]
    monkeypatch.setattr(metrics.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(metrics.time, "time", lambda: 1000.0 + clock[0])
    config = SimpleNamespace(kv_transfer_config=SimpleNamespace())
    types = {Counter: Counter, Gauge: Gauge, Histogram: Histogram}
    prom = metrics.OffloadPromMetrics(config, types, ["engine"], {0: ["0"]})

    def seen(name: str) -> float | None:
        return REGISTRY.get_sample_value(metrics.PREFIX + name, {"engine": "0"})

    assert seen("oldest_parked_seconds") == 0
    prom.observe({"counts": {}, "gauges": {"oldest_parked_seconds": 2.0, "pool_blocks_used": 1}})
    assert (seen("oldest_parked_seconds"), seen("oldest_parked_since_seconds")) == (2.0, 1098.0)
    clock[0] += 30
    assert (seen("oldest_parked_seconds"), seen("oldest_parked_since_seconds")) == (32.0, 1098.0)
    prom.observe({"counts": {}, "gauges": {"oldest_parked_seconds": 0.0}})
    clock[0] += 30
    assert (seen("oldest_parked_seconds"), seen("oldest_parked_since_seconds")) == (0.0, 0.0)
    metrics._unregister()
