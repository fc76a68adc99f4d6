"""Scripts that a container finds as files: keys of ConfigMaps that its volumes mount, ``configs`` of a compose file.

What such a script starts runs in the container that runs the script, so its image, devices and variables count for it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from pd_launch.launcher.sources.engine.around import Offered
from pd_launch.launcher.sources.engine.prose import is_script_text
from pd_launch.schemas.core.values import Node, Text

_SECRET = "secret/"
"""Put before the names of Secrets among those of ConfigMaps, which have none with a slash."""


def config_maps(tree: Node) -> Iterator[tuple[str, Node]]:
    """Iterate over the ConfigMaps of a document, and of a List, with their names; Secrets under names of their own."""
    kind, name, data = tree.get("kind"), tree.get("metadata", "name"), tree.get("data")
    own = name.value if name is not None and isinstance(name.value, str) else ""
    if kind is not None and kind.value == "ConfigMap" and data is not None:
        yield own, data
    elif kind is not None and kind.value == "Secret" and (plain := tree.get("stringData")) is not None:
        yield f"{_SECRET}{own}", plain
    items = tree.get("items")
    for item in items.elements() if items else ():
        yield from config_maps(item)


def offered(tree: Node) -> Iterator[Offered]:
    """Iterate over the scripts in the ConfigMaps of a document."""
    for name, data in config_maps(tree):
        for key, text in data.items():
            if text.text is not None and (key.endswith(".sh") or ("." not in key and is_script_text(text.text.value))):
                yield Offered(name, text.text)


def named_volumes(pod: Node) -> dict[str, Node]:
    """Return the volumes of a pod by name."""
    named = [(volume.get("name"), volume) for volume in _list(pod, "volumes")]
    return {name.value: volume for name, volume in named if name is not None and isinstance(name.value, str)}


def mounted_files(pod: Node, container: Node, maps: Mapping[str, Node]) -> dict[str, Text]:
    """Return the files that a container of a pod gets from ConfigMaps, by path."""
    volumes = named_volumes(pod)
    files: dict[str, Text] = {}
    for mount in _list(container, "volumeMounts"):
        name, path = mount.get("name"), mount.get("mountPath")
        volume = volumes.get(name.value) if name is not None and isinstance(name.value, str) else None
        if volume is None or path is None or not isinstance(path.value, str):
            continue
        sub = mount.get("subPath")
        inside = str(sub.value).strip("/") if sub is not None else ""
        for file, text in _files_of(volume, maps):
            if not inside or file == inside or file.startswith(f"{inside}/"):
                rest = file.removeprefix(inside).lstrip("/")
                files[posixpath.normpath(posixpath.join(path.value, rest))] = text
    return files


def _files_of(volume: Node, maps: Mapping[str, Node]) -> Iterator[tuple[str, Text]]:
    for source in (volume, *_list(volume.get("projected"), "sources")):
        named = source.get("configMap", "name")
        secret = source.get("secret", "secretName") or source.get("secret", "name")
        prefix = "" if named is not None else _SECRET
        named = named if named is not None else secret
        data = maps.get(f"{prefix}{named.value}") if named is not None and isinstance(named.value, str) else None
        items = source.get("configMap", "items") or source.get("secret", "items")
        if data is None:
            continue
        chosen = {key: key for key, _ in data.items()}
        if items is not None:
            pairs = [(item.get("key"), item.get("path")) for item in items.elements()]
            chosen = {str(key.value): str(path.value) for key, path in pairs if key is not None and path is not None}
        for key, path in chosen.items():
            text = data.get(key)
            if text is not None and text.text is not None:
                yield path.strip("/"), text.text


def _list(node: Node | None, key: str) -> list[Node]:
    listed = node.get(key) if node is not None else None
    return list(listed.elements()) if listed is not None else []
