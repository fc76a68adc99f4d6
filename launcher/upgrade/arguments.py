"""Entries for arguments and fields of JSON arguments that the new release does not have."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import (
    Edits,
    insert_entries,
    joined,
    remove_entry,
    rename_flag,
    rename_key,
    set_text,
    set_value,
)
from pd_launch.launcher.rules.values.flag_names import Meaning, meaning
from pd_launch.launcher.upgrade.entries import Entry, How, Maker
from pd_launch.launcher.upgrade.gone import Gone, gone, lost_value, older_name
from pd_launch.launcher.upgrade.step import Step, came_back, fate_of, lost_value_entry, not_yet, why_gone
from pd_launch.launcher.upgrade.words import remove_argument
from pd_launch.schemas.core.launch import Arg, NodeLaunch
from pd_launch.schemas.core.values import Node, knowable
from pd_launch.schemas.releases.vllm_tables import Spec, Table, vllm_table


def argument_entries(node: NodeLaunch, step: Step) -> Iterator[Entry]:
    """Iterate over the arguments of an engine that ``step.b`` does not have, and the fields in them."""
    old, new = vllm_table(step.a), vllm_table(step.b)
    if node.program == "dynamo":
        return
    for arg in node.args:
        if not arg.name or not knowable(arg.written):
            continue
        if _is_call(arg, node):
            if new.entry("keywords", arg.name.replace("-", "_")) is not None:
                continue
            there = Meaning(arg.name, new.flags.get(arg.name) or new.flags.get(arg.name.removeprefix("no-")))
        else:
            there = meaning(arg, new)
        if there.spec is not None:
            value = arg.value
            row = lost_value(f"flags.{there.name}", value.value, step.b) if value is not None else None
            if row is not None and value is not None:
                name = f"--{there.name}"
                yield lost_value_entry(name, value, row, step, frozenset({f"--{arg.name}"}))
            yield from _fields(arg, there.spec, old, new, step)
        elif not there.candidates:
            entry = _argument(arg, node, old, new, step)
            if entry is not None:
                yield entry


def _is_call(arg: Arg, node: NodeLaunch) -> bool:
    """Whether an argument is a keyword of a call in Python, not a word of a command."""
    return node.program == "python" and not arg.written.startswith("-")


def _argument(arg: Arg, node: NodeLaunch, old: Table, new: Table, step: Step) -> Entry | None:
    base = arg.name.partition(".")[0]
    bare = base.removeprefix("no-")
    row = gone("flags", base) or gone("flags", bare)
    subject = arg.written if not arg.written.startswith("--") else f"--{base}"
    was = meaning(arg, old).spec is not None
    if row is None:
        back = older_name("flags", base)
        if back is not None and back.name in new.flags:
            renamed = [rename_flag(arg, back.name)]
            return Entry("renamed", subject, arg.origin, subject, f"--{back.name}", came_back(back, step), back.source,
                         "certain", "stops", lambda: list(renamed),
                         frozenset({f"--{base}", f"--{back.name}"}))  # fmt: skip
        if not was:
            return None
        releases = new.releases_with("flags", base) or new.releases_with("flags", bare)
        return not_yet(subject, arg, step, True, f"vLLM {releases[0] if releases else step.a.vllm}")
    kind, how, group = fate_of(row, True)
    edits, after, how = _argument_edits(arg, node, row, new, how)
    names = {f"--{arg.name}", f"--{base}", "a word"}
    if row.to is not None:
        names |= {"--max-cudagraph-capture-size"} if base == "cuda-graph-sizes" else set()
        names |= {f"--{row.to[1]}", f"--{row.to[1].partition('.')[0]}", row.to[1].rpartition(".")[2]}
    return Entry(kind, subject, arg.origin, subject, after, why_gone(row, step), row.source, how, group,
                 edits, frozenset(names), row.do)  # fmt: skip


def _argument_edits(arg: Arg, node: NodeLaunch, row: Gone, new: Table, how: How) -> tuple[Maker | None, str, How]:
    if row.to is None:
        if row.fate in ("idle", "dropped"):
            return (lambda: remove_argument(arg)), "", how
        return None, row.do.en, "by-hand"
    section, name = row.to
    if name == "cudagraph-capture-sizes" and not arg.more:
        name = "max-cudagraph-capture-size"  # one size meant all sizes up to it
    if section != "flags" or name.partition(".")[0] not in new.flags:
        return None, row.do.en, "by-hand"
    if arg.written.startswith("--no-") and row.fate == "replaced":
        return (lambda: remove_argument(arg)), "", "plausible"
    return _to_flag(arg, node, row, name, new)


def _to_flag(arg: Arg, node: NodeLaunch, row: Gone, name: str, new: Table) -> tuple[Maker | None, str, How]:
    base, _, key = name.partition(".")
    written = None if arg.value is None else arg.value.value
    if arg.value is None:
        value = row.value(True) if row.values else (True if key else None)
    elif isinstance(written, (str, int, float, bool)):
        value = row.value(written)
    else:
        value = None if row.values or key else written
    if arg.value is not None and value is None and row.values:
        return None, row.do.en, "by-hand"
    call = _is_call(arg, node)
    given = node.value(base)
    if key and (call or given is not None):
        edits = _into(arg, given, key, value)
        return edits, f"--{base} {{{key}}}", "certain" if edits else "by-hand"
    if row.values is None and not (arg.value is None and key):
        return (lambda: [rename_flag(arg, name)]), f"--{name}", "certain"
    shown = "true" if value is True else str(value)
    if arg.value is None:
        if call or arg.text is None:
            return None, row.do.en, "by-hand"
        text = arg.text
        return (lambda: [set_text(text, f"--{name}={shown}")]), f"--{name}={shown}", "certain"
    node_value = arg.value
    return (lambda: [joined(rename_flag(arg, name), set_value(node_value, shown))]), f"--{name} {shown}", "certain"


def _into(arg: Arg, given: Node | None, key: str, value: object) -> Maker | None:
    """Return the edits that move an argument's value into a JSON argument that is there already."""
    if given is None or value is None or given.get(key) is not None:
        return None
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    return lambda: [joined(cut, insert_entries(given, {key: number})) for cut in remove_argument(arg)]


