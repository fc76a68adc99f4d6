"""``pd-launch check FOLDER`` on a tree of many files and few engines, beside other linters on the same tree.

Whole processes in alternation: processor time (user and system, of all of them) and wall time, medians with quartiles.
Tools that are not on the path are left out. The tree is made anew, below a temporary folder.

    python bench/folders.py --files 5000 --engines 50 --runs 7
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "docs" / "examples" / "decode.sh"
OURS = [sys.executable, "-m", "pd_launch", "check"]
KINDS = {
    "py": "import os\n\n\ndef f(x):\n    return os.environ.get(x)\n" * 20,
    "yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n---\n" * 5,
    "sh": '#!/bin/sh\nset -e\necho building "$1"\n' * 20,
    "json": '{"a": [1, 2, 3]}\n',
    "md": "# title\nrun vllm serve as before\n" * 30,
    "go": "package main\n" * 60,
    "txt": "hello\n" * 100,
}


def make(folder: Path, files: int, engines: int) -> None:
    """Write the tree: files of all kinds in nested folders, among them some with an engine."""
    kinds = list(KINDS.items())
    for number in range(files - engines):
        place = folder / f"d{number % 50}" / f"e{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        ending, text = kinds[number % len(kinds)]
        (place / f"f{number}.{ending}").write_text(text)
    for number in range(engines):
        place = folder / f"d{number % 50}" / f"deploy{number}"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(SCRIPT, place / "decode.sh")


def commands() -> dict[str, list[str]]:
    """Return what is measured, by name."""
    found = {
        "pd-launch, concise": [*OURS, ".", "--format", "concise"],
        "pd-launch, text with fixes": [*OURS, "."],
        "pd-launch, no engine": [*OURS, "d0/e0", "--allow-no-engine"],
    }
    tools = {
        "ruff check (Python)": ["ruff", "check", "--no-cache", "--isolated", "."],
        "yamllint (YAML)": ["yamllint", "."],
        "cfn-lint (YAML)": ["cfn-lint", "**/*.yaml"],
        "shellcheck (scripts)": ["sh", "-c", "find . -name '*.sh' -exec shellcheck {} +"],
    }
    names = {name: words[0] if words[0] != "sh" else "shellcheck" for name, words in tools.items()}
    return found | {name: words for name, words in tools.items() if shutil.which(names[name])}


def seconds(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command in ``folder`` to its end, whatever it finds; return its processor and wall time."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = str(ROOT)
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began


def shown(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--engines", type=int, default=50)
    parser.add_argument("--runs", type=int, default=7, help="runs of each (default: 7)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, given.files, given.engines)
        measured = commands()
        for command in measured.values():  # compiled files and the page cache count for none
            seconds(command, folder)
        rounds = [{name: seconds(command, folder) for name, command in measured.items()} for _ in range(given.runs)]
    print("| | processor, s (quartiles) | wall, s (quartiles) |\n|---|---|---|")
    for name in measured:
        processor, wall = ([one[name][kind] for one in rounds] for kind in (0, 1))
        print(f"| {name} | {shown(processor)} | {shown(wall)} |")


if __name__ == "__main__":
    main()
