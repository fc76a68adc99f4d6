"""Drive real engines for minutes under heavy preemption, with everything switching at random.

    python bench/soak.py --minutes 60

One engine after the other, each for some minutes: sync and async scheduling, one or several KV groups, n-gram drafts,
chunked prefill, priorities, prefix caching with and without shared host blocks, restores beside other steps, alone and
below MultiConnector, in this process and as two API servers. On each: random arrivals of random sizes, aborts, pauses,
level 0 sleep, resets of the prefix cache (those that vLLM refuses and those that preempt everything) and of the
connector's. All is drawn with a seed.

Every request's tokens are compared with those of an engine that never preempts. At the end of each round nothing may be
held: no host block, no block of the engine, no name in a book; every preemption and every copy must be counted; memory
and file descriptors must not grow after the warm-up. Exit status 1 if any of this is not so.

It may be stopped and continued (SIGSTOP, SIGCONT); the time for which it stood still is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.soak_figures import Clock, Figures  # noqa: E402
from bench.soak_rounds import MODELS, SERVER, describe, reference, rounds  # noqa: E402
from tests.engine.harness import Mode, prepare, run  # noqa: E402

# oneDNN keeps up to 1,024 kernels, one for each new size of a step's matrices: on vLLM's CPU builds that is 200 MiB and
# more within minutes, with or without a connector, and a leak could hide in it.
WITHOUT_KERNEL_CACHE = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0")


def _server_round(mode: Mode, seconds: float, seed: int, expected: list[list[int]]) -> Figures:
    from bench.soak_server import Servers

    return Servers(mode, seconds, seed, expected).drive()


def one_round(what: str, mode: Mode, seconds: float, seed: int, expected: list[list[int]], log: Path) -> Figures:
    """Run one round in a process of its own; what it prints goes to ``log``."""

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _in_child(what, mode, seconds, seed, expected, log, write)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    if not text:
        return Figures(rounds=1, errors=[f"the process of the round ended: {log}"])
    return Figures(**json.loads(text))


def _in_child(
    what: str, mode: Mode, seconds: float, seed: int, expected: list[list[int]], log: Path, write: int
) -> None:
    import traceback

    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(target, 1)
    os.dup2(target, 2)
    try:
        if what == SERVER:
            figures = _server_round(mode, seconds, seed, expected)
        else:
            from bench.soak_engine import Soak

            figures = Soak(mode, seconds, seed, expected).drive()
    except BaseException as error:  # noqa: BLE001  whatever it is, it is the result
        traceback.print_exc()
        figures = Figures(rounds=1, errors=[f"{type(error).__name__}: {error}; see {log}"])
    with os.fdopen(write, "w") as answer:
        answer.write(json.dumps(asdict(figures)))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def references() -> dict[str, Any]:
    """Return model → the tokens of each prompt, undisturbed."""
    out = {}
    for model in MODELS:
        result = run(reference(model))
        if "error" in result:
            raise SystemExit(f"the reference of {model} failed: {result['error']}\n{result['log'][-3000:]}")
        out[model] = result["tokens"]
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round-minutes", type=float, default=3, help="of each engine (default: 3)")
    parser.add_argument("--no-servers", action="store_true", help="leave out the rounds with two API servers")
    given = parser.parse_args()
    os.environ.setdefault(*WITHOUT_KERNEL_CACHE)
    prepare()
    expected, total, clock = references(), Figures(), Clock()
    print("references are there", flush=True)
    logs = Path(tempfile.mkdtemp(prefix="pd-launch-soak-"))
    for number, (what, mode) in enumerate(rounds(given.seed)):
        if total.seconds >= given.minutes * 60:
            break
        if what == SERVER and given.no_servers:
            continue
        log = logs / f"{number}.log"
        figures = one_round(what, mode, given.round_minutes * 60, given.seed + number, expected[mode.model], log)
        clock.look()
        print("ROUND", number, describe(what, mode), json.dumps(asdict(figures)), figures.faults(), flush=True)
        total.add(figures)
        if total.rounds >= 3 and not total.seconds:
            break  # nothing starts
    print("SOAK", json.dumps(asdict(total) | {"minutes": round(total.seconds / 60, 1)}), total.faults(), flush=True)
    return 1 if total.faults() else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # without the seconds that an engine in this process takes to end
