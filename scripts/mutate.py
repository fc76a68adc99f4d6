"""Whether a test notices when one thing in the code is changed: a sample of mutants and the tests that reach them.

    python scripts/mutate.py --count 300 --seed 1

works in copies of the tree below `build/mutants`, never in the tree itself. The first run records which test reaches
which line (scripts/mutation_reach.py, which needs coverage: `pip install coverage`); `--record` does so again, as after
tests were added. Each mutant is one line of JSON in `build/mutants/results-SEED.jsonl`; a later call goes on after the
last one, and a sample of 100 is the beginning of one of 300. `--again` tries those that were not killed once more, with
all tests that reach them. Tests with an engine and slow ones are left out. The status is 1 if fewer than `--least` per
cent of the mutants were killed, of those that were tried.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from mutants import Mutant, mutants_of, parses
from mutation_tests import LIMIT, Reach, run_chosen

ROOT = Path(__file__).resolve().parent.parent

CHANGED = ("connector", "schemas/offload", "schemas/memory", "launcher/rules", "launcher/upgrade", "launcher/simulate")
FIXES = "launcher/check/*fix*.py"
SUITES = ("rules", "cases", "connector", "schemas", "launcher", "sim", "size", "fixes", "ascend", "upgrade")
HEAVY = ("numpy", "torch", "hypothesis", "pydantic", "yaml", "click", "psutil", "prometheus_client", "jsonschema")
"""What tests import and no mutant changes: imported once, before the processes that run the tests are forked."""
WAIT = 180.0
"""Seconds after which tests of a mutant that wait for something are ended; those that go on have `LIMIT`."""


@dataclass
class Running:
    """A process in which the tests of one mutant run, in a copy of the tree that has it."""

    mutant: Mutant
    copy: Path
    said: Path
    ends: float
    began: float


def sample(count: int, seed: int, only: str = "") -> list[Mutant]:
    """So many mutants of all modules whose paths contain ``only``, in the order of the seed."""
    files = [file for place in CHANGED for file in (ROOT / place).rglob("*.py")]
    files += ROOT.glob(FIXES)
    paths = [path for file in sorted(files) if only in (path := file.relative_to(ROOT).as_posix())]
    mutants = [mutant for path in paths for mutant in mutants_of(ROOT, path)]
    random.Random(seed).shuffle(mutants)
    chosen: list[Mutant] = []
    for mutant in mutants:
        if len(chosen) == count:
            break
        if parses(mutant.applied((ROOT / mutant.path).read_bytes())):
            chosen.append(mutant)
    return chosen


def copied(where: Path) -> Path:
    """A copy of what git would take of the tree, as it is now, with the bytecode of the modules."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    wanted = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    shutil.rmtree(where, ignore_errors=True)
    for name in filter(None, wanted):
        if (ROOT / name).exists():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, where / name, follow_symlinks=False)
    packages = ["connector", "launcher", "schemas", "profiles", "pd_launch"]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *packages], cwd=where, check=True)
    return where


def record(copy: Path, data: Path) -> None:
    """Run the suites once and write which test reaches which line."""
    found = os.pathsep.join([str(copy), str(copy / "scripts"), *sys.path])
    environment = {**os.environ, "PD_REACH": str(data), "PYTHONPATH": found}
    suites = [f"tests/{suite}" for suite in SUITES]
    options = ["-q", "-m", "not engine and not slow", "-p", "mutation_reach"]
    print("recording which test reaches which line, once", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "pytest", *options, *suites], cwd=copy, env=environment, stdout=sys.stderr)


def begun(mutant: Mutant, copy: Path, reach: Reach, thorough: bool) -> tuple[int, Running]:
    """The number of the process that runs the tests of a mutant, and what is known about it."""
    chosen = reach.tests_of(mutant, thorough)
    (copy / mutant.path).write_bytes(mutant.applied((ROOT / mutant.path).read_bytes()))
    said = copy.with_suffix(".said.json")
    said.unlink(missing_ok=True)
    limit = max(LIMIT, 2 * sum(reach.seconds.get(test, 0.0) for test in chosen))
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        run_chosen(copy, chosen, reach.known, said, int(limit))
    now = time.monotonic()
    return process, Running(mutant, copy, said, now + max(WAIT, 3 * limit), now)


