"""Reports fit the terminal: words are broken to its width, marks stay under what they mark, pipes get whole lines."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from itertools import pairwise
from pathlib import Path

import pytest

from pd_launch.launcher.wording.lines import broken
from pd_launch.launcher.wording.width import width

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "docs" / "examples" / "decode.sh"


def on_terminal(columns: int, *args: str, **env: str) -> str:
    """Run pd-launch on a terminal of ``columns`` and return what it shows there."""
    master, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "pd_launch", *args],
        cwd=SCRIPT.parent,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "TERM": "xterm"} | env,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    process.wait(timeout=60)
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("columns", [60, 80, 132])
def test_a_report_fits_the_terminal(columns: int, lang: str) -> None:
    shown = on_terminal(columns, "check", "decode.sh", "--target", "vllm-ascend==0.23.0", "--lang", lang, NO_COLOR="1")
    lines = shown.split("\n")
    assert len(lines) > 30 and "\x1b" not in shown
    assert max(map(width, lines)) <= columns
    marked = [(above, mark) for above, mark in pairwise(lines) if "^" in mark]
    assert [above[mark.index("^")] for above, mark in marked] == list('""11,')


def test_colours_on_a_terminal_but_not_in_a_pipe() -> None:
    assert "\x1b[31;1merror[PD001]\x1b[0m" in on_terminal(100, "check", "decode.sh", "--select", "PD001")
    assert "\x1b" not in on_terminal(100, "check", "decode.sh", "--select", "PD001", TERM="dumb")
    assert "\x1b" not in on_terminal(100, "check", "decode.sh", "--select", "PD001", "--color", "never")


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("one two three", 8, ["one two", "  three"]),
        ("one", 2, ["one"]),
        ("a-very-long-word x", 6, ["a-very-long-word", "  x"]),
        ("每张卡得到两个块", 8, ["每张卡得", "  到两个", "  块"]),
        ("每张卡，得", 6, ["每张", "  卡，", "  得"]),
        ("每张卡，得", 8, ["每张卡，", "  得"]),
        ("写 cpu_bytes 即可", 12, ["写 cpu_bytes", "  即可"]),
        ("", 8, [""]),
    ],
)
def test_breaking(text: str, columns: int, lines: list[str]) -> None:
    assert broken(text, columns, 0, 2).split("\n") == lines
