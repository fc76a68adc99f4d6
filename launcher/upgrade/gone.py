"""The curated table of names that releases no longer have: what took their place, or what to do without them.

``schemas/releases/gone.json`` has one row a name: every name that the generated tables show as gone between two rows,
and those that were gone before the first. ``fate`` is

* ``renamed``: the new name in ``to`` means the same;
* ``replaced``: ``to`` says where it is written now, with ``values`` that are spelled otherwise;
* ``idle``: it did nothing, or what it asked for is so anyway;
* ``dropped``: what it asked for is not there any more, or is decided elsewhere;
* ``kept``: it is read although the tables do not show it;
* ``deprecated``: so too, with a warning, and the project's own guides leave it out.

The section ``values`` has values that a name no longer takes: ``flags.all2all-backend=mori``.

``last`` is the last release that has it, ``source`` where that can be read: release, file and line, or an address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pd_launch.schemas import releases
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target, release

Fate = Literal["renamed", "replaced", "idle", "dropped", "kept", "deprecated"]


@dataclass(frozen=True)
class Gone:
    """One name that some release no longer has."""

    project: str
    section: str
    name: str
    last: str
    fate: Fate
    do: Msg
    source: str
    to: tuple[str, str] | None = None
    """Section and name of what takes its place."""
    values: Mapping[str, Any] | None = None
    """What is written for a value, where that is not the value itself."""

    def value(self, old: object) -> Any:
        """Return what is written for an old value; None where nobody knows."""
        if self.values is None:
            return old
        return self.values.get(str(old).lower() if isinstance(old, bool) else str(old))


@cache
def gone_names() -> dict[tuple[str, str], Gone]:
    """Return every row by section and name."""
    file = Path(releases.__file__).with_name("gone.json")
    return {(row["section"], row["name"]): _row(row) for row in json.loads(file.read_text(encoding="utf-8"))}


def _row(row: Mapping[str, Any]) -> Gone:
    to = row.get("to")
    return Gone(
        row["project"],
        row["section"],
        row["name"],
        row["last"],
        row["fate"],
        Msg(row["do"], row["zh"]),
        row["source"],
        (to[0], to[1]) if to else None,
        row.get("values"),
    )


def gone(section: str, name: str) -> Gone | None:
    """Return the row of a name; None where no release lost it."""
    return gone_names().get((section, name))


def lost_value(scope: str, value: object, target: Target) -> Gone | None:
    """Return the row of a value that ``target`` no longer takes; ``scope`` is section and name, with a dot."""
    row = gone("values", f"{scope}={value}")
    if row is None:
        return None
    own = target.vllm_ascend if row.project == "vllm-ascend" else target.vllm
    return row if own is not None and release(own) > release(row.last) else None


@cache
def _newer() -> dict[tuple[str, str], Gone]:
    rows = (row for row in gone_names().values() if row.to is not None and row.fate == "renamed")
    return {row.to: row for row in rows if row.to is not None}


def older_name(section: str, name: str) -> Gone | None:
    """Return the row that says what a name was called before, for the way back; None where it had no other name."""
    return _newer().get((section, name))
