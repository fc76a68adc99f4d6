"""Which flags turn a switch on or off: ``--x``, ``--no-x``, and where they are paired ``--disable-x``.

vLLM pairs them from 0.33.0 on: EnableDisableAction in vllm/utils/argparse_utils.py, ``paired_switches`` in the tables.
A launch is read alike for every release: one that does not know the word refuses it, and PD004 says so.
"""

from __future__ import annotations

from pd_launch.schemas.core.flag_shapes import SWITCHES

REPEATABLE = frozenset({"middleware"})
"""Flags of which each further one adds a value; of all others, the last one counts."""

_OPPOSITES = (("enable-", "disable-"), ("disable-", "enable-"))


def paired(name: str) -> str | None:
    """Return the opposite of ``enable-x`` or ``disable-x``; None for other names."""
    return next((other + name[len(begin) :] for begin, other in _OPPOSITES if name.startswith(begin)), None)


def switch_of(name: str) -> tuple[str, bool] | None:
    """Return the switch that a flag stands for, and whether it turns it on; None where no release has it."""
    if name in SWITCHES:
        return name, True
    other = name[3:] if name.startswith("no-") else paired(name)
    return (other, False) if other is not None and other in SWITCHES else None
