"""The worker side with copies that are under way: what it reports, and when."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("vllm.distributed.kv_transfer.kv_connector.v1.base")

from pd_launch.connector.wording import WORDING  # noqa: E402
from pd_launch.connector.worker import OffloadWorker  # noqa: E402
from pd_launch.schemas.offload.steps import Step, Transfer  # noqa: E402

BLOCKS, WIDTH = 8, 64


class Ticket:
    def __init__(self) -> None:
        self.over = False
        self.error: Exception | None = None

    def done(self) -> bool:
        if self.error:
            raise self.error
        return self.over


class Slow:
    """Copies that end when the test says so."""

    def __init__(self, device: Any, host: Any) -> None:
        self.tickets: list[tuple[str, Ticket]] = []
        self.closed = False

    def _issue(self, kind: str) -> Ticket:
        self.tickets.append((kind, Ticket()))
        return self.tickets[-1][1]

    def save(self, device: Any, host: Any) -> Ticket:
        return self._issue("save")

    def load(self, device: Any, host: Any) -> Ticket:
        return self._issue("load")

    def load_aside(self, device: Any, host: Any) -> Ticket:
        return self._issue("aside")

    def close(self) -> None:
        self.closed = True


def worker(make: Any = Slow) -> OffloadWorker:
    made = OffloadWorker(BLOCKS * WIDTH, BLOCKS, WORDING["RecomputeCPUOffloadConnector"], make=make)
    made.register({"layer": torch.arange(BLOCKS, dtype=torch.uint8)[:, None].expand(BLOCKS, WIDTH).contiguous()})
    return made


def step(number: int, saves: str = "", loads: str = "", asides: str = "") -> Step:
    def transfer(name: str, aside: bool = False) -> Transfer:
        return Transfer(name, [ord(name) % BLOCKS], [ord(name) % BLOCKS], aside)

    loading = [transfer(name) for name in loads] + [transfer(name, True) for name in asides]
    return Step(number, [transfer(name) for name in saves], loading, report=True)


def run(made: OffloadWorker, each: Step) -> Any:
    made.save(each)
    made.load(each)
    return made.report(each)


def tickets(made: OffloadWorker) -> list[Ticket]:
    return [ticket for _, ticket in made._copies.tickets]  # type: ignore[union-attr]


def test_a_step_is_reported_when_its_copies_and_all_before_are_over() -> None:
    made = worker()
    assert run(made, step(1)).done == 1
    assert run(made, step(2, saves="a")).done == 1
    assert run(made, step(3, saves="b", loads="c")).done == 1
    of_a, of_b, of_c = tickets(made)
    of_b.over = of_c.over = True
    assert run(made, step(4)).done == 1
    of_a.over = True
    assert run(made, step(5)).done == 5


def test_a_load_of_its_step_holds_the_report_back() -> None:
    made = worker()
    assert run(made, step(1, loads="a")).done == 0
    tickets(made)[0].over = True
    assert made.report(step(1)).done == 1  # type: ignore[union-attr]


def test_the_end_of_an_asynchronous_load_is_told_once() -> None:
    made = worker()
    run(made, step(1, loads="a", asides="b"))
    assert [kind for kind, _ in made._copies.tickets] == ["load", "aside"]  # type: ignore[union-attr]
    assert made.take_loaded() == set()
    for ticket in tickets(made):
        ticket.over = True
    assert made.take_loaded() == {"b"}
    assert made.take_loaded() == set()


def test_a_save_that_fails_under_way_is_reported_and_never_restored() -> None:
    made = worker()
    run(made, step(1, saves="a"))
    tickets(made)[0].error = RuntimeError("the device is gone")
    report = made.report(step(1))
    assert report is not None and (report.done, report.failed) == (1, {ord("a") % BLOCKS})
    run(made, step(2, loads="a"))
    assert made.take_invalid() == {ord("a") % BLOCKS}


def test_an_asynchronous_load_that_fails_under_way_ends_and_invalidates_its_blocks() -> None:
    made = worker()
    run(made, step(1, asides="a"))
    tickets(made)[0].error = RuntimeError("the device is gone")
    assert made.take_loaded() == {"a"}
    assert made.take_invalid() == {ord("a") % BLOCKS}
    assert made.counts.totals()["fallback.load_failed"] == 1


def test_an_asynchronous_load_of_what_was_not_saved_ends_too() -> None:
    made = worker()
    made._failed.add(ord("a") % BLOCKS)
    run(made, step(1, asides="a"))
    assert made.take_loaded() == {"a"}
    assert made.take_invalid() == {ord("a") % BLOCKS}


def test_closing_closes_the_copies() -> None:
    made = worker()
    copies = made._copies
    made.close()
    assert copies.closed  # type: ignore[union-attr]


def test_on_a_cpu_an_asynchronous_load_runs_in_a_thread() -> None:
    made = worker(None)
    run(made, step(1, saves="ab"))
    cache = made._copies._pairs[0][0]  # type: ignore[union-attr]
    kept = cache[ord("a") % BLOCKS].copy()
    cache[:] = 99
    run(made, step(2, asides="a"))
    while not (loaded := made.take_loaded()):
        pass
    assert loaded == {"a"}
    assert (cache[ord("a") % BLOCKS] == kept).all() and (cache[ord("b") % BLOCKS] == 99).all()
    made.close()


def test_a_block_that_does_not_exist_fails_its_save() -> None:
    made = worker(None)
    each = Step(1, [Transfer("a", [BLOCKS], [0])], report=True)
    assert run(made, each).failed == {0}
    made.close()
