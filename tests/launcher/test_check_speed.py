"""The measurement itself works; what it measures is not judged here, where the machine may be busy."""

from __future__ import annotations

import sys

import pytest

from bench.check_speed import measure, processor_seconds


def test_measures_both() -> None:
    [(check, base)] = measure(1)
    assert base > 0 and check > 0


def test_a_command_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        processor_seconds([sys.executable, "-c", "raise SystemExit(3)"])
