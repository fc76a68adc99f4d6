"""A picture over choices; the only module here that needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.simulation import OffloadReport, RunReport, Simulation

INCHES = (8, 4.5)


def draw(path: Path, found: Simulation) -> None:
    """Write what is computed again over the choices, or over the budgets where there are none, to ``path`` (PNG).

    Raises:
        OSError: it cannot be written.
    """
    if found.choices:
        rows = [(row.choice, _again(row.without)) for row in found.choices if row.without is not None]
        label = f"{found.over}, without offload"
    else:
        runs = sorted(found.with_, key=lambda run: run.budget_blocks)
        rows = [("none", _again(found.without)), *((_budget(run), _again(run)) for run in runs)]
        label = "host memory of the offload, per rank"
    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.subplots()
    bars = axes.bar(range(len(rows)), [value for _, value in rows])
    axes.bar_label(bars, [f"{value:,}" for _, value in rows], padding=2)
    axes.margins(y=0.1)
    axes.set_xticks(list(range(len(rows))), [name for name, _ in rows])
    axes.set_xlabel(label)
    axes.set_ylabel("tokens computed again")
    axes.set_title(found.workload.what, fontsize="medium", parse_math=False)
    figure.savefig(path, format="png", dpi=120)


def _again(run: RunReport) -> int:
    """Return the tokens that a run computes again, here or on a prefill node."""
    return run.recomputed + run.handed_back_tokens


def _budget(run: OffloadReport) -> str:
    return counted(run.budget_blocks, "block", ",") if run.budget_bytes is None else human_size(run.budget_bytes)
