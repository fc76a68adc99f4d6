"""The tests that reach a mutant, and a process that runs them: the halves of scripts/mutate.py that know pytest."""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

import coverage
import pytest
from mutants import Mutant

TESTS, SECONDS = 100, 10.0
"""At most so many tests of so many seconds together for a mutant, unless all that reach it are wanted."""
LIMIT = 60.0
"""Seconds of processor time for the tests of a mutant, or twice the time that they took without it if that is more."""
NEARBY, MANY = 12, 1_000_000
"""Lines that count as near, and more tests than there are."""


class Reach:
    """What scripts/mutation_reach.py recorded: the tests that reach a line, and the seconds that each takes."""

    def __init__(self, data: Path) -> None:
        taken: dict[str, float | None] = json.loads(Path(f"{data}.json").read_text(encoding="utf-8"))
        self.known = taken.keys()
        self.seconds = {test: seconds for test, seconds in taken.items() if seconds is not None}
        self._data = coverage.CoverageData(str(data))
        self._data.read()
        self._files = list(self._data.measured_files())

    def tests_of(self, mutant: Mutant, thorough: bool) -> list[str]:
        """The tests to run: a rule's own before others, and first those that reach lines nearby that few reach.

        A condition is asked by many tests, and what depends on it is looked at by those in which it held. What runs
        when a module is imported is reached by every test that reaches anything of the module.
        """
        lines = self._lines(mutant.path)
        wanted = range(mutant.line, mutant.last_line + 1)
        reaching = {test for line in wanted for test in lines.get(line, ())} if mutant.inside else set()
        reaching = (reaching or {test for tests in lines.values() for test in tests}) & self.seconds.keys()
        rarest: dict[str, int] = {}
        for line in range(mutant.line - NEARBY, mutant.last_line + NEARBY + 1):
            tests = lines.get(line, ())
            rarest.update({test: min(len(tests), rarest.get(test, len(tests))) for test in tests})
        ordered = sorted(reaching, key=lambda test: (rarest.get(test, MANY), self.seconds[test], test))
        code = re.search(r"/(pd\d{3})_", mutant.path)
        own = [test for test in ordered if code and code[1].upper() in test]
        taken = [*own, *(test for test in _in_turn(ordered) if test not in set(own))]
        return taken if thorough else _within(taken, self.seconds)

    def _lines(self, path: str) -> dict[int, list[str]]:
        found: defaultdict[int, list[str]] = defaultdict(list)
        for file in self._files:
            if file.endswith(f"/{path}"):
                for line, tests in self._data.contexts_by_lineno(file).items():
                    found[line] += filter(None, tests)
        return found


def _in_turn(tests: Iterable[str]) -> list[str]:
    """The first test of every file, then the second of every file, and so on."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        files[test.partition("::")[0]].append(test)
    ranked = [(rank, test) for of_file in files.values() for rank, test in enumerate(of_file)]
    return [test for _, test in sorted(ranked, key=lambda pair: pair[0])]


def _within(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """As many of the first ones as the limits allow, and one at least."""
    taken: list[str] = []
    spent = 0.0
    for test in tests[:TESTS]:
        spent += seconds[test]
        if taken and spent > SECONDS:
            break
        taken.append(test)
    return taken


class _Chosen:
    """A plugin for pytest: these tests, in their order, and before them those that were added to their files since.

    Which one failed first goes into a file.
    """

    def __init__(self, tests: list[str], known: Collection[str], said: Path) -> None:
        self._tests = {test: rank for rank, test in enumerate(tests)}
        self._known = known
        self._said = said

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        wanted = [item for item in items if item.nodeid in self._tests or self._is_new(item)]
        items[:] = sorted(wanted, key=lambda item: self._tests.get(item.nodeid, -1))
        self._say(len(items), None)

    def _is_new(self, item: pytest.Item) -> bool:
        left_out = item.get_closest_marker("slow") or item.get_closest_marker("engine")
        return item.nodeid not in self._known and not left_out

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._say(len(self._tests), report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._say(0, f"collecting {report.nodeid}")

    def _say(self, tests: int, by: str | None) -> None:
        self._said.write_text(json.dumps({"tests": tests, "by": by}), encoding="utf-8")


def run_chosen(copy: Path, tests: list[str], known: Collection[str], said: Path, limit: int) -> None:
    """Run these tests in a copy of the tree until one fails, and end this process with pytest's status.

    After ``limit`` more seconds of processor time the kernel ends it.
    """
    code = 3
    try:
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + limit, resource.RLIM_INFINITY))
        os.chdir(copy)
        with said.with_suffix(".log").open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        outside = [entry for entry in sys.path if entry and not (Path(entry) / "pd_launch").exists()]
        sys.path[:] = [str(copy), *outside]
        os.environ["PYTHONPATH"] = str(copy)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        # A file that is changed twice in one second would be taken for the first one by its bytecode.
        sys.dont_write_bytecode = True
        for module in [name for name in sys.modules if name.partition(".")[0] in ("pd_launch", "tests")]:
            del sys.modules[module]
        files = sorted({test.partition("::")[0] for test in tests})
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short"]
        code = int(pytest.main([*options, *files], plugins=[_Chosen(tests, known, said)])) if tests else 5
    finally:
        sys.stdout.flush()
        os._exit(code)
