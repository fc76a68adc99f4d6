"""What the simulator's steps cost, counted in calls of functions: that does not depend on the machine."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.sim.arrivals import Timed
from pd_launch.schemas.sim.play import Play
from pd_launch.schemas.sim.shape import Engine, Offload
from pd_launch.schemas.sim.work import Job

RUNNING = 128
PARKING = ("parking.py", "ledger.py", "shelf.py", "fit.py", "groups.py")


def _calls(play: Play) -> tuple[int, int]:
    """Return the calls of a whole run, and of these those of the connector's side."""
    every = parking = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal every, parking
        if event == "call":
            every += 1
            parking += frame.f_code.co_filename.endswith(PARKING)

    sys.setprofile(count)
    try:
        play.run()
    finally:
        sys.setprofile(None)
    return every, parking


def _play(host: int | None, **options: bool) -> Play:
    """An engine with room for half of what it runs, and a host pool that parks few or many."""
    engine = Engine(RUNNING * 24 + 1, (Group(16),), RUNNING, 8192, 4096, **options)
    offload = Offload(host) if host is not None else None
    return Play(engine, Timed([Job(0, 400, 368)] * (2 * RUNNING)), offload)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_flat_in_parked_requests(asynchronous: bool) -> None:
    """A step costs no more where many requests are parked: the connector's calls go with events, not with who waits."""
    costs = []
    for host in (90, 400, 1 << 20):
        play = _play(host, asynchronous=asynchronous)
        _, parking = _calls(play)
        side = play.scheduler.parking
        assert side is not None
        costs.append((side.peak_requests, parking / (play.scheduler.calls + 10 * play.played.preempted)))
    peaks = [peak for peak, _ in costs]
    assert peaks[0] * 4 < peaks[-1], peaks
    assert costs[-1][1] < 1.2 * costs[0][1], costs


def test_skipped_steps_cost_next_to_nothing() -> None:
    """Steps in which nobody comes, ends or lacks room are not played one request at a time."""
    found = []
    for output in (1000, 2000):
        engine = Engine(100_000, (Group(16),), 64, 8192, 4096)
        found.append(_calls(Play(engine, Timed([Job(0, 100, output)] * 64)))[0])
    # Of the further steps only the question after their blocks is left, which 64 requests together ask once.
    assert found[1] - found[0] < 5 * 1000, found
