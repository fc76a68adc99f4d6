"""Numbers of the command line with a fraction: finite ones, as no range refuses what is no number."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A range of finite numbers: ``nan`` is in every range of click's, and ``inf`` in each that has no end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or refuse it."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
