"""The longest request of a node: --max-model-len as vLLM reads it, or the model's own limit."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.models.facts import ModelFacts


def longest_request(node: NodeLaunch, facts: ModelFacts | None) -> int | None:
    """Return the most tokens one request may have, or None where it is unknown (also for ``auto``)."""
    if node.arg("max-model-len") is None:
        return facts.max_length if facts else None
    value = node.number("max-model-len", 0)
    return value if value is not None and value > 0 else None