def _fields(arg: Arg, spec: Spec, old: Table, new: Table, step: Step) -> Iterator[Entry]:
    if spec.config and arg.value is not None and spec.config != "KVTransferConfig":
        yield from _tree(arg.value, spec.config, f"--{arg.name.partition('.')[0]}", old, new, step)


def _tree(tree: Node, config: str, where: str, old: Table, new: Table, step: Step) -> Iterator[Entry]:
    known = new.fields(config)
    if not known:
        return
    for key, entry in tree.items():
        if not knowable(key):
            continue
        name = f"{config}.{key}"
        if key in known:
            inner = [kind[7:] for kind in known[key].kind.split("|") if kind.startswith("config:")]
            if inner:
                yield from _tree(entry, inner[0], f"{where}.{key}", old, new, step)
            lost = lost_value(f"fields.{name}", entry.value, step.b)
            if lost is not None:
                yield lost_value_entry(f"{where} {key}", entry, lost, step, frozenset({key}))
            continue
        row = gone("fields", name)
        if row is None and old.entry("fields", name) is None:
            continue
        yield _field(entry, key, name, row, where, known, new, step)


def _field(
    entry: Node, key: str, name: str, row: Gone | None, where: str, known: object, new: Table, step: Step
) -> Entry:
    subject = f"{where} {key}"
    if row is None:
        back = older_name("fields", name)
        if back is not None and new.entry("fields", back.name) is not None:
            older = back.name.rpartition(".")[2]
            return Entry("renamed", subject, entry.key or entry.origin, key, older, came_back(back, step), back.source,
                         "certain", "stops", lambda: [rename_key(entry, older)], frozenset({key, older}))  # fmt: skip
        releases = new.releases_with("fields", name)
        return not_yet(subject, entry, step, True, f"vLLM {releases[0] if releases else step.a.vllm}")
    kind, how, group = fate_of(row, True)
    after, touches = "", {key}
    edits: Maker | None = None
    to = row.to[1].rpartition(".")[2] if row.to else None
    if to is not None and row.to is not None and new.entry("fields", row.to[1]) is not None:
        value = row.value(entry.value) if row.values else None
        after, touches = to, {key, to}
        if row.values is None:
            edits = lambda: [rename_key(entry, to)]  # noqa: E731
        elif value is not None:
            edits = lambda: [joined(rename_key(entry, to), set_value(entry, value)), _quoted(entry, to, value)]  # noqa: E731
        elif isinstance(entry.value, bool):
            after, touches = "", {key}
            edits = lambda: [remove_entry(entry)]  # noqa: E731
        else:
            how = "by-hand"
    elif row.fate in ("idle", "dropped") or (row.values and row.value(entry.value) is None):
        edits = lambda: [remove_entry(entry)]  # noqa: E731
    else:
        how = "by-hand"
    return Entry(kind, subject, entry.key or entry.origin, key, after, why_gone(row, step), row.source, how, group,
                 edits, frozenset(touches), row.do)  # fmt: skip


def _quoted(entry: Node, key: str, value: object) -> Edits | None:
    return None if entry.site is None else joined(rename_key(entry, key), set_value(entry, value))