def ended(running: Running, status: int | None) -> dict[str, Any]:
    """The result of a mutant; `status` is None where its time was over. The copy is as before."""
    source, mutant = ROOT / running.mutant.path, running.mutant
    shutil.copy2(source, running.copy / mutant.path)
    said = json.loads(running.said.read_text()) if running.said.exists() else {}
    code = None if status is None else os.waitstatus_to_exitcode(status)
    results = {
        None: "timed out",
        -signal.SIGXCPU: "timed out",
        0: "survived",
        5: "survived",
        3: "not run",
        4: "not run",
    }
    return {
        "name": mutant.name,
        "result": results.get(code, "killed"),
        "path": mutant.path,
        "line": mutant.line,
        "kind": mutant.kind,
        "tests": said.get("tests", 0),
        "by": said.get("by"),
        "seconds": round(time.monotonic() - running.began, 1),
        "diff": difference(mutant),
    }


def difference(mutant: Mutant) -> str:
    """The changed lines, before and after."""
    before = (ROOT / mutant.path).read_bytes()
    old, new = (content.decode().splitlines() for content in (before, mutant.applied(before)))
    changed = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    return "\n".join(line for line in changed if not line.startswith("@@"))


def results_of(mutants: list[Mutant], copies: list[Path], reach: Reach, thorough: bool) -> Iterator[dict[str, Any]]:
    """The result of each mutant, as they end: one process beside another for each copy."""
    waiting, free = mutants[::-1], list(copies)
    running: dict[int, Running] = {}
    try:
        while waiting or running:
            while waiting and free:
                process, begins = begun(waiting.pop(), free.pop(), reach, thorough)
                running[process] = begins
            for process, one in list(running.items()):
                done, status = os.waitpid(process, os.WNOHANG)
                over = time.monotonic() > one.ends
                if done or over:
                    stop(process, waits=not done)
                    free.append(running.pop(process).copy)
                    yield ended(one, status if done else None)
            time.sleep(0.05)
    finally:
        for process, one in running.items():
            stop(process, waits=True)
            shutil.copy2(ROOT / one.mutant.path, one.copy / one.mutant.path)


def stop(group: int, waits: bool) -> None:
    """End a process and what it started; some of that may have ended already."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    if waits:
        os.waitpid(group, 0)


def told(results: list[dict[str, Any]]) -> float:
    """Print the share of mutants that were killed and the others with place and diff; the share in per cent."""
    counted = Counter(result["result"] for result in results)
    share = 100 * counted["killed"] / max(1, len(results))
    for result in sorted(results, key=lambda result: (result["path"], result["line"])):
        if result["result"] != "killed":
            reached = f"{result['tests']} tests" if result["tests"] else "no test reaches it"
            print(f"{result['path']}:{result['line']} ({result['kind']}, {result['result']}, {reached})")
            print(f"{result['diff']}\n")
    print(f"{len(results)} mutants: {counted['killed']} killed, {counted['timed out']} timed out, ", end="")
    print(f"{counted['survived']} survived, {counted['not run']} could not be run: {share:.1f} % killed")
    return share


def read_results(file: Path, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, dict[str, Any]]:
    """The last result of each mutant in the file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    last = {result["name"]: result for result in map(json.loads, lines)}
    return {name: result for name, result in last.items() if wanted(result)}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=300, help="mutants (300)")
    parser.add_argument("--seed", type=int, default=1, help="another seed takes another sample (1)")
    parser.add_argument("--only", default="", metavar="WORD", help="only modules whose path has this in it, as pd402")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at the same time (2)")
    parser.add_argument("--work", type=Path, default=ROOT / "build/mutants", help="folder for copies and results")
    parser.add_argument("--record", action="store_true", help="record again which test reaches which line")
    parser.add_argument("--again", action="store_true", help="try those that were not killed once more, with all tests")
    parser.add_argument("--least", type=float, default=0.0, help="per cent that must be killed (0)")
    return parser.parse_args()


def main() -> int:
    """Run the command."""
    asked = arguments()
    work: Path = asked.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    copies = [copied(work / f"copy-{number}") for number in range(asked.jobs)]
    data, file = work / "reach", work / f"results-{asked.seed}.jsonl"
    if asked.record or not data.exists():
        record(copies[0], data)
    mutants = sample(asked.count, asked.seed, asked.only)
    names = {mutant.name for mutant in mutants}
    known = read_results(file, lambda result: not asked.again or result["result"] == "killed")
    for module in HEAVY:
        with contextlib.suppress(ImportError):
            import_module(module)
    with file.open("a", encoding="utf-8") as out, contextlib.suppress(KeyboardInterrupt):
        missing = [mutant for mutant in mutants if mutant.name not in known]
        for number, result in enumerate(results_of(missing, copies, Reach(data), asked.again), 1):
            print(json.dumps(result, ensure_ascii=False), file=out, flush=True)
            print(f"{number}/{len(missing)} {result['result']:9} {result['path']}:{result['line']}", file=sys.stderr)
    share = told([result for name, result in read_results(file, lambda _: True).items() if name in names])
    return int(share < asked.least)


if __name__ == "__main__":
    sys.exit(main())
