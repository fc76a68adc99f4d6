"""Plots for docs/performance.md from the figures of the measurements. Needs matplotlib: ``pip install .[bench]``.

python -m bench.plots --copies copies.json --steps scheduler_steps.json --pressure pressure.json --out docs/img
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "pd-launch"  # the same figures give the same file
from matplotlib import pyplot as plt  # noqa: E402

WAYS = ("loop save", "numpy save", "ours save", "ours load", "bound", "memcpy")


def rows(file: Path) -> list[dict[str, Any]]:
    """Return a measurement's rows."""
    out: list[dict[str, Any]] = json.loads(file.read_text())["rows"]
    return out


def save(figure: Any, file: Path) -> None:
    """Write a plot without the date."""
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def plot_copies(figures: list[dict[str, Any]], out: Path) -> None:
    """GB/s by shape, of the largest size, random blocks."""
    mine = [row for row in figures if row["order"] == "random"]
    shapes = list(dict.fromkeys(row["shape"] for row in mine))
    largest = [max((row for row in mine if row["shape"] == s), key=lambda row: row["blocks"]) for s in shapes]
    figure, axis = plt.subplots(figsize=(7, 3))
    for i, way in enumerate(WAYS):
        places = [x + (i - 2.5) * 0.14 for x in range(len(shapes))]
        axis.bar(places, [row["gbps"][way] for row in largest], 0.13, label=way)
    axis.set_xticks(range(len(shapes)), [f"{row['shape']} {row['blocks']}" for row in largest])
    axis.set_ylabel("GB/s of processor time")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5))
    save(figure, out / "copies.svg")


def plot_steps(figures: list[dict[str, Any]], out: Path) -> None:
    """Microseconds of the scheduler side over parked requests."""
    figure, axis = plt.subplots(figsize=(4.5, 3))
    for change, label in ((False, "nothing changes"), (True, "one parked, one restored")):
        mine = [row for row in figures if row["change"] == change]
        axis.plot([max(1, row["parked"]) for row in mine], [row["microseconds"] for row in mine], "o-", label=label)
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("parked requests (1: none)")
    axis.set_ylabel("µs per step")
    axis.legend(fontsize=7)
    save(figure, out / "scheduler_steps.svg")


def plot_pressure(figures: list[dict[str, Any]], out: Path) -> None:
    """How much faster ours is than each peer, by case."""
    cases = list(dict.fromkeys((row["prompt"], row["blocks"]) for row in figures))
    peers = [name for name in dict.fromkeys(row["engine"] for row in figures) if name not in ("ours", "free")]
    figure, axis = plt.subplots(figsize=(9, 3))
    for i, peer in enumerate(peers):
        values = [
            next(
                (
                    row["ours/tokens_per_cpu_second"]
                    for row in figures
                    if (row["prompt"], row["blocks"], row["engine"]) == (*case, peer)
                ),
                0,
            )
            for case in cases
        ]
        axis.bar([x + (i - len(peers) / 2) * 0.13 for x in range(len(cases))], values, 0.12, label=peer)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xticks(range(len(cases)), [f"prompt {prompt}, {blocks} blocks" for prompt, blocks in cases], fontsize=8)
    axis.set_ylabel("ours over peer, tokens per CPU second", fontsize=8)
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5))
    save(figure, out / "pressure.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("copies", "steps", "pressure"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/img"))
    given = parser.parse_args()
    for file, plot in ((given.copies, plot_copies), (given.steps, plot_steps), (given.pressure, plot_pressure)):
        if file:
            plot(rows(file), given.out)


if __name__ == "__main__":
    main()
