"""A picture over choices; the only module here that needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from pd_launch.schemas.simulation import Simulation

INCHES = (8, 4.5)


def draw(path: Path, found: Simulation) -> None:
    """Write what is computed again over the choices, or over the budgets where there are none, to ``path`` (PNG).

    Raises:
        OSError: it cannot be written.
    """
    if found.choices:
        rows = [(row.choice, row.without.recomputed) for row in found.choices if row.without is not None]
        label = (found.over or "").replace("_", " ")
    else:
        rows = [("none", found.without.recomputed), *((run.budget, run.recomputed) for run in found.with_)]
        label = "budget per rank"
    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.subplots()
    axes.bar(range(len(rows)), [value for _, value in rows])
    axes.set_xticks(list(range(len(rows))), [name for name, _ in rows])
    axes.set_xlabel(label)
    axes.set_ylabel("tokens computed again")
    figure.savefig(path, format="png", dpi=120)
