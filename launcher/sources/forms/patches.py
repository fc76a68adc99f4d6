"""Patches of kustomize: JSON patches as files of their own, and those that are inside a kustomization.

A patch says what changes; the container, its command and its image are elsewhere, so that an engine of which only
arguments are given here may have any others. (Patches in the shape of the object itself are manifests, and read there.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import partial

from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.engines import add_engine, nest_scripts, with_variables
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.loose import read_loose
from pd_launch.launcher.sources.forms.manifest import is_manifest, read_manifest
from pd_launch.launcher.sources.forms.only_arguments import add_arguments, only_arguments
from pd_launch.launcher.sources.forms.relocate import read_inside
from pd_launch.launcher.sources.text.interpolate import KUBERNETES, expand, expand_node
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Container, EnvVar, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Node, SourceFile, Text
from pd_launch.schemas.engine.sides import spoken_side

_WRITES = ("add", "replace", "test")
_IN_CONTAINER = lazy_pattern(
    r"(?P<container>.{0,500}/(?:containers|initContainers)/\d{1,3})(?:/(?P<part>args|command|env)(?:/[\w-]{1,9})?)?"
)
_KINDS = ("Kustomization", "Component")
_LISTS = ("patches", "patchesJson6902", "patchesStrategicMerge")
_CHARTS = "helmCharts"


@dataclass
class _Changed:
    """What the operations of one patch write into one container."""

    command: list[Text] = field(default_factory=list)
    arguments: list[Text] = field(default_factory=list)
    env: dict[str, EnvVar] = field(default_factory=dict)
    place: Node | None = None


def recognise(tree: Node) -> bool:
    """Whether a document is a JSON patch or a kustomization."""
    return _is_patch(tree) or _is_kustomization(tree)


def read(tree: Node, source: SourceFile, found: Found) -> None:
    """Add the engines of which a patch, or the patches of a kustomization, give arguments."""
    if _is_patch(tree):
        _read_patch(tree, source.path, found)
        return
    for text, label in _inline(tree):
        read_inside(text, found, partial(_read_text, label))
    charts = tree.get(_CHARTS)
    for chart in charts.elements() if charts is not None else ():
        values = chart.get("valuesInline")
        if values is not None:
            read_loose(values, source.path, found)


def _is_patch(tree: Node) -> bool:
    entries = list(tree.elements())
    return bool(entries) and all(
        isinstance(entry.value, dict) and entry.get("op") is not None and _path(entry) is not None for entry in entries
    )


def _path(entry: Node) -> str | None:
    path = entry.get("path")
    return path.string() if path is not None else None


def _is_kustomization(tree: Node) -> bool:
    kind = tree.get("kind")
    if kind is not None:
        return kind.value in _KINDS
    return tree.get("resources") is not None and any(tree.get(key) is not None for key in _LISTS)


def _inline(tree: Node) -> Iterator[tuple[Text, str]]:
    """Iterate over the patches that are in a kustomization as texts, with the names of what they are for."""
    for key in _LISTS:
        listed = tree.get(key)
        for entry in listed.elements() if listed is not None else ():
            patch = entry.get("patch") if isinstance(entry.value, dict) else entry
            if patch is not None and patch.text is not None and "\n" in patch.text.value.strip():
                name = entry.get("target", "name")
                yield patch.text, str(name.value) if name is not None else ""


def _read_text(label: str, source: SourceFile, found: Found) -> None:
    documents, faults = parse_yaml(source)
    found.add_faults(faults)
    for tree in documents:
        before = len(found.nodes)
        if _is_patch(tree):
            _read_patch(tree, source.path, found)
        elif is_manifest(tree) or tree.get("spec") is not None:
            read_manifest(tree, source.path, found)
        for node in found.nodes[before:]:
            node.partial = True
            node.side = node.side or spoken_side(label)


def _read_patch(tree: Node, path: str, found: Found) -> None:
    containers: dict[str, _Changed] = {}
    for entry in tree.elements():
        operation, value = entry.get("op"), entry.get("value")
        match = _IN_CONTAINER.fullmatch(_path(entry) or "")
        if value is None or operation is None or operation.value not in _WRITES:
            continue
        value = expand_node(value, KUBERNETES)
        if match is None or (match["part"] is None and value.get("image") is not None):
            _whole(value, path, found)
            continue
        changed = containers.setdefault(match["container"], _Changed())
        changed.place = changed.place or entry
        _note(changed, match["part"], value)
    for changed in containers.values():
        _add(changed, path, found)


def _whole(value: Node, path: str, found: Found) -> None:
    """Read a value that holds whole containers, or is one."""
    if value.get("image") is not None:
        value = Node({"containers": Node([value], value.origin)}, value.origin)
    read_manifest(value, path, found)


def _note(changed: _Changed, part: str | None, value: Node) -> None:
    if part is None:
        for key in ("command", "args", "env"):
            inner = value.get(key)
            if inner is not None:
                _note(changed, key, inner)
        return
    if part == "env":
        for entry in value.elements() if isinstance(value.value, list) else (value,):
            name, given = entry.get("name"), entry.get("value")
            if name is not None and given is not None and isinstance(name.value, str):
                changed.env[name.value] = EnvVar(name.value, given, "manifest")
        return
    words = changed.command if part == "command" else changed.arguments
    for entry in value.elements() if isinstance(value.value, list) else (value,):
        if entry.text is not None:
            words.append(entry.text)


def _add(changed: _Changed, path: str, found: Found) -> None:
    words = expand([*changed.command, *changed.arguments], KUBERNETES)
    if not words or changed.place is None:
        return
    origin = changed.place.origin
    container = Container("manifest", origin, partial=True)

    def finish(node: NodeLaunch) -> None:
        with_variables(changed.env)(node)
        node.partial = True
        node.env_open = node.origin
        node.container = container
        node.side = node.side or spoken_side(path.rpartition("/")[2])

    if not changed.command and only_arguments(words):
        add_arguments(words, path, origin, found, finish)
    elif not add_engine(words, "manifest", path, origin, found, finish):
        nest_scripts(words, origin, found, finish, Around(env=changed.env))
