"""What the tests start takes signals as at a terminal, also under nohup and in background jobs, which ignore some.

Engines are forked from this process: OpenMP keeps to one thread in it, because threads that it had would be missing in
the fork, which would wait for them for ever. What the user's shell sets for pd-launch, for the language or for an
engine does not reach the tests, which set what they mean. A run says at its start which samples it takes, and at its
end in which files its time went; processes that pytest-xdist starts side by side are added up.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest
from hypothesis import settings

from tests.sampling import SEED, WHOLE, said, thinned
from tests.timing import spent

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

OURS = {
    f"PD_LAUNCH_{name}" for name in ("CACHE", "SHOW", "GOLDEN", "RECORD", "TEST_MODELS", "LEDGER_RUNS", "BENCH_LOG")
}
"""Variables that are for the tests themselves."""
OTHERS = {
    "LANGUAGE", "NO_COLOR", "FORCE_COLOR", "HF_TOKEN", "VLLM_API_KEY", "VLLM_HOST_IP", "VLLM_PORT",
    "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES",
}  # fmt: skip
for _name in list(os.environ):
    if _name.startswith("LC_") or _name in OTHERS or (_name.startswith("PD_LAUNCH_") and _name not in OURS):
        del os.environ[_name]
os.environ["LANG"] = "C.UTF-8"

for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)

# No example is timed: a busy machine is no fault.
settings.register_profile("sample", deadline=None)
settings.register_profile("whole", deadline=None, max_examples=1000)
settings.load_profile("whole" if WHOLE else "sample")

_SPENT: Counter[str] = Counter()
_BEGUN = time.monotonic()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thin",
        type=int,
        default=1,
        metavar="N",
        help="run the first case of each test, and a sample of one in N of all others",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = thinned(items, config.getoption("--thin"), lambda item: item.nodeid.partition("[")[0])
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


def pytest_report_header() -> str:
    return said()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _SPENT[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in spent(_SPENT.items(), time.monotonic() - _BEGUN):
        terminalreporter.write_line(line)
