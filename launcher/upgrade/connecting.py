"""Entries for connectors, their modules, fields and options that the new release does not have."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pd_launch.launcher.rules.edits import (
    Edits,
    remove_entry,
    set_value,
)
from pd_launch.launcher.upgrade.entries import Entry
from pd_launch.launcher.upgrade.gone import gone, older_name
from pd_launch.launcher.upgrade.step import Step, came_back, why_gone
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.connectors import registered
from pd_launch.schemas.releases.vllm_tables import ascend_table, vllm_table


def connector_entries(node: NodeLaunch, step: Step) -> Iterator[Entry]:
    """Iterate over what an engine's connectors are, and are given, that ``step.b`` does not have."""
    new = vllm_table(step.b)
    for connector in connectors(node.kv_transfer):
        name, place = connector.name, connector.tree.get("kv_connector")
        if not connector.is_bundled_offload:
            yield from _module(connector.tree.get("kv_connector_module_path"), step)
        if name is not None and place is not None and connector.tree.get("kv_connector_module_path") is None:
            yield from _connector(name, place, step)
        for key, entry in connector.tree.items():
            row = gone("fields", f"KVTransferConfig.{key}")
            if row is not None and new.entry("fields", row.name) is None:
                yield Entry("removed", f"--kv-transfer-config {key}", entry.key or entry.origin, key, "",
                            why_gone(row, step), row.source, "certain", "stops",
                            partial(_cut, entry), frozenset({key}), row.do)  # fmt: skip
        yield from _options(name, connector.extra, step)


def _connector(name: str, place: Node, step: Step) -> Iterator[Entry]:
    if registered(name, step.b):
        return
    row = gone("connectors", name)
    back = older_name("connectors", name)
    if row is not None and row.to is not None and registered(row.to[1], step.b):
        new, how = row.to[1], "certain" if row.fate == "renamed" else "plausible"
    elif row is None and back is not None and registered(back.name, step.b):
        row, new, how = back, back.name, "certain"
    elif row is None:
        return
    else:
        yield Entry("removed", name, place.origin, name, "", why_gone(row, step), row.source, "by-hand", "stops",
                    help=row.do)  # fmt: skip
        return
    help_ = Msg(f"write {new}", f"改写为 {new}")
    why = came_back(row, step) if row is back else why_gone(row, step)
    yield Entry("renamed", name, place.origin, name, new, why,
                row.source, "certain" if how == "certain" else "plausible", "stops",
                lambda: [set_value(place, new)], frozenset({"kv_connector"}), help_)  # fmt: skip


def _module(place: Node | None, step: Step) -> Iterator[Entry]:
    module = place.string() if place is not None else None
    if place is None or module is None:
        return
    row = gone("modules", module)
    tables = [table for table in (ascend_table(step.b), vllm_table(step.b)) if table is not None]
    if row is None or any(table.entry("modules", module) is not None for table in tables):
        return
    new = row.to[1] if row.to else None
    edits = (lambda: [set_value(place, new)]) if new else None
    yield Entry("renamed" if new else "removed", module, place.origin, module, new or "", why_gone(row, step),
                row.source, "plausible" if new else "by-hand", "stops", edits, frozenset({"kv_connector_module_path"}),
                row.do)  # fmt: skip


def _cut(entry: Node) -> list[Edits | None]:
    return [remove_entry(entry)]


def _options(name: str | None, extra: Node | None, step: Step) -> Iterator[Entry]:
    if name is None or extra is None:
        return
    for key, entry in extra.items():
        row = gone("options", f"{name}.{key}") or gone("options", f"*.{key}")
        if row is None or row.fate in ("kept", "dropped"):
            continue
        tables = [table for table in (ascend_table(step.b), vllm_table(step.b)) if table is not None]
        names = (f"{name}.{key}", f"*.{key}")
        if not registered(name, step.b) or any(t.entry("options", n) is not None for t in tables for n in names):
            continue
        idle = row.fate == "idle"
        yield Entry("removed" if idle else "behaviour", f"{name} {key}", entry.key or entry.origin, key, "",
                    why_gone(row, step), row.source, "certain" if idle else "plausible",
                    "cleans" if idle else "differs", partial(_cut, entry), frozenset({key}), row.do)  # fmt: skip
