"""Values that the target's own tables refuse: after flags, and in the fields of JSON arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from pd_launch.launcher.rules.container_facts import unreleased
from pd_launch.launcher.rules.edits import rename_key, renamed
from pd_launch.launcher.rules.registry import Hit
from pd_launch.launcher.rules.values.flag_domains import (
    OBJECT,
    PLAIN_JSON,
    expands_suffixes,
    is_json,
    needs_suffixes,
    refused_fields,
    refused_word,
    without_suffixes,
)
from pd_launch.launcher.rules.values.flag_names import meaning
from pd_launch.schemas.core.launch import JSON_ARGS, Arg, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.values import Node, plain_node
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.domains import added_words
from pd_launch.schemas.releases.vllm_tables import Spec, Table, vllm_table

KV = "kv-transfer-config"
_CONFIGS = {"speculative-config": "SpeculativeConfig"}
"""JSON arguments that the parser takes as they are and a config class reads later."""

OF_MEDIA = frozenset({"mm-shm-cache-max-object-size-mb", "mm-encoder-fp8-scale-save-margin", "video-pruning-rate"})
OF_ADAPTERS = frozenset({"max-loras", "max-lora-cls-labels"})
"""Flags with bounds that only models with images or sounds have, and only with ``--enable-lora``."""
_CHECKED_ELSEWHERE = frozenset(
    {
        "KVTransferConfig.kv_port",
        "KVTransferConfig.kv_role",
        "KVTransferConfig.kv_load_failure_policy",
        "KVTransferConfig.kv_connector_extra_config",
        "SpeculativeConfig.num_speculative_tokens",
    }
)
"""Fields for which other checks have more to say."""


def table_values(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check every flag's values, and the fields of its JSON object, against the target's table."""
    table = vllm_table(deployment.target)
    for arg in node.args:
        if not arg.name or (arg.name.partition(".")[0] not in table.flags and node.program == "python"):
            continue
        found = meaning(arg, table)
        if found.spec is None:
            continue
        spec = _widened(found.name, found.spec, deployment)
        if node.program == "python":
            yield from _python(arg, spec)
        else:
            free = replace(spec, bounds=()) if _unread(found.name, node) else spec
            hits = list(_words(arg, free, found.negated, unreleased(node)))
            bounded = () if hits or free is spec else _words(arg, spec, found.negated, unreleased(node))
            yield from (*hits, *(replace(hit, severity="warning") for hit in bounded))
        yield from _object(arg, found.name, spec, table, deployment)
    yield from _kv_fields(node, table, deployment)


def _unread(name: str, node: NodeLaunch) -> bool:
    """Whether the class that has the bounds of a flag is not made, or only for some models."""
    return name in OF_MEDIA or (name in OF_ADAPTERS and not node.switch("enable-lora"))


def _widened(name: str, spec: Spec, deployment: Deployment) -> Spec:
    """Return the flag with the words that vllm-ascend adds to its choices."""
    words = added_words(name, deployment.target) if spec.choices else ()
    return replace(spec, choices=(*spec.choices, *words)) if words else spec


def _words(arg: Arg, spec: Spec, negated: bool, newer: bool) -> Iterator[Hit]:
    """Check the words after a flag; one of several words may be new in a build that is no release (``newer``)."""
    shown = arg.written.partition(".")[0]
    values = [value for value in (arg.value, *arg.more) if value is not None]
    if not spec.takes_value or negated:
        if values:
            message = Msg(f"{shown} takes no value", f"{shown} 不带值")
            yield Hit(arg.origin, message, Msg(f"write only {shown}", f"只写 {shown}"))
        return
    if not values and spec.values != "?":
        yield Hit(arg.origin, Msg(f"{shown} has no value", f"{shown} 没有值"), Msg("write its value", "请写出它的值"))
    if isinstance(spec.values, int) and len(values) != spec.values and all(value.known for value in values):
        message = Msg(f"{shown} takes {counted(spec.values, 'value')}", f"{shown} 需要 {spec.values} 个值")
        yield Hit(arg.origin, message, Msg(f"write {counted(spec.values, 'value')}", f"请写 {spec.values} 个值"))
    for value in values:
        text = _text(value)
        wanted = None if text is None or "." in arg.name else refused_word(text, spec)
        if wanted is not None:
            hit = wrong(value, shown, wanted)
            yield replace(hit, severity="warning") if newer and spec.choices else hit


