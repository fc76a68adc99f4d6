"""A picture of host memory over choices; the only module that needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.memory.sizing_numbers import Sizing

INCHES = (8, 4.5)


def draw(path: Path, name: str, rows: Sequence[tuple[str, Sizing]]) -> None:
    """Write bars of a node's budget, with the pod's memory above them, to ``path`` (PNG).

    Raises:
        OSError: it cannot be written.
    """
    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.subplots()
    places = range(len(rows))
    pod = [sizing.pod_memory / GIB for _, sizing in rows]
    axes.bar(places, pod, color="0.85", label="container memory")
    axes.bar(places, [sizing.per_node / GIB for _, sizing in rows], label="offload budget")
    axes.set_xticks(list(places), [choice for choice, _ in rows])
    axes.set_xlabel(name.replace("_", " "))
    axes.set_ylabel("GiB on a node")
    axes.legend()
    figure.savefig(path, format="png", dpi=120)
