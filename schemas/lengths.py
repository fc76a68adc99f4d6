"""The longest request of a node: --max-model-len as vLLM reads it, or the model's own limit."""

from __future__ import annotations

import re

from pd_launch.schemas.launch import NodeLaunch
from pd_launch.schemas.model_facts import ModelFacts

_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_HUMAN = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG])", re.ASCII)


def longest_request(node: NodeLaunch, facts: ModelFacts | None) -> int | None:
    """Return the most tokens one request may have, or None where it is unknown (also for ``auto``)."""
    if node.arg("max-model-len") is None:
        return facts.max_length if facts else None
    value = node.number("max-model-len", 0)
    if value is None:
        text = node.value("max-model-len")
        match = _HUMAN.fullmatch(text.string() or "") if text else None
        value = int(float(match[1]) * _FACTORS[match[2]]) if match else None
    return value if value is not None and value > 0 else None
