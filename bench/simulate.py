"""The simulator beside vLLM's own scheduler, on the same work in one process: seconds, and whether both say the same.

usage: python bench/simulate.py [--requests N] [--running N] [--only-simulator]

vLLM's scheduler runs without a model (tests/sim/real.py), so that its time is that of scheduling alone. A second table
shows what parked requests cost, the last lines the large case: 100,000 requests of 1,000 + 500 tokens at 256 running.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pd_launch.schemas.offload.groups import Group  # noqa: E402
from pd_launch.schemas.sim.arrivals import Timed  # noqa: E402
from pd_launch.schemas.sim.play import Play, Played  # noqa: E402
from pd_launch.schemas.sim.shape import Engine, Offload  # noqa: E402
from pd_launch.schemas.sim.work import Job  # noqa: E402

PROMPT, OUTPUT, BLOCK = 1000, 500, 16


def engine(running: int, share: float, caching: bool = False, asynchronous: bool = False) -> Engine:
    """An engine that holds ``share`` of what ``running`` requests of the bench need at their longest."""
    blocks = int(running * share * (-(-(PROMPT + OUTPUT) // BLOCK))) + 1
    return Engine(blocks, (Group(BLOCK),), running, 8192, 4096, prefix_caching=caching, asynchronous=asynchronous)


def simulated(shape: Engine, jobs: list[Job], offload: Offload | None = None) -> tuple[Played, float]:
    begin = time.process_time()
    played = Play(shape, Timed(jobs), offload).run()
    return played, time.process_time() - begin


def beside(requests: int, running: int) -> None:
    from tests.sim import compare, real

    real.prepare()
    folder = compare.folder(Path(tempfile.mkdtemp()))
    jobs = [Job(0, PROMPT, OUTPUT)] * requests
    print(f"{requests} requests of {PROMPT} + {OUTPUT} tokens, {running} at once; processor seconds")
    print("| | steps | preempted | vLLM's scheduler | simulator | times as fast | the same |")
    print("|---|---|---|---|---|---|---|")
    for name, share, caching, asynchronous, offload in (
        ("room for all", 1.0, False, False, None),
        ("three quarters of the room", 0.75, False, False, None),
        ("the same, with the connector", 0.75, False, False, Offload(1 << 20)),
        ("the same, prefix caching", 0.75, True, False, None),
        ("room for all, asynchronous", 1.0, False, True, None),
    ):
        shape = engine(running, share, caching, asynchronous)
        played, seconds = simulated(shape, jobs, offload)
        seen = real.Drive(folder, shape, jobs, offload).run()
        same = (played.steps, played.tokens, played.events) == (seen.steps, seen.tokens, seen.preempted)
        print(
            f"| {name} | {played.steps:,} | {played.preempted:,} | {seen.seconds:.2f} s | {seconds:.3f} s "
            f"| {seen.seconds / max(seconds, 1e-9):.0f} | {'yes' if same else 'NO'} |"
        )


def parked() -> None:
    """Cost a step over the number of requests that wait parked: the same work, with room for few or many."""
    print("\n| parked at once | steps | µs a step |\n|---|---|---|")
    shape, jobs = engine(256, 0.5), [Job(0, PROMPT, OUTPUT)] * 512
    for blocks in (256, 1024, 1 << 24):
        play = Play(shape, Timed(jobs), Offload(blocks))
        begin = time.process_time()
        played = play.run()
        took = time.process_time() - begin
        assert play.scheduler.parking is not None
        print(f"| {play.scheduler.parking.peak_requests} | {played.steps:,} | {1e6 * took / played.steps:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=512)
    parser.add_argument("--running", type=int, default=256)
    parser.add_argument("--only-simulator", action="store_true")
    options = parser.parse_args()
    if not options.only_simulator:
        beside(options.requests, options.running)
    parked()
    for share in (1.0, 0.75):
        played, seconds = simulated(engine(256, share), [Job(0, PROMPT, OUTPUT)] * 100_000)
        print(
            f"\n100,000 requests, room for {share:.0%}: {played.steps:,} steps, {played.preempted:,} preemptions, "
            f"{seconds:.1f} s of one core"
        )


if __name__ == "__main__":
    main()
