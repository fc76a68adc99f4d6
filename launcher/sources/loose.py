"""YAML of no form of its own that still starts engines: Helm values, parts of manifests, task and CI files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pd_launch.launcher.sources.engines import API_SERVER, Finish, Found, joined
from pd_launch.launcher.sources.manifest import read_manifest
from pd_launch.schemas.launch import EnvVar, NodeLaunch
from pd_launch.schemas.values import Node, Text, Unknown

_STARTS = re.compile(rf"\bvllm serve\s|{re.escape(API_SERVER)}")
_SURROUNDINGS = ("env", "envs", "environment")


def read_loose(tree: Node, path: str, found: Found) -> bool:
    """Add the engines of containers and scripts anywhere in a document to ``found``; return whether there are any."""
    before = len(found.nodes) + len(found.nested)
    read_manifest(tree, path, found)
    if len(found.nodes) + len(found.nested) == before:
        for script, env in _scripts(tree, {}):
            found.nested.append((script, _given(env)))
    return len(found.nodes) + len(found.nested) > before


def _given(env: Mapping[str, EnvVar]) -> Finish:
    def finish(node: NodeLaunch) -> None:
        node.env = {**env, **node.env}

    return finish


def _scripts(node: Node, env: Mapping[str, EnvVar]) -> Iterator[tuple[Text, Mapping[str, EnvVar]]]:
    """Iterate over texts that start an engine, with the variables that the mappings around them set."""
    if isinstance(node.value, dict):
        env = {**env, **_environment(node)}
        for _, child in node.items():
            yield from _scripts(child, env)
    elif isinstance(node.value, list):
        texts = [part.text for part in node.elements() if part.text is not None]
        if len(texts) == len(node.value) and any(_STARTS.search(text.value) for text in texts):
            yield joined(texts, "\n"), env
            return
        for child in node.elements():
            yield from _scripts(child, env)
    elif node.text is not None and _STARTS.search(node.text.value):
        yield node.text, env


def _environment(mapping: Node) -> dict[str, EnvVar]:
    """Return the variables of ``env``: a mapping, a list of ``NAME=VALUE``, or of mappings with a name."""
    env: dict[str, EnvVar] = {}
    for key in _SURROUNDINGS:
        given = mapping.get(key)
        for name, value in given.items() if given else ():
            env[name] = EnvVar(name, value, "manifest")
        for entry in given.elements() if given else ():
            named = entry.get("name")
            if named is not None and isinstance(named.value, str):
                value = entry.get("value") or Node(Unknown("valueFrom"), named.origin)
                env[named.value] = EnvVar(named.value, value, "manifest")
            elif entry.text is not None:
                name, sign, _ = entry.text.value.partition("=")
                value = entry.text.part(len(name) + 1, len(entry.text.value)).node()
                env[name] = EnvVar(name, value if sign else Node(Unknown(name), entry.origin), "manifest")
    return env
