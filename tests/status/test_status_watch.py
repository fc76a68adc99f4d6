"""--watch on a terminal: in place, at any width, without colours where none are wanted, and the terminal as it was."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from pd_launch.launcher.status.screen import Screen, cut
from pd_launch.launcher.status.text import StatusText
from pd_launch.launcher.wording.width import width
from tests.status.served import served

ROOT = Path(__file__).resolve().parents[2]
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _surroundings() -> dict[str, str]:
    """The environment without what would say another size than the terminal has."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


class Terminal:
    """``pd-launch status --watch`` on a terminal of so many columns and lines."""

    def __init__(self, url: str, columns: int, lines: int, **env: str) -> None:
        self.main, side = pty.openpty()
        self.size(columns, lines)
        self.child = subprocess.Popen(
            [sys.executable, "-m", "pd_launch", "status", url, "--watch", "30"],
            stdin=side,
            stdout=side,
            stderr=side,
            env={**_surroundings(), "TERM": "xterm", "PD_LAUNCH_LANG": "en", "PYTHONPATH": str(ROOT), **env},
            start_new_session=True,
        )
        os.close(side)
        self.text = ""

    def size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, word: str, count: int = 1) -> str:
        """Read until a word was there so often."""
        end = time.monotonic() + 60
        while self.text.count(word) < count:
            assert time.monotonic() < end, self.text[-2000:]
            if select.select([self.main], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.main, 65536).decode("utf-8", "replace")
                except OSError:
                    break
        return self.text

    def end(self) -> str:
        self.child.send_signal(signal.SIGINT)
        self.until("never there") if self.child.wait(30) is None else None
        while select.select([self.main], [], [], 0.5)[0]:
            try:
                data = os.read(self.main, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode("utf-8", "replace")
        os.close(self.main)
        return self.text


def test_it_is_drawn_in_place_again_at_a_new_size_and_leaves_the_terminal_as_it_was() -> None:
    with served("after-decode") as (engine,):
        terminal = Terminal(engine.url, 100, 40)
        first = terminal.until("\x1b[J")
        assert first.startswith("\x1b[?1049h") and "\x1b[1;32mHEALTHY" in first
        before = len(terminal.text)
        terminal.size(40, 12)
        os.kill(terminal.child.pid, signal.SIGWINCH)
        terminal.until("more", 1)
        narrow = terminal.text[before:]
        rows = _ESCAPES.sub("", narrow).split("\r\n")
        assert [row for row in rows if width(row) > 40] == []
        assert narrow.count("\r\n") <= 24
        whole = terminal.end()
    assert "\x1b[?25h\x1b[?1049l" in whole
    left = _ESCAPES.sub("", whole.rpartition("\x1b[?1049l")[2])
    assert left.lstrip().startswith("HEALTHY")  # the last look stays
    assert terminal.child.returncode == 0


_STORM = """
import io, os, signal, subprocess, sys
from pd_launch.launcher.status.screen import Screen

drawn, screen = [], Screen(io.StringIO())
with screen.open():
    # Another process sends them, so that they come at any point of this one's wait.
    loop = "import os, signal, sys\\nwhile True: os.kill(int(sys.argv[1]), signal.SIGWINCH)"
    sender = subprocess.Popen([sys.executable, "-c", loop, str(os.getpid())])
    while len(drawn) < 2_000:
        screen.wait(0.0001, lambda: drawn.append(1))
    sender.kill()
    sender.wait()
    os.kill(os.getpid(), signal.SIGWINCH)
    before = len(drawn)
    while len(drawn) == before:
        screen.wait(0.01, lambda: drawn.append(1))
print(len(drawn) - before)
"""


def test_many_changes_of_the_size_at_once_are_survived() -> None:
    """As when a window's edge is dragged: each may come at any point of the wait."""
    done = subprocess.run(
        [sys.executable, "-c", _STORM],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stderr[-300:], done.stdout) == ("", "1\n")


def test_no_colour_where_none_is_wanted() -> None:
    with served("after-decode") as (engine,):
        terminal = Terminal(engine.url, 100, 40, NO_COLOR="1")
        terminal.until("queue p50")
        text = terminal.end()
    assert not re.search(r"\x1b\[[0-9;]*m", text)


def test_a_dumb_terminal_gets_lines() -> None:
    with served("after-decode") as (engine,):
        terminal = Terminal(engine.url, 100, 40, TERM="dumb")
        terminal.until('"format_version":1')
        text = terminal.end()
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("row", "columns", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("\033[1;32mabcd\033[0m", 4, "\033[1;32mabcd\033[0m"),
        ("\033[1;32mabcd\033[0m", 3, "\033[1;32mab…\033[0m"),
        ("停放停放", 5, "停放…"),
        ("停放停放", 4, "停…"),
    ],
)
def test_rows_are_cut_to_the_terminal(row: str, columns: int, shown: str) -> None:
    assert cut(row, columns) == shown


def test_more_rows_than_lines_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "size", property(lambda _: (20, 5)))
    stream = io.StringIO()
    Screen(stream).draw("\n".join(str(i) for i in range(30)))
    assert stream.getvalue().count("\n") == 4 and "… 26 more" in stream.getvalue()


def test_many_engines_are_in_blocks_that_fit() -> None:
    from pd_launch.launcher.status.build import Before, report
    from pd_launch.launcher.status.fetch import parse_address
    from pd_launch.launcher.status.look import look

    with served(*["after-decode"] * 9) as engines:
        seen = look([parse_address(engine.url) for engine in engines], 10)
    found = report(seen, 2e9, Before(), {}, None, "en")
    for columns in (40, 80, 120):
        text = StatusText("en", False, columns).render(found)
        table = [row for row in text.splitlines() if not row.startswith("HEALTHY")]
        assert all(width(row) <= columns for row in table), columns
        assert sum(row.startswith("preempted") for row in table) >= (9 if columns == 40 else 3)
