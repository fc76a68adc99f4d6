"""Engines whose options are keys of a mapping, which some tool turns into flags of ``vllm serve``.

Each tool has its own way with ``false``, with texts that hold variables and with what it adds by itself; a form says
which, and the rest is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from pd_launch.launcher.sources.engine.config_file import as_flag
from pd_launch.launcher.sources.text.interpolate import CONFIG, expand_node
from pd_launch.schemas.core.launch import Arg, EnvVar, Fault, NodeLaunch
from pd_launch.schemas.core.values import Node, Unknown

MODELS = ("model", "model-tag")
"""Keys that name the model and are no flags of the command line that the tool writes."""


def add_options(
    node: NodeLaunch, mapping: Node | None, faults: list[Fault], drops_false: bool, leave: Collection[str] = ()
) -> None:
    """Add the options of a mapping to ``node``: keys in either spelling, with underscores or with hyphens.

    Args:
        node: the engine.
        mapping: the options.
        faults: where faults of JSON texts go.
        drops_false: whether the tool leaves out a switch that is ``false``, instead of writing ``--no-NAME``.
        leave: names, with hyphens, that the tool keeps for itself.
    """
    for key, given in mapping.items() if mapping is not None else ():
        name, value = key.replace("_", "-"), expand_node(given, CONFIG)
        if name in leave or (drops_false and value.value is False):
            continue
        if name in MODELS:
            node.model = node.model or value
        elif value.value is True:
            node.add(Arg(name, key, value.key or value.origin, text=value.key_text))
        elif (arg := as_flag(node, name, value, faults)) is not None:
            node.add(replace(arg, written=key))


def variables(mapping: Node | None) -> dict[str, EnvVar]:
    """Return the variables that a mapping of names and values sets."""
    return {
        name: EnvVar(name, replace(known, value=known.value if known.text is None else _text(known)), "export")
        for name, value in (mapping.items() if mapping is not None else ())
        for known in [expand_node(value, CONFIG)]
    }


def _text(node: Node) -> str | Unknown:
    """Return what the engine gets: the characters, also where YAML took them for a number."""
    if isinstance(node.value, Unknown) or node.text is None:
        return Unknown("…")
    return node.text.value


def merged(base: Node, over: Node) -> Node:
    """Return a mapping with another one laid over it, mappings inside of both merged alike."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    entries: Mapping[str, Node] = base.value
    laid = {key: merged(entries[key], value) if key in entries else value for key, value in over.value.items()}
    return replace(base, value={**entries, **laid})
