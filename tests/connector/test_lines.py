"""Log lines that are written a moment later: order, time and place are those of the telling."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pd_launch.connector import lines as module
from pd_launch.connector.lines import Lines


@pytest.fixture
def logger() -> logging.Logger:
    made = logging.Logger("pd-launch-test-lines", logging.INFO)
    made.records = []  # type: ignore[attr-defined]
    handler = logging.Handler()
    handler.emit = made.records.append  # type: ignore[attr-defined, method-assign]
    made.addHandler(handler)
    return made


def test_lines_come_in_order_with_their_own_time_and_place(logger: logging.Logger) -> None:
    lines = Lines(logger)
    before = time.time()
    lines.info("request %s", "a")
    lines.info("request %s: %d blocks", "b", 3)
    after = time.time()
    deadline = time.monotonic() + 20
    while len(logger.records) < 2 and time.monotonic() < deadline:  # type: ignore[attr-defined]
        time.sleep(0.005)
    first, second = logger.records  # type: ignore[attr-defined]
    assert (first.getMessage(), second.getMessage()) == ("request a", "request b: 3 blocks")
    assert before <= first.created <= second.created <= after
    assert Path(first.pathname) == Path(__file__) and second.lineno == first.lineno + 1
    assert threading.main_thread().name != module.THREAD
    lines.close()


def test_nothing_is_lost_at_the_end(logger: logging.Logger) -> None:
    lines = Lines(logger)
    lines.info("last")
    thread = lines._thread
    assert thread is not None
    time.sleep(2 * module.DELAY)  # it waits for the next line, most likely
    lines.close()
    assert [record.getMessage() for record in logger.records] == ["last"]  # type: ignore[attr-defined]
    thread.join(20)
    assert not thread.is_alive()
    program = (
        "import logging; logging.basicConfig(level=20); from pd_launch.connector.lines import Lines; "
        "kept = Lines(logging.getLogger('x')); kept.info('told %s', 1)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "told 1" in done.stderr


def test_a_level_that_is_off_starts_no_thread(logger: logging.Logger) -> None:
    logger.setLevel(logging.WARNING)
    lines = Lines(logger)
    lines.info("nobody reads it")
    assert lines._thread is None and not lines._waiting


def test_a_fork_tells_its_own_lines_and_ends(logger: logging.Logger) -> None:
    """Its parent may have been writing at that moment: then nobody would ever let go of the lock."""
    lines = Lines(logger)
    lines.info("the parent's")
    with lines._writing:
        pid = os.fork()
        if pid == 0:
            lines.info("the fork's")
            lines.flush()
            told = [record.getMessage() for record in logger.records]  # type: ignore[attr-defined]
            os._exit(0 if told == ["the fork's"] else 1)
        deadline = time.monotonic() + 20
        while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        if ended[0] == 0:
            os.kill(pid, 9)
    assert ended == (pid, 0)
    lines.close()
