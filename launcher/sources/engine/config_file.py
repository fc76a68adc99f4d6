"""``--config FILE.yaml``: flags of ``vllm serve`` from a file; the command line wins over them."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace

from pd_launch.launcher.sources.engine.command_line import PLAIN_JSON
from pd_launch.launcher.sources.engine.named import named_file, unread
from pd_launch.launcher.sources.engine.written import as_file
from pd_launch.launcher.sources.text.interpolate import CONFIG, expand_node
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import JSON_ARGS, Arg, Fault, NodeLaunch, is_unknown
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node, SourceFile, Text


def read_config_file(
    node: NodeLaunch, files: MutableMapping[str, SourceFile | Text], most: int
) -> tuple[SourceFile | None, list[Fault]]:
    """Add the flags of a node's ``--config`` file that its command line does not give.

    Args:
        node: the node to complete.
        files: the files of the call and the here-documents that its scripts write, by base name; another file is
            looked for beside the script. A here-document that is read becomes a file.
        most: bytes that the file may have.

    Returns:
        The file that was read, if any, and what is wrong with it.
    """
    written = node.value("config")
    name = written.string() if written else None
    node.partial |= is_unknown(written)
    if name is None or not name.endswith((".yaml", ".yml")):
        return None, []
    base = name.rpartition("/")[2]
    held = files.get(base)
    source = as_file(held) if isinstance(held, Text) else held
    if source is not None:
        files[base] = source
    if source is None:
        named = named_file(name, written.origin.file if written else node.origin.file, most)
        node.partial |= named.source is None  # it may give any flag
        if named.refused is not None and written is not None and written.text is not None:
            return None, [unread(Msg("the configuration file", "配置文件"), written.text, named.refused)]
        source = named.source
    if source is None:
        return None, []
    documents, faults = parse_yaml(source)
    add_flags(node, documents[0] if documents else None, faults)
    return source, faults


def add_flags(node: NodeLaunch, mapping: Node | None, faults: list[Fault]) -> None:
    """Add the flags that are keys in a mapping, unless the node has them."""
    entries = expand_node(mapping, CONFIG).items() if mapping is not None else ()
    found = (as_flag(node, key.replace("_", "-"), value, faults) for key, value in entries)
    node.add(*[arg for arg in found if arg is not None])


def as_flag(node: NodeLaunch, name: str, value: Node, faults: list[Fault]) -> Arg | None:
    """Return the flag that a key gives; None where the node has it, or it is none."""
    if name == "model" and node.model is None:
        node.model = value
    if name == "model" or node.named(name) or node.named(f"no-{name}") or value.value is None:
        return None
    place = value.key or value.origin
    if isinstance(value.value, bool):
        return Arg(name if value.value else f"no-{name}", name, place, text=value.key_text)
    if isinstance(value.value, list):
        words = [_word(part) for part in value.elements()]
        return Arg(name, name, place, words[0] if words else None, tuple(words[1:]), value.key_text)
    given = value if isinstance(value.value, dict) else _json(name, value, faults)
    return Arg(name, name, place, given, text=value.key_text)


def _json(name: str, value: Node, faults: list[Fault]) -> Node:
    """Return the object that a JSON argument's text holds; the text itself for other arguments."""
    if name not in JSON_ARGS or value.text is None or value.text.value.strip()[:1] not in ("{", "["):
        return _word(value)
    tree, more = parse_json(value.text, sizes=name not in PLAIN_JSON)
    faults += more
    tree.key, tree.key_text, tree.text = value.key, value.key_text, value.text
    return tree


def _word(node: Node) -> Node:
    if not node.known:
        return node
    text = node.text.value if node.text is not None else str(node.value)
    return replace(node, value=text, shadowed=[])
