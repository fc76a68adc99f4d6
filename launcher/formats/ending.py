"""How engines are stopped and started again: one sum and one reading of their status, for every form."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pd_launch.launcher.launch.start import default_grace
from pd_launch.schemas.core.launch import NodeLaunch

STOP_MARGIN = 10
"""Seconds beyond the grace, so that whoever stops a launch from outside never cuts it short."""
ADD = 'engines="$engines $!"'
UNTIL_ONE_ENDS = (  # bash's "wait -n" can miss an engine that ends at once, and then waits for the others
    "while sleep 1; do",
    "  for engine in $engines; do",
    "    kill -0 $engine 2> /dev/null || { wait $engine || exit $?; exit 1; }",
    "  done",
    "done",
)
"""The end of a script of several engines: the status is that of the first that ends, which is never a success.

An engine that dies of a fault inside ends with status 0 too.
"""


def grace_of(launches: Sequence[NodeLaunch], grace: float | None = None) -> int:
    """Return the whole seconds between TERM and KILL; ``grace`` is what the user asked for, if anything."""
    return math.ceil(default_grace(launches) if grace is None else grace)


def stop_seconds(launches: Sequence[NodeLaunch], grace: float | None = None) -> int:
    """Return the seconds that systemd, Docker or the kubelet must wait before they kill."""
    return grace_of(launches, grace) + STOP_MARGIN


def together(grace: int) -> list[str]:
    """Return the head of a script of several engines: neither they nor their processes outlive it.

    ``set -m`` gives each engine a process group, so that a Ctrl-C reaches them once, through the script. "jobs", and
    not $engines, is asked, since a signal may come before the last engine's number is in there. What an engine has
    started is looked up before it ends, as later nothing tells whose it was.
    """
    return [
        "set -m",
        "engines=",
        'below() { for i in $(cat /proc/"$1"/task/*/children 2> /dev/null); do echo "$i"; below "$i"; done; }',
        "end() {",
        f"  until=$((SECONDS + {grace}))",
        "  trap '' TERM HUP; trap 'until=0' INT",
        "  own=$(jobs -p); all=$(below $$)",
        "  kill $own 2> /dev/null || :",
        "  while kill -0 $all 2> /dev/null && [ $SECONDS -lt $until ]; do sleep 0.2 || :; done",
        "  for i in $own; do kill -KILL -- -$i 2> /dev/null || :; done",
        "  kill -KILL $all 2> /dev/null || :",
        "  wait",
        "}",
        "trap end EXIT",
        "trap 'exit 143' TERM",
        "trap 'exit 130' INT",
        "trap 'exit 129' HUP",
    ]
