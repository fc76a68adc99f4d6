"""The variables of a container: its own, those of ConfigMaps, and those that its group sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pd_launch.launcher.sources.text.interpolate import KUBERNETES, expand_node
from pd_launch.schemas.core.launch import EnvVar, Means
from pd_launch.schemas.core.values import Node, Origin, Unknown

NO_MAPS: Mapping[str, Node] = {}
LWS_INDEX = "LWS_WORKER_INDEX"
LWS_VARIABLES = ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", LWS_INDEX)


def group_variables(container: Node, number: int | None) -> dict[str, EnvVar]:
    """Return the variables that a LeaderWorkerSet sets in each of its pods, of which this is ``number``."""
    env = {name: EnvVar(name, Node(Unknown(name), container.origin), "manifest") for name in LWS_VARIABLES}
    at = (container.get("name") or container.get("image") or container).text
    if number is not None and at is not None:
        env[LWS_INDEX] = EnvVar.of(LWS_INDEX, at.stand_in(str(number)), "manifest")
    return env


def entries(container: Node) -> list[Node]:
    """Return the entries of ``env``."""
    listed = container.get("env")
    return list(listed.elements()) if listed else []


def is_named(entry: Node, name: str) -> bool:
    """Whether an entry of a list has this name."""
    found = entry.get("name")
    return found is not None and found.value == name


def variables(container: Node, maps: Mapping[str, Node] = NO_MAPS, how: Means = "manifest") -> dict[str, EnvVar]:
    """Return the variables of a container; ``maps`` are the ConfigMaps that are known, by name."""
    env = _from_maps(container, maps)

    def lookup(name: str) -> str | None:
        return env[name].value.string() if name in env else None

    for entry in entries(container):
        name = entry.get("name")
        if name is None or not isinstance(name.value, str):
            continue
        value = entry.get("value") or _from_key(entry, maps)
        if value is not None and value.text is not None:
            value = expand_node(value, KUBERNETES, lookup)
            given = value.text.value if value.known and value.text is not None else value.value
            node = replace(value, value=given, key=name.origin, key_text=name.text, shadowed=[])
        else:
            node = Node(Unknown("valueFrom"), name.origin, key=name.origin)
        env[name.value] = EnvVar(name.value, node, how)
    return env


def _from_maps(container: Node, maps: Mapping[str, Node]) -> dict[str, EnvVar]:
    """Return the variables that ``envFrom`` takes from ConfigMaps that are known."""
    env: dict[str, EnvVar] = {}
    listed = container.get("envFrom")
    for entry in listed.elements() if listed else ():
        named, prefix = entry.get("configMapRef", "name"), entry.get("prefix")
        data = maps.get(named.value) if named is not None and isinstance(named.value, str) else None
        for key, value in data.items() if data is not None else ():
            if value.text is not None:
                name = f"{prefix.value if prefix is not None else ''}{key}"
                node = replace(value, value=value.text.value) if value.known else value
                env[name] = EnvVar(name, node, "manifest")
    return env


def further_variables(container: Node, maps: Mapping[str, Node]) -> Origin | None:
    """Return where ``envFrom`` takes variables from that are not known: a Secret, a ConfigMap that is not given."""
    listed = container.get("envFrom")
    for entry in listed.elements() if listed else ():
        named = entry.get("configMapRef", "name")
        if named is None or not isinstance(named.value, str) or named.value not in maps:
            return entry.origin
    return None if listed is None or isinstance(listed.value, list) else listed.key or listed.origin


def _from_key(entry: Node, maps: Mapping[str, Node]) -> Node | None:
    named, key = entry.get("valueFrom", "configMapKeyRef", "name"), entry.get("valueFrom", "configMapKeyRef", "key")
    data = maps.get(named.value) if named is not None and isinstance(named.value, str) else None
    return data.get(str(key.value)) if data is not None and key is not None else None
