"""Where pd-launch keeps what it makes once and uses again: engines' environments, the tiny model, logs of the demo."""

from __future__ import annotations

import os
import pathlib


def cache_root() -> pathlib.Path:
    """Return the user's cache folder for pd-launch, absolute; it need not exist.

    ``PD_LAUNCH_CACHE`` names it; else it is ``pd-launch`` below ``XDG_CACHE_HOME``, which defaults to ``~/.cache``.
    """
    if own := os.environ.get("PD_LAUNCH_CACHE"):
        return pathlib.Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache").absolute() / "pd-launch"
