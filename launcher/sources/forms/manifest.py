"""Kubernetes manifests: any mapping with a list ``containers`` is a pod template, whatever the kind around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.engines import add_engine, image_engine, nest_scripts
from pd_launch.launcher.sources.engine.found import Found, Pod
from pd_launch.launcher.sources.engine.mounted import mounted_files, offered
from pd_launch.launcher.sources.engine.one_word import apart, of_text
from pd_launch.launcher.sources.forms.booster import read_booster
from pd_launch.launcher.sources.forms.chart_words import ADDED, chart_command, kserve_command
from pd_launch.launcher.sources.forms.compose import side_of
from pd_launch.launcher.sources.forms.dynamo_graph import MAIN
from pd_launch.launcher.sources.forms.kserve_predictor import read_predictor
from pd_launch.launcher.sources.forms.lmcache_file import read_written
from pd_launch.launcher.sources.forms.only_arguments import add_arguments, only_arguments
from pd_launch.launcher.sources.forms.pod_facts import add_placement, facts_of
from pd_launch.launcher.sources.forms.pod_parts import (
    PROBES,
    probed_ports,
    read_entry_point,
    read_files,
    read_script,
    steps_of,
)
from pd_launch.launcher.sources.forms.pod_templates import Above, containers, is_kind, pod_templates, pods_of
from pd_launch.launcher.sources.forms.pod_variables import further_variables, group_variables, is_named, variables
from pd_launch.launcher.sources.forms.relocate import is_inside, read_inside
from pd_launch.launcher.sources.text.interpolate import KUBERNETES, Lookup, Words, expand, expand_command
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Means, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node, SourceFile, Text

_RAY = lazy_pattern(r"\bray (?:start|status)\b|--ray_(?:cluster_size|address)")
HOOKS = ("postStart", "preStop")


def is_manifest(tree: Node) -> bool:
    """Whether a document is a Kubernetes object."""
    return tree.get("apiVersion") is not None and tree.get("kind") is not None


def read_manifest(tree: Node, path: str, found: Found) -> None:
    """Add the engines of a manifest's pods, and of scripts in its ConfigMaps, to ``found``."""
    how: Means = "manifest" if tree.get("apiVersion") is not None else "yaml"
    first = len(found.nodes)
    for pod, names, around in pod_templates(tree, [], Above(), how == "manifest"):
        before = len(found.nodes)
        for container in [*containers(pod), *(steps_of(pod) if how == "manifest" else ())]:
            for index in pods_of(container, around):
                _container(pod, container, _Place(names, path, how, around, index), found)
        for node in found.nodes[before:]:
            node.partial = node.partial or around.injected
    _platform_model(tree, found.nodes[first:])
    kind = tree.get("kind")
    if is_kind(tree, "Service"):
        found.services.append(tree)
    if kind is not None and kind.value == "InferenceService":
        read_predictor(tree, path, found)
    if kind is not None and kind.value == "ModelBooster":
        read_booster(tree, path, found, variables)
    if how == "manifest":
        read_entry_point(tree, found)
        read_files(tree, found)
        _read_objects(tree, found)
    found.offered += offered(tree)


def _read_objects(tree: Node, found: Found) -> None:
    """Add what Kubernetes objects start that a ConfigMap holds as a file, for something to create them."""
    kind, data = tree.get("kind"), tree.get("data")
    if kind is None or kind.value != "ConfigMap" or data is None:
        return
    for key, node in data.items():
        text = node.text
        named = key.endswith((".yaml", ".yml", ".json"))
        if named and text is not None and "vllm" in text.value and not is_inside(text.source):
            read_inside(text, found, _objects)


def _objects(source: SourceFile, found: Found) -> None:
    for tree in parse_yaml(source)[0]:
        if is_manifest(tree):
            read_manifest(tree, source.path, found)