def _text(value: Node) -> str | None:
    """Return a scalar as the word that reaches the engine; None for an unknown value or a JSON object's tree."""
    plain = value.value
    if isinstance(plain, str):
        return plain
    return str(plain) if isinstance(plain, (int, float)) and not isinstance(plain, bool) and not value.text else None


def _python(arg: Arg, spec: Spec) -> Iterator[Hit]:
    """Check a value that Python code gives: what a word may end in, ``32k``, only the parser of words takes."""
    spec = replace(spec, kind="int") if spec.kind in ("size", "length") else spec
    value = arg.value
    if value is None or spec.kind not in ("int", "float", "str") or spec.values:
        return
    plain = value.value
    if isinstance(plain, float) and spec.kind == "int" and not plain.is_integer():
        plain = str(plain)
    if not isinstance(plain, str):
        return
    wanted = refused_word(plain, spec)
    if wanted is not None:
        yield wrong(value, arg.written, wanted)


def wrong(value: Node, shown: str, wanted: Msg, said: object = None) -> Hit:
    """Return the hit on a value that is not what is wanted; ``said``: how it is written, where that is not plain."""
    text = str(value.plain() if said is None else said)
    text = text if len(text) <= 60 else f"{text[:57]}…"
    return Hit(
        value.origin,
        Msg(f"{shown} needs {wanted.en}, not {text!r}", f"{shown} 需要{wanted.zh}，不能是 {text!r}"),
        Msg(f"write {wanted.en}", f"请写{wanted.zh}"),
    )


def _object(arg: Arg, name: str, spec: Spec, table: Table, deployment: Deployment) -> Iterator[Hit]:
    """Check the fields of a JSON argument that a config class reads."""
    config = spec.config or _CONFIGS.get(name, "")
    value = arg.value
    if not config or value is None or not value.known or "." in arg.name:
        return
    tree = value if name in JSON_ARGS else _tree(value, table)
    if tree is not None and isinstance(tree.value, dict):
        if name != KV:
            yield from _fields(tree, config, f"--{name}", table, deployment)
    elif not (_is_none(value, spec) or _said_elsewhere(value, name, table)):
        yield wrong(value, f"--{name}", OBJECT)
    if name in JSON_ARGS and value.text and needs_suffixes(value.text.value) and not expands_suffixes(table):
        yield wrong(value, f"--{name}", PLAIN_JSON)


def _is_none(value: Node, spec: Spec) -> bool:
    """Whether the word is one that the parser reads as None, before it looks for JSON."""
    word = value.text.value if value.text else value.value
    return spec.optional and word in ("", "None", None)


def _said_elsewhere(value: Node, name: str, table: Table) -> bool:
    """Whether rule PD001 speaks of a text that is no JSON."""
    return name in JSON_ARGS and (value.text is None or not is_json(without_suffixes(value.text.value, table)))


def _tree(value: Node, table: Table) -> Node | None:
    """Return the object that a text holds, every part with the text's own place; None where it is no JSON."""
    if not isinstance(value.value, str):
        return value
    text = without_suffixes(value.value, table)
    return plain_node(json.loads(text), value.origin) if is_json(text) else None


def _fields(tree: Node, config: str, shown: str, table: Table, deployment: Deployment) -> Iterator[Hit]:
    for entry, path, wanted in refused_fields(tree, config, table):
        if f"{config}.{path}" in _CHECKED_ELSEWHERE:
            continue
        if wanted is not None:
            yield wrong(entry, path, wanted)
        elif config != "KVTransferConfig":  # rule PD006 speaks of those
            yield _no_field(entry, path, config, shown, table, deployment)


def _no_field(entry: Node, path: str, config: str, shown: str, table: Table, deployment: Deployment) -> Hit:
    place = entry.key or entry.origin
    name = path.rpartition(".")[2]
    near = None if "." in path else nearest(name, table.fields(config))
    message = Msg(f"{shown} has no field {path}", f"{shown} 没有字段 {path}")
    if near is None:
        return Hit(place, message, Msg(f"remove {name}", f"删掉 {name}"))
    right = renamed(rename_key(entry, near), near)
    return Hit(place, message, Msg(f"did you mean {near}?", f"是不是想写 {near}？"), fix=right)


def _kv_fields(node: NodeLaunch, table: Table, deployment: Deployment) -> Iterator[Hit]:
    for connector in connectors(node.kv_transfer):
        yield from _fields(connector.tree, "KVTransferConfig", f"--{KV}", table, deployment)
