"""The simulator against recorded logs of real engines: who was preempted when, what was parked and restored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pd_launch.launcher.commands.simulate import _version
from pd_launch.launcher.simulate.engine import sized
from pd_launch.launcher.simulate.loglines import read_log
from pd_launch.launcher.simulate.sized import Given
from pd_launch.schemas.sim.arrivals import Timed
from pd_launch.schemas.sim.play import Play
from pd_launch.schemas.sim.shape import Offload
from pd_launch.schemas.sim.work import Job

REAL = Path(__file__).resolve().parents[1] / "logs" / "real"
EIGHT = [Job(0, 100, 150)] * 8
PARKED = re.compile(
    r"Created \S{1,40} offload state for request \S{1,80}: computed_tokens=(\d{1,9}) saved_tokens=(\d{1,9})"
)
SKIPPED = re.compile(r"Skip \S{1,40} offload for request")
RESTORED = re.compile(r"Prepared \S{1,40} offload H2D load for request \S{1,80}: external_tokens=(\d{1,9})")
HOST = re.compile(r"(\d{1,9}) host blocks of")


def _played(name: str, given: Given, slower: int = 0) -> tuple[Play, list[tuple[int, int]], list[int]]:
    """Play the log's engine and work; returns what was parked (computed and saved tokens), and restored."""
    path = REAL / f"{name}.log"
    with path.open("rb") as stream:
        log = read_log(stream)
    target = _version(log.version or "0.32.0")
    assert target is not None
    engine = sized(given, None, log, target).engine
    host = HOST.search(path.read_text())
    assert host is not None
    play = Play(engine, Timed(EIGHT), Offload(int(host[1])))
    side = play.scheduler.parking
    assert side is not None
    parked: list[tuple[int, int]] = []
    restored: list[int] = []
    preempted, allocated = side.preempted, side.allocated

    def noted(request: object, rows: object, computed: int) -> bool:
        saved = preempted(request, rows, computed)  # type: ignore[arg-type]
        if saved:
            parked.append((computed, side.ledger.copies[request.key].tokens))  # type: ignore[attr-defined]
        return saved

    def came(request: object, rows: object, external: int, call: int) -> None:
        if external > 0 and request.key in side.ledger.copies:  # type: ignore[attr-defined]
            restored.append(external)
        allocated(request, rows, external, call)  # type: ignore[arg-type]

    side.preempted, side.allocated = noted, came  # type: ignore[method-assign, assignment]
    play.run()
    return play, parked, restored


@pytest.mark.parametrize(
    "name",
    [
        "healthy",
        "0.27.1-healthy",
        "async",
        "multi",
        "two_ranks",
        "partial",
        "pool_full",
        "0.27.1-pool_full",
        "later_name",
    ],
)
def test_what_engines_wrote_is_predicted(name: str) -> None:
    """Every request that was parked, in its order, with its tokens; what came back; what found no room."""
    text = (REAL / f"{name}.log").read_text()
    play, parked, restored = _played(name, Given())
    assert parked == [(int(a), int(b)) for a, b in PARKED.findall(text)]
    assert restored == [int(n) for n in RESTORED.findall(text)]
    assert play.scheduler.parking is not None
    assert play.scheduler.parking.fallbacks["pool_full"] == len(SKIPPED.findall(text))


def test_the_demo_is_predicted() -> None:
    """The demo's decode node. When KV came from the prefill node the log does not say: later lengths may differ."""
    text = (REAL / "served-decode.log").read_text()
    play, parked, restored = _played("served-decode", Given(arrival_steps=1))
    seen = [int(a) for a, _ in PARKED.findall(text)]
    assert [computed for computed, _ in parked][:3] == seen[:3] == [128, 160, 224]
    assert len(parked) == len(seen) == play.played.preempted == 6
    assert len(restored) == len(RESTORED.findall(text)) == 6
    assert play.scheduler.recomputed == 0