def _platform_model(tree: Node, nodes: Sequence[NodeLaunch]) -> None:
    """Give engines their model that get it from values of llm-d, or from an LLMInferenceService of KServe."""
    name = tree.get("modelArtifacts", "name") or tree.get("spec", "model", "name")
    if name is None or not isinstance(name.value, str) or "{" in name.value:
        return
    for node in nodes:
        if node.model is None or not node.model.known:
            node.model = name


class _Place(NamedTuple):
    """What is around a container: names on the way to it, its file, and by which means its variables are set."""

    names: list[str]
    path: str
    how: Means
    around: Above
    number: int | None = None
    """Which pod of its group it is, where that is known."""


def _container(pod: Node, container: Node, place: _Place, found: Found) -> None:
    names, path, how, around_pod, number = place
    facts = facts_of(pod, container)
    facts.probed = probed_ports(pod, container, found.maps.values())
    found.pods.append(Pod(facts, container, pod, around_pod.labels))
    env = variables(container, found.maps, how)
    env_open = further_variables(container, found.maps)
    injected = group_variables(container, number)

    def lookup(name: str) -> str | None:
        variable = env.get(name) or injected.get(name)
        return variable.value.string() if variable else None

    command = _words(container.get("command"), lookup)
    words = apart(command.having([*command, *_words(container.get("args"), lookup)]), found)
    for key, image in (("command", None), ("args", facts.image)):
        if (text := _scalar(container, key)) is not None and not words:
            given = image_engine(expand_command(text, KUBERNETES, lookup)[0], image, image is None)
            words = of_text(text, given, found)
    facts.partial = around_pod.operated or pod.get(MAIN) is container  # the operator adds shared memory and more
    if not command and (chart := chart_command(pod, container, words)):
        command = words = chart
    elif around_pod.kserve and not words and is_named(container, "main"):
        command = words = words.having(kserve_command(container))
        facts.kserve = not (around_pod.referring or env_open or ADDED in env)
    facts.grouped, facts.replicas = around_pod.grouped, around_pod.replicas
    add_placement(pod, around_pod, facts)
    facts.spread = any(_RAY.search(word.value) for word in words)
    own = container.get("name")
    side = side_of(*reversed([*names, str(own.value) if own else ""]))
    label = next((name for name in reversed(names) if side and side in name.lower()), names[-1] if names else path)

    def finish(node: NodeLaunch) -> None:
        node.container = facts
        node.env = {**env, **node.env}
        node.env_open = node.env_open or env_open
        node.side = node.side or side
        read_written(node, around.files, found)

    folder = container.get("workingDir")
    around = Around(
        mounted_files(pod, container, found.maps),
        folder.value if folder is not None and isinstance(folder.value, str) else "/",
        {**injected, **env},
    )
    if facts.image is None and not command and only_arguments(words):
        facts.partial = True  # a patch: the container itself is elsewhere
        add_arguments(words, label, facts.origin, found, finish)
        words = words.having(())
    read_script(container, command[0].value if command else "", around, finish, found)
    words = image_engine(words, facts.image, bool(command))
    if words and not add_engine(words, "manifest", label, facts.origin, found, finish):
        nest_scripts(words, facts.origin, found, finish, around)
    beside = [("lifecycle", hook) for hook in HOOKS] + [(probe,) for probe in PROBES]
    for keys in beside:  # what runs beside the container's own command
        words = _words(container.get(*keys, "exec", "command"), lookup)
        if words and not add_engine(words, "manifest", label, facts.origin, found, finish):
            nest_scripts(words, facts.origin, found, finish, around)


def _scalar(container: Node, key: str) -> Text | None:
    """Return the text under a key where a list belongs."""
    node = container.get(key)
    return node.text if node is not None and isinstance(node.value, str) else None


def _words(node: Node | None, lookup: Lookup) -> Words:
    return expand((part.text for part in node.elements() if part.text is not None) if node else (), KUBERNETES, lookup)
