"""Each flag of ``vllm serve`` with the edge values of its domain, from the installed engine's own parser."""

from __future__ import annotations

import argparse
from typing import Any

NUMBERS = ("-1", "0", "1", "2", "1000000", "x")
FRACTIONS = ("-0.5", "0", "0.5", "1", "1.5", "x")
SIZES = ("-1", "0", "1k", "1.5k", "x")
TEXTS = ("''", "x")
OBJECTS = ("'{}'", "'[]'", """'{"x": 1}'""", "x")
"""Values for each kind of argument: both sides of each bound that a number, a size or an object can have."""
LEFT_OUT = frozenset({
    "--help", "--config", "--model", "--hf-config-path", "--tokenizer", "--load-format", "--revision",
    "--code-revision", "--tokenizer-revision", "--config-format", "--hf-token", "--generation-config",
    "--model-impl", "--hf-overrides", "--worker-cls", "--worker-extension-cls", "--scheduler-cls",
    "--reasoning-parser-plugin", "--tool-parser-plugin", "--io-processor-plugin", "--logits-processors",
    "--uds", "--log-config-file", "--logging-config", "--log-level",
})  # fmt: skip
"""Flags whose value names a file, a module or a model, of which a command line alone says nothing."""


def lines(serve: argparse.ArgumentParser) -> list[str]:
    """Return one line for each flag and edge value."""
    made = []
    for action in serve._actions:
        names = [name for name in action.option_strings if name.startswith("--")]
        if not names or names[0] in LEFT_OUT:
            continue
        if action.nargs == 0:
            made += names
        else:
            made += [f"{names[0]} {value}" for value in _values(action)]
    return made


def _values(action: argparse.Action) -> tuple[str, ...]:
    kind = str(getattr(action.type, "__name__", ""))
    if action.choices:
        return (*(str(choice) for choice in action.choices if choice is not None), "x")
    if kind.startswith("human_readable_int"):
        return (*NUMBERS, *SIZES)
    if kind in ("int", "float"):
        return NUMBERS if kind == "int" else FRACTIONS
    if _takes(action, "{}"):
        return OBJECTS
    if kind == "_optional_type" and not _takes(action, "x"):
        return NUMBERS if not _takes(action, "0.5") else FRACTIONS
    return TEXTS


def _takes(action: argparse.Action, text: str) -> bool:
    reads: Any = action.type
    if reads is None or reads is str:
        return text == "x"
    try:
        read = reads(text)
    except Exception:  # noqa: BLE001 - whatever it says, it does not take it
        return False
    return text != "{}" or not isinstance(read, str)
