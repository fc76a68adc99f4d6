"""Entries for keys of additional_config that the new release does not read."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import (
    insert_entries,
    joined,
    remove_entry,
    rename_key,
    set_value,
)
from pd_launch.launcher.upgrade.entries import Entry, How, Maker
from pd_launch.launcher.upgrade.gone import Gone, gone, lost_value
from pd_launch.launcher.upgrade.step import Step, fate_of, lost_value_entry, not_yet, why_gone
from pd_launch.launcher.upgrade.words import add_argument
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import Node, knowable
from pd_launch.schemas.releases.additional_keys import group_keys, is_strict
from pd_launch.schemas.releases.vllm_tables import ascend_table, vllm_table


def key_entries(node: NodeLaunch, step: Step) -> Iterator[Entry]:
    """Iterate over the keys of additional_config that ``step.b`` does not read."""
    old, new = ascend_table(step.a), ascend_table(step.b)
    tree = node.additional
    if tree is None or new is None:
        return
    stops = is_strict(step.b)
    for key, entry in tree.items():
        if not knowable(key):
            continue
        lost = lost_value(f"additional.{key}", entry.value, step.b)
        if lost is not None:
            yield lost_value_entry(f"additional_config.{key}", entry, lost, step, frozenset({key}))
        if new.entry("additional", key) is None:
            row = gone("additional", key)
            known = old is not None and old.entry("additional", key) is not None
            if row is not None:
                yield _key(entry, key, row, node, tree, stops, step)
            elif known and key not in ("scheduler_config",):
                releases = new.releases_with("additional", key)
                yield not_yet(f"additional_config.{key}", entry, step, stops, f"vllm-ascend {releases[0]}")
            continue
        group = group_keys(key, step.b)
        for inner, value in entry.items() if group else ():
            row = gone("additional", f"{key}.{inner}")
            if row is not None and group is not None and (inner not in group or new.releases_with("groups", key) == []):
                yield _key(value, f"{key}.{inner}", row, node, tree, stops, step)


def _key(entry: Node, name: str, row: Gone, node: NodeLaunch, tree: Node, stops: bool, step: Step) -> Entry:
    kind, how, group = fate_of(row, stops)
    how = "plausible" if row.fate == "dropped" else how
    after, touches = "", {name.rpartition(".")[2]}
    edits: Maker | None = lambda: [remove_entry(entry)]  # noqa: E731
    if row.to is not None:
        section, new = row.to
        after = new if section == "additional" else f"--{new}"
        touches |= set(new.split(".")) | {f"--{new}"}
        edits, how = _key_moved(entry, tree, node, section, new, step)
    return Entry(kind, f"additional_config.{name}", entry.key or entry.origin, name, after, why_gone(row, step),
                 row.source, how, group, edits, frozenset(touches), row.do)  # fmt: skip


def _key_moved(
    entry: Node, tree: Node, node: NodeLaunch, section: str, new: str, step: Step
) -> tuple[Maker | None, How]:
    table = ascend_table(step.b)
    if section == "flags":
        if new not in vllm_table(step.b).flags or entry.value is not True:
            return (lambda: [remove_entry(entry)]), "plausible"
        cut = remove_entry(entry)
        return (lambda: [joined(cut, add) for add in add_argument(node, new)]), "plausible"
    group, _, inner = new.rpartition(".")
    if table is None or table.entry("additional", group or new) is None or tree.get(new) is not None:
        return None, "by-hand"
    if not group:
        return (lambda: [rename_key(entry, new)]), "plausible"
    there = tree.get(group)
    if there is not None:
        return (lambda: [joined(remove_entry(entry), insert_entries(there, {inner: entry.value}))]), "certain"
    return (lambda: [joined(rename_key(entry, group), set_value(entry, {inner: entry.value}))]), "certain"
