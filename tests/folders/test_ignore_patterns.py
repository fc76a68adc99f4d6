"""Patterns mean what git takes them for."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from pd_launch.launcher.folders.patterns import MAX_PATTERNS, Patterns


def ignored(lines: list[str], path: str) -> bool:
    """Whether a path is left out, each folder on the way looked at first; one that ends in ``/`` is a folder."""
    patterns = Patterns(lines)
    parts = path.rstrip("/").split("/")
    for depth, name in enumerate(parts):
        is_folder = depth + 1 < len(parts) or path.endswith("/")
        if patterns.decide(parts[:depth], name, is_folder):
            return True
    return False


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        (["build"], "build/a.sh", True),
        (["build"], "x/build", True),
        (["/build"], "x/build", False),
        (["build/"], "build", False),
        (["build/"], "build/", True),
        (["*.sh", "!keep.sh"], "keep.sh", False),
        (["*.sh", "!keep.sh"], "other.sh", True),
        (["out", "!out/keep.sh"], "out/keep.sh", True),  # a folder that is left out is not looked into
        (["out/*", "!out/keep.sh"], "out/keep.sh", False),
        (["a/**/z.sh"], "a/z.sh", True),
        (["a/**/z.sh"], "a/b/c/z.sh", True),
        (["a/**"], "a", False),
        (["a/**"], "a/b", True),
        (["**/z"], "x/y/z", True),
        (["x/y"], "w/x/y", False),
        (["a*c"], "a/c", False),
        (["a?c"], "abc", True),
        (["[a-c]x", "[!a-c]y"], "bx", True),
        (["[a-c]x", "[!a-c]y"], "by", False),
        (["[[:digit:]]"], "7", True),
        (["[ab"], "a", False),
        (["#a", "\\#b"], "#a", False),
        (["#a", "\\#b"], "#b", True),
        (["\\!a"], "!a", True),
        (["a  ", "b\\ "], "a", True),
        (["a  ", "b\\ "], "b ", True),
        (["a\r"], "a", True),
        ([""], "a", False),
        (["/"], "a", False),
        (["**"], "a", True),
    ],
)
def test_patterns(lines: list[str], path: str, expected: bool) -> None:
    assert ignored(lines, path) is expected


def test_git_agrees(tmp_path: Path) -> None:
    """Random patterns over a small alphabet, asked of git itself."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is needed")
    subprocess.run([git, "init", "-q"], cwd=tmp_path, check=True)
    source = random.Random(7)
    names = ["a", "b", "ab", "ba", "aab", "a.b", "b.a", "-", "a-b", "]"]
    pieces = [
        "a",
        "b",
        "*",
        "**",
        "?",
        "/",
        ".",
        "[ab]",
        "[!a]",
        "[^b]",
        "[]a]",
        "[a-]",
        "\\a",
        "a*",
        "-",
        "/**/",
        "**/",
    ]
    paths = sorted({"/".join(source.choice(names) for _ in range(source.randint(1, 4))) for _ in range(300)})
    for _ in range(60):
        lines = []
        for _ in range(source.randint(1, 4)):
            line = "".join(source.choice(pieces) for _ in range(source.randint(1, 5)))
            if re.search(r"[^/]\*\*+/", line) is None:  # git compares what stands before the first star by itself
                lines.append(source.choice(["", "", "!"]) + line + source.choice(["", "", "/"]))
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            [git, "check-ignore", "--no-index", "--stdin"],
            cwd=tmp_path,
            input="\n".join(paths),
            capture_output=True,
            text=True,
            check=False,
        )
        expected = set(done.stdout.split("\n")) - {""}
        ours = {path for path in paths if ignored(lines, path)}
        assert ours == expected, (lines, sorted(ours ^ expected)[:5])


def test_a_hostile_pattern_takes_no_time() -> None:
    patterns = Patterns(["*a" * 100 + "*b", "/".join(["**", "a*a*a*b"] * 40)])
    began = time.process_time()
    assert patterns.decide(["a" * 200] * 100, "a" * 250, False) is None
    assert time.process_time() - began < 5


def test_a_list_without_end_is_cut() -> None:
    patterns = Patterns(["x"] * MAX_PATTERNS + ["y"])
    assert patterns.decide([], "x", False) and patterns.decide([], "y", False) is None
    assert patterns.cut and Patterns(["x" * 2000]).cut and not Patterns(["x"]).cut
