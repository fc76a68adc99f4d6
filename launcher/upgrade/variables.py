"""Entries for environment variables that the new release does not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.rules.edits import (
    joined,
    set_text,
)
from pd_launch.launcher.rules.variables import place_of
from pd_launch.launcher.upgrade.entries import Entry, How, Maker
from pd_launch.launcher.upgrade.gone import Gone, gone
from pd_launch.launcher.upgrade.step import Step, fate_of, why_gone
from pd_launch.launcher.upgrade.words import add_argument, remove_variable
from pd_launch.launcher.upgrade.writing import into_additional, into_options
from pd_launch.schemas.core.launch import EnvVar, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.environment import ascend_reads
from pd_launch.schemas.releases.vllm_tables import ascend_table, vllm_table


def variable_entries(node: NodeLaunch, others: Sequence[NodeLaunch], step: Step) -> Iterator[Entry]:
    """Iterate over the variables of an engine that ``step.b`` does not read; ``others`` may share them."""
    for name, variable in node.env.items():
        row = gone("env", name)
        if _is_read(name, step.b):
            continue
        if row is None:
            if _is_read(name, step.a):
                yield _unread(name, variable, step)
            continue
        if row.fate == "kept" or (row.project == "vllm-ascend" and not step.b.is_ascend):
            continue
        yield _variable(name, variable, row, [node, *others], step)


def _is_read(name: str, target: Target) -> bool:
    return vllm_table(target).entry("env", name) is not None or ascend_reads(name, target)


def _unread(name: str, variable: EnvVar, step: Step) -> Entry:
    tables = [table for table in (ascend_table(step.b), vllm_table(step.b)) if table is not None]
    first = next((f"{step.a}" for table in tables for _ in table.releases_with("env", name)[:1]), str(step.a))
    why = Msg(f"{step.b} does not read it", f"{step.b} 不读取它")
    help_ = Msg("remove it: it has no effect", "删掉它：它不起作用")
    source = f"tables: {first}"
    return Entry("behaviour", name, place_of(variable), name, "", why, source, "certain", "differs",
                 lambda: remove_variable(variable), frozenset({name}), help_)  # fmt: skip


def _variable(name: str, variable: EnvVar, row: Gone, nodes: Sequence[NodeLaunch], step: Step) -> Entry:
    kind, how, group = fate_of(row, False)
    if kind == "removed" and group == "differs":
        kind = "behaviour"
    origin = place_of(variable)
    sharing = [n for n in nodes if name in n.env and place_of(n.env[name]) == origin]
    edits, after, touches, how = _variable_edits(variable, row, sharing, step, how)
    return Entry(kind, name, origin, _assignment(name, variable), after, why_gone(row, step), row.source, how, group,
                 edits, frozenset({name, *touches}), row.do)  # fmt: skip


def _assignment(name: str, variable: EnvVar) -> str:
    value = variable.value.value
    return f"{name}={value}" if isinstance(value, (str, int)) and len(str(value)) < 40 else name


def _variable_edits(
    variable: EnvVar, row: Gone, sharing: Sequence[NodeLaunch], step: Step, how: How
) -> tuple[Maker | None, str, set[str], How]:
    if row.to is None:
        if row.fate in ("idle", "dropped", "deprecated"):
            return (lambda: remove_variable(variable)), "", set(), how
        return None, row.do.en, set(), "by-hand"
    section, name = row.to
    old = variable.value.value
    value = row.value(old) if isinstance(old, (str, int)) else None
    if value is None or old == "":
        return None, row.do.en, set(), "by-hand"
    if section == "env":
        text = variable.value.key_text
        return (lambda: [set_text(text, name)] if text is not None else []), name, {name}, "certain"
    if section == "additional":
        return (*into_additional(variable, sharing, name, value), "certain")
    if section == "options":
        connector, _, key = name.partition(".")
        return (*into_options(variable, sharing, connector, key, value), "plausible")
    if name.partition(".")[0] not in vllm_table(step.b).flags:
        return None, row.do.en, set(), "by-hand"
    sure: How = "plausible" if row.values else "certain"
    return _to_argument(variable, sharing, name, str(value)), f"--{name} {value}", {f"--{name.partition('.')[0]}"}, sure


def _to_argument(variable: EnvVar, sharing: Sequence[NodeLaunch], name: str, value: str) -> Maker | None:
    if len(sharing) != 1 or sharing[0].arg(name.partition(".")[0]) is not None:
        node = sharing[0] if sharing else None
        return (lambda: remove_variable(variable)) if node is not None and node.arg(name) is not None else None
    node = sharing[0]
    return lambda: [joined(cut, new) for cut in remove_variable(variable) for new in add_argument(node, name, value)]
