"""Entries for names in a user's files that the new release does not have: arguments, fields, variables, keys, options.

A name that the old release does not know either is an entry where the curated table has it; else it was a mistake
before, and check says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.upgrade.arguments import argument_entries
from pd_launch.launcher.upgrade.connecting import connector_entries
from pd_launch.launcher.upgrade.entries import Entry
from pd_launch.launcher.upgrade.keys import key_entries
from pd_launch.launcher.upgrade.step import Step
from pd_launch.launcher.upgrade.variables import variable_entries
from pd_launch.schemas.core.launch import NodeLaunch


def name_entries(nodes: Sequence[NodeLaunch], step: Step) -> Iterator[Entry]:
    """Iterate over the entries of engines that are for ``step.a``; one that several share comes once for each."""
    for node in nodes:
        yield from argument_entries(node, step)
        yield from variable_entries(node, [n for n in nodes if n is not node], step)
        if step.b.is_ascend:
            yield from key_entries(node, step)
        yield from connector_entries(node, step)
