"""The checker agrees with the installed vLLM: what it refuses is reported, what it takes is never called unreadable."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata
from itertools import takewhile
from pathlib import Path

import pytest
from engine import Verdict, judge
from generate import Words, command_lines

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.finding import Finding
from tests.sampling import SEED, size

FIGURES_SEED = 20260922
COUNT = size(300, 900)
REFUSED_AT_LEAST = 0.4
SYNTAX = ("PD001", "PD003", "PD004", "PD006", "PD007", "PD010", "PD011", "PD101", "PD201", "PD202", "PD203")
"""Codes that say the engine would refuse or misread the very text: none may come where it takes it."""

HEADER = "| vLLM | command lines |"
"""How the table of these figures begins; the page has others with a row for each version."""
FIGURES = Path(__file__).resolve().parents[2] / "docs" / "differential.md"


@dataclass
class Figures:
    version: str
    lines: int = 0
    refused: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[Words, str]] = field(default_factory=list)
    wrong: list[tuple[Words, str]] = field(default_factory=list)


def findings(words: Words, target: str) -> list[Finding]:
    text = f"vllm {shlex.join(words)}\n"
    return [f for f in check(read_texts({"serve.sh": text}, target=target)) if f.severity == "error"]


def compare(version: str) -> Figures:
    figures = Figures(version)
    for words in command_lines(FIGURES_SEED if SEED == 1 else SEED, 900 if os.environ.get("WRITE_FIGURES") else COUNT):
        verdict, errors = judge(words), findings(words, f"vllm=={version}")
        _note(words, verdict, errors, figures)
    return figures


def _note(words: Words, verdict: Verdict, errors: list[Finding], figures: Figures) -> None:
    figures.lines += 1
    if not verdict.accepts:
        figures.refused += 1
        figures.stages[verdict.stage] += 1
        if not errors:
            figures.missed.append((words, verdict.reason))
    for finding in errors if verdict.accepts else ():
        if finding.code in SYNTAX:
            figures.wrong.append((words, f"{finding.code} {finding.message}"))


def shown(cases: list[tuple[Words, str]]) -> str:
    return "\n".join(f"vllm {shlex.join(words)}\n    {reason}" for words, reason in cases)


@pytest.mark.engine
def test_agrees_with_the_engine() -> None:
    version = metadata.version("vllm").partition("+")[0]
    figures = compare(version)
    assert figures.lines >= 300
    assert figures.refused / figures.lines >= REFUSED_AT_LEAST, f"only {figures.refused} of {figures.lines} are refused"
    assert not figures.missed, f"refused by vLLM {version}, yet clean here:\n{shown(figures.missed)}"
    assert not figures.wrong, f"taken by vLLM {version}, yet called wrong here:\n{shown(figures.wrong)}"
    if os.environ.get("WRITE_FIGURES"):
        write(figures)


def write(figures: Figures) -> None:
    """Put one version's row into docs/differential.md."""
    stages = ", ".join(f"{name} {count}" for name, count in sorted(figures.stages.items()))
    share = f"{figures.refused} ({figures.refused / figures.lines:.0%})"
    row = f"| {figures.version} | {figures.lines} | {share} | {stages} | {len(figures.missed)} | {len(figures.wrong)} |"
    page = FIGURES.read_text(encoding="utf-8")
    FIGURES.write_text(with_row(page, figures.version, row), encoding="utf-8")


def with_row(page: str, version: str, row: str) -> str:
    """Return the page with a version's row in the table of these figures: in place of its old one, or at the end."""
    lines = page.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(HEADER))
    table = list(takewhile(lambda line: line.startswith("|"), lines[first:]))
    old = [number for number, line in enumerate(table) if line.startswith(f"| {version} |")]
    place = old[0] if old else len(table)
    rows = [line for number, line in enumerate(table) if number not in old]
    return "\n".join([*lines[:first], *rows[:place], row, *rows[place:], *lines[first + len(table) :]]) + "\n"


@pytest.mark.parametrize(
    ("version", "after"),
    [
        ("0.32.0", ["| 0.32.0 | new |", "| 0.27.1 | 900 |"]),
        ("0.27.1", ["| 0.32.0 | 900 |", "| 0.27.1 | new |"]),
        ("0.34.0", ["| 0.32.0 | 900 |", "| 0.27.1 | 900 |", "| 0.34.0 | new |"]),
    ],
)
def test_a_row_goes_into_its_own_table(version: str, after: list[str]) -> None:
    head, other = (
        [f"{HEADER} refused |", "|---|---|"],
        ["", "| vLLM | lines |", "|---|---|", "| 0.32.0 | 1174 |", "", "End."],
    )
    before = ["# Tests", "", *head, "| 0.32.0 | 900 |", "| 0.27.1 | 900 |", *other]
    made = with_row("\n".join(before) + "\n", version, f"| {version} | new |")
    assert made.splitlines() == ["# Tests", "", *head, *after, *other]


def test_the_page_has_the_table() -> None:
    assert sum(line.startswith(HEADER) for line in FIGURES.read_text(encoding="utf-8").splitlines()) == 1
