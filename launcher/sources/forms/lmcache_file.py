"""The file that ``LMCACHE_CONFIG_FILE`` names: written or mounted by the input, of the call, or beside the input."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from pd_launch.launcher.sources.engine.around import place_of
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.engine.named import named_file
from pd_launch.launcher.sources.engine.scripts_given import target_of
from pd_launch.launcher.sources.forms.relocate import tree_inside
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text

VARIABLE = "LMCACHE_CONFIG_FILE"


def note_written(command: Command, found: Found) -> None:
    """Note the here-document that a command writes into a file."""
    target = target_of(command) if command.body is not None else ""
    if command.body is not None and target and HOLE not in target and not target.startswith("/dev/"):
        found.written[posixpath.normpath(target)] = command.body
        found.written[posixpath.basename(target)] = command.body


def read_written(node: NodeLaunch, files: Mapping[str, Text], found: Found) -> None:
    """Give a node the tree of its file, where that is one of ``files``, which are by path, and by name as well."""
    path = node.variable(VARIABLE)
    if not path or node.lmcache is not None:
        return
    path = posixpath.normpath(path)
    text = files.get(path) or files.get(posixpath.basename(path))
    if text is not None:
        place = place_of(text)
        if place not in found.trees:
            found.trees[place] = tree_inside(text)
        node.lmcache = found.trees[place]


def read_named(nodes: Iterable[NodeLaunch], files: Mapping[str, SourceFile], most: int) -> list[SourceFile]:
    """Give nodes the trees of files of the call, by their names, or beside the input; return the files.

    Args:
        nodes: those that have no tree so far are looked at.
        files: the files of the call by their base names.
        most: bytes that a file may have.
    """
    trees: dict[tuple[str, str], Node | None] = {}
    sources: list[SourceFile] = []
    for node in nodes:
        path = node.variable(VARIABLE)
        if not path or node.lmcache is not None:
            continue
        key = (path, node.env[VARIABLE].value.origin.file)
        if key not in trees:
            source = files.get(posixpath.basename(path)) or named_file(*key, most).source
            documents = parse_yaml(source)[0] if source is not None else []
            trees[key] = documents[0] if documents else None
            sources += [source] if source is not None else []
        node.lmcache = trees[key]
    return sources
