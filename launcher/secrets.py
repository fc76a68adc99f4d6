"""Secrets never appear in plans, reports or logs: which names hold them, and how their values are masked."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pd_launch.schemas.launch import NodeLaunch

MASK = "***"
_NAME = re.compile(r"(?:^|[_-])(?:\w*(?:key|token|secret|password|passwd))$", re.IGNORECASE)
_NOT_SECRET = frozenset({"ssl-keyfile"})
_SHORTEST = 4
"""A shorter value may be an ordinary word elsewhere; it is masked at its own place only."""


def is_secret(name: str) -> bool:
    """Whether a variable or option of this name holds a secret (*KEY, *TOKEN, *SECRET, *PASSWORD)."""
    return bool(_NAME.search(name.lstrip("-"))) and name.lstrip("-") not in _NOT_SECRET


def secret_values(nodes: Iterable[NodeLaunch]) -> list[str]:
    """Return the values of all secrets of ``nodes``, the longest first."""
    values: set[str] = set()
    for node in nodes:
        for name, variable in node.env.items():
            if is_secret(name) and isinstance(variable.value.value, str):
                values.add(variable.value.value)
        for arg in node.args:
            if is_secret(arg.name):
                values |= {n.value for n in (arg.value, *arg.more) if n is not None and isinstance(n.value, str)}
    return sorted((v for v in values if len(v) >= _SHORTEST), key=len, reverse=True)


def mask(text: str, values: Iterable[str]) -> str:
    """Return ``text`` with each of ``values`` replaced."""
    for value in values:
        text = text.replace(value, MASK)
    return text
