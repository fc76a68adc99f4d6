"""The suite's own tools: samples, ports that do not meet, and where the time went."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ports, sampling
from tests.timing import SHOWN, spent

ROOT = Path(__file__).resolve().parents[1]


def test_a_sample_is_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "WHOLE", False)
    items = list(range(1000))
    first = sampling.sample(items, 0.1)
    assert len(first) == 100 and first == sorted(first)
    assert sampling.sample(items, 0.1) == first
    assert sampling.sample(items, 0.1, "another") != first
    assert len(sampling.sample([1, 2], 0.01)) == 1 and sampling.sample([], 0.5) == []
    monkeypatch.setattr(sampling, "SEED", sampling.SEED + 1)
    assert sampling.sample(items, 0.1) != first
    monkeypatch.setattr(sampling, "WHOLE", True)
    assert sampling.sample(items, 0.1) == items
    assert sampling.size(1, 2) == 2


def test_a_thin_run_keeps_every_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "WHOLE", False)
    items = [f"{test}[{case}]" for test in ("a", "b", "c") for case in range(100)] + ["d"]

    def test_of(item: str) -> str:
        return item.partition("[")[0]

    kept = sampling.thinned(items, 10, test_of)
    assert len(kept) == 4 + round(297 / 10)
    assert {"a[0]", "b[0]", "c[0]", "d"} <= set(kept)
    assert kept == sorted(kept, key=items.index)
    assert sampling.thinned(items, 1, test_of) == items


@pytest.mark.parametrize(("env", "said"), [({}, "samples: seed 1 "), ({"PD_TEST_SAMPLE": "all"}, "samples: all of it")])
def test_a_run_says_its_samples_and_where_its_time_went(env: dict[str, str], said: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path}/t",
        "tests/test_chinese.py",
    ]
    done = subprocess.run(
        command, cwd=ROOT, env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout
    assert said in done.stdout
    assert re.search(
        r"tests took \d+ s in \d+ s of wall time; seconds of each file:\n +[\d.]+  tests/test_chinese", done.stdout
    )
    assert re.search(r"=+ \d+ passed.* =+$", done.stdout.rstrip())


def test_where_the_time_went() -> None:
    rows = [(f"f{number}", float(number)) for number in range(20)]
    lines = spent(rows, 100)
    assert lines[0].startswith("tests took 190 s in 100 s of wall time")
    assert lines[1].split() == ["19.0", "f19"]
    assert lines[-1].split() == [f"{sum(range(20 - SHOWN)):.1f}", f"{20 - SHOWN}", "other", "files"]
    assert spent([], 1) == []


def test_ports_of_two_processes_do_not_meet() -> None:
    code = "from tests.ports import free_ports\nprint([free_ports(4) for _ in range(20)], flush=True)\ninput()"
    others = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    taken = [ports.free_ports(4) for _ in range(20)]
    for other in others:
        assert other.stdout is not None
        taken += map(int, re.findall(r"\d+", other.stdout.readline()))
    for other in others:
        other.communicate("\n")
    assert len(taken) == 60
    assert len({port for first in taken for port in range(first, first + 4)}) == 240


def test_no_two_test_modules_have_one_name() -> None:
    """Modules of tests are imported by their bare names: the second of a name would not be found, and stops a run."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
