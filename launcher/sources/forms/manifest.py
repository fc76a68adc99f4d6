"""Kubernetes manifests: any mapping with a list ``containers`` is a pod template, whatever the kind around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pd_launch.launcher.sources.engine.engines import Finish, Found, add_engine, image_engine, keep, nest_scripts
from pd_launch.launcher.sources.engine.mounted import Around, mounted_files, named_volumes, offered
from pd_launch.launcher.sources.engine.one_word import apart, of_text
from pd_launch.launcher.sources.forms.booster import read_booster
from pd_launch.launcher.sources.forms.compose import side_of
from pd_launch.launcher.sources.forms.dynamo_graph import MAIN, completed
from pd_launch.launcher.sources.forms.pod_parts import (
    PROBES,
    probed_ports,
    read_entry_point,
    read_files,
    read_script,
    steps_of,
)
from pd_launch.launcher.sources.text.interpolate import KUBERNETES, Lookup, Words, expand, expand_command, expand_node
from pd_launch.schemas.core.flag_shapes import LISTS, SWITCHES, VALUED
from pd_launch.schemas.core.launch import Container, EnvVar, Means, NodeLaunch
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text, Unknown

INJECTS = re.compile(r"lmcache\.ai/.*inject")
"""The label by which LMCache's operator adds ``--kv-transfer-config`` to a pod's command."""
_RAY = re.compile(r"\bray (?:start|status)\b|--ray_(?:cluster_size|address)")
_SIMULATES = "inference-sim"
HOOKS = ("postStart", "preStop")
KV_FLAG = "--kv-transfer-config"
ADDED = "VLLM_ADDITIONAL_ARGS"
"""The variable by which KServe's LLMInferenceService is given further arguments of ``vllm serve``."""
_KSERVE_SHM = "dshm"
KSERVE_DECODE_PORT = 8001
"""The port that KServe's own template gives the decode side, behind the router's sidecar."""
ENGINE_NAMES = frozenset({*SWITCHES, *LISTS, *VALUED})
TELLING = frozenset(
    {"kv-transfer-config", "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "max-model-len"}
    | {"max-num-seqs", "max-num-batched-tokens", "gpu-memory-utilization", "served-model-name", "additional-config"}
    | {"enable-expert-parallel", "enable-prefix-caching", "kv-cache-dtype", "speculative-config", "compilation-config"}
    | {"enforce-eager", "kv-events-config", "data-parallel-rank", "enable-chunked-prefill", "all2all-backend"}
)
"""Options that no other program has: arguments with one of them are an engine's."""
NO_MAPS: Mapping[str, Node] = {}
_INDEX = "LWS_WORKER_INDEX"
LWS_VARIABLES = ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", _INDEX)
_MOST_WORKERS = 32
"""Pods of one template that are read one by one."""


def is_manifest(tree: Node) -> bool:
    """Whether a document is a Kubernetes object."""
    return tree.get("apiVersion") is not None and tree.get("kind") is not None


def read_manifest(tree: Node, path: str, found: Found) -> None:
    """Add the engines of a manifest's pods, and of scripts in its ConfigMaps, to ``found``."""
    how: Means = "manifest" if tree.get("apiVersion") is not None else "yaml"
    first = len(found.nodes)
    for pod, names, around in _pods(tree, [], _Around(), how == "manifest"):
        before = len(found.nodes)
        for container in [*_containers(pod), *(steps_of(pod) if how == "manifest" else ())]:
            for index in _indices(container, around):
                _container(pod, container, _Place(names, path, how, around, index), found)
        for node in found.nodes[before:]:
            node.partial = node.partial or around.injected
    _platform_model(tree, found.nodes[first:])
    kind = tree.get("kind")
    if kind is not None and kind.value == "InferenceService":
        _inference_service(tree, path, found)
    if kind is not None and kind.value == "ModelBooster":
        read_booster(tree, path, found, _environment)
    if how == "manifest":
        read_entry_point(tree, found)
        read_files(tree, found)
    found.offered += offered(tree)


def _platform_model(tree: Node, nodes: Sequence[NodeLaunch]) -> None:
    """Give engines their model that get it from values of llm-d, or from an LLMInferenceService of KServe."""
    name = tree.get("modelArtifacts", "name") or tree.get("spec", "model", "name")
    if name is None or not isinstance(name.value, str) or "{" in name.value:
        return
    for node in nodes:
        if node.model is None or not node.model.known:
            node.model = name


def _inference_service(tree: Node, path: str, found: Found) -> None:
    """Add the engine of a KServe InferenceService whose runtime has the command: only arguments are given."""
    arguments = tree.get("spec", "predictor", "model", "args")
    texts = [part.text for part in arguments.elements() if part.text is not None] if arguments else []
    if arguments is not None and are_arguments(texts):
        add_arguments(texts, path, arguments.origin, found, keep)


def are_arguments(texts: Sequence[Text]) -> bool:
    """Whether a list of words are arguments of an engine whose command stands elsewhere."""
    names = {text.value.partition("=")[0].replace("_", "-") for text in texts}
    return bool(texts) and texts[0].value.startswith("--") and KV_FLAG in names


def only_arguments(texts: Sequence[Text], named: bool = False) -> bool:
    """Whether words are arguments of ``vllm serve``, most of them known, where nothing says what they are given to.

    ``named`` says whether the name that they stand under speaks of the engine.
    """
    flags = [text.value for text in texts if text.value.startswith("--")]
    names = [flag.partition("=")[0][2:].replace("_", "-").partition(".")[0] for flag in flags]
    known = [name for name in names if name.removeprefix("no-") in ENGINE_NAMES]
    return len(known) * 2 >= max(len(names), 1) and (named or any(name in TELLING for name in known))


def add_arguments(texts: Sequence[Text], path: str, place: Origin, found: Found, finish: Finish) -> None:
    """Add an engine of which only arguments are given."""

    def complete(node: NodeLaunch) -> None:
        finish(node)
        node.partial = True

    model = [] if not texts[0].value.startswith("-") else [_hole(texts[0], 1)]
    words = texts if isinstance(texts, Words) else expand(texts, KUBERNETES)
    add_engine(words.having([*_serve(texts[0]), *model, *words]), "manifest", path, place, found, complete)


class _Around(NamedTuple):
    """What the mappings around a pod say of it."""

    injected: bool = False
    """Whether the cluster completes the pod's command by itself."""
    grouped: bool = False
    """Whether it is one of several pods that are started together, as one engine may need."""
    indices: range = range(0)
    """Which pods of a LeaderWorkerSet's group are made of it; empty where it is of no group, or not known."""
    replicas: int | None = None
    annotations: Node | None = None
    kserve: bool = False
    """Whether KServe gives the main container its command: the template of an LLMInferenceService."""
    operated: bool = False
    """Whether Dynamo's operator completes the pod: shared memory, probes and more."""

    def at(self, node: Node) -> _Around:
        """Return what is around what stands in a mapping."""
        count, annotations = node.get("replicas"), node.get("podAnnotations") or node.get("annotations")
        if node.get("spec") is not None and node.get("apiVersion") is None:  # a template of pods
            annotations = node.get("metadata", "annotations") or annotations
        return self._replace(
            injected=self.injected or _is_injected(node),
            grouped=self.grouped or _is_group(node),
            replicas=self.replicas if count is None else count.integer(),
            annotations=annotations or self.annotations,
            kserve=self.kserve or getattr(node.get("kind"), "value", "") == "LLMInferenceService",
            operated=self.operated or str(getattr(node.get("apiVersion"), "value", "")).startswith("nvidia.com/"),
        )

    def of(self, key: str, group: Node) -> _Around:
        """Return what is around the template under ``key`` of a group's mapping, which has the others too."""
        if group.get("workerTemplate") is None or key not in ("leaderTemplate", "workerTemplate"):
            return self
        count = group.get("size")
        size = count.integer() if count is not None else None
        if not size or size > _MOST_WORKERS:
            return self
        first = 0 if group.get("leaderTemplate") is None else 1
        return self._replace(indices=range(first, size) if key == "workerTemplate" else range(1))


def _indices(container: Node, around: _Around) -> Sequence[int | None]:
    """Return which pods of a group a container is read for: each where it asks for its index, else one for all."""
    if len(around.indices) < 2:
        return list(around.indices) or [None]
    lists = [container.get(key) for key in ("command", "args")]
    texts = [part.text.value for listed in lists if listed for part in listed.elements() if part.text is not None]
    return list(around.indices) if any(_INDEX in text for text in texts) else [None]


def _pods(node: Node, names: list[str], around: _Around, steps: bool) -> Iterator[tuple[Node, list[str], _Around]]:
    """Find pod templates below ``node``; ``names`` are the keys, names and labels met on the way, the nearest last.

    ``steps`` says whether steps of workflows are looked for.
    """
    if isinstance(node.value, dict):
        names = [*names, *_names(node)]
        around = around.at(node)
        node = completed(node)
        if _containers(node):
            yield node, names, around
            return
        if steps and steps_of(node):
            yield node, names, around
        beside = node.get("prefill", "template") is not None  # KServe: the other template is the decode side
        for key, child in node.items():
            yield from _pods(
                child,
                [*names, "decode" if beside and key in ("template", "worker") else key],
                around.of(key, node),
                steps,
            )
    for child in node.elements():
        yield from _pods(child, names, around, steps)


def _containers(pod: Node) -> list[Node]:
    """Return the containers of a pod template, or the one that a service of Dynamo adds to its pods."""
    lists = [pod.get(key) for key in ("containers", "initContainers", "ephemeralContainers")]
    found = [part for listed in lists if listed is not None for part in listed.elements()]
    return [part for part in [*found, pod.get(MAIN)] if part is not None and isinstance(part.value, dict)]


def _is_group(node: Node) -> bool:
    """Whether a mapping makes several pods of one: LeaderWorkerSet, StormService, Kthena's roles, Dynamo's services."""
    pods = [
        node.get("size") if node.get("workerTemplate") is not None else None,
        node.get("podGroupSize"),
        node.get("multinode", "nodeCount"),
    ]
    workers = node.get("workerReplicas")
    alone = all(count is None or count.value in (0, 1) for count in pods)
    return not alone or (workers is not None and workers.value != 0)


def _is_injected(node: Node) -> bool:
    labels = node.get("metadata", "labels")
    return any(INJECTS.fullmatch(key) and value.value == "true" for key, value in (labels.items() if labels else ()))


def _names(node: Node) -> list[str]:
    found = [
        node.get("name"),
        node.get("role"),
        node.get("subComponentType"),
        node.get("metadata", "name"),
        node.get("metadata", "generateName"),
    ]
    labels = node.get("metadata", "labels")
    found += [value for _, value in labels.items()] if labels else []
    return [value.value for value in found if value is not None and isinstance(value.value, str)]


class _Place(NamedTuple):
    """What is around a container: names on the way to it, its file, and by which means its variables are set."""

    names: list[str]
    path: str
    how: Means
    around: _Around
    number: int | None = None
    """Which pod of its group it is, where that is known."""


def _container(pod: Node, container: Node, place: _Place, found: Found) -> None:
    names, path, how, around_pod, _ = place
    facts = _facts(pod, container)
    facts.probed = probed_ports(pod, container, found.maps.values())
    env = _environment(container, found.maps, how)
    env_open = _further(container, found.maps)
    injected = _injected(container, place)

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
    if not command and (chart := _chart_command(pod, container, words)):
        command = words = chart
    elif around_pod.kserve and not words and _is_named(container, "main"):
        command = words = words.having(_kserve_command(container))
    facts.grouped, facts.replicas = around_pod.grouped, around_pod.replicas
    _placement(pod, around_pod, facts)
    facts.spread = any(_RAY.search(word.value) for word in words)
    own = container.get("name")
    side = side_of(*reversed([*names, str(own.value) if own else ""]))
    label = next((name for name in reversed(names) if side and side in name.lower()), names[-1] if names else path)

    def finish(node: NodeLaunch) -> None:
        node.container = facts
        node.env = {**env, **node.env}
        node.env_open = node.env_open or env_open
        node.side = node.side or side

    folder = container.get("workingDir")
    around = Around(
        mounted_files(pod, container, found.maps),
        folder.value if folder is not None and isinstance(folder.value, str) else "/",
        {**injected, **env},
    )
    if facts.image is None and not command and only_arguments(words):
        facts.partial = True  # a patch: the container itself stands elsewhere
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


def _chart_command(pod: Node, container: Node, words: Words) -> Words:
    """Return the command of a container that its chart or its operator completes: the model is theirs."""
    command = container.get("modelCommand")
    if command is not None and command.text is not None and command.value == "vllmServe":
        return words.having([*_serve(command.text), _hole(command.text, 1), *words, *_chart_sizes(pod, words)])
    if command is not None and command.text is not None and command.value == "imageDefault":
        image = container.get("image")
        simulated = image is None or _SIMULATES in str(image.value)
        if words and not simulated and only_arguments(words, True):
            return words.having([*_serve(command.text), _hole(command.text, 1), *words, _hole(command.text, 2)])
        return words.having(())
    added = next((entry.get("value") for entry in _entries(container) if _is_named(entry, ADDED)), None)
    if added is not None and added.text is not None and not words:
        given = expand_command(added.text, KUBERNETES)[0]
        return words.having([*_serve(added.text), _hole(added.text, 1), *given, _hole(added.text, 2)])
    return words.having(())


def _kserve_command(container: Node) -> list[Text]:
    """Return the command that KServe gives the main container of an LLMInferenceService, as far as it is known."""
    at = container.get("name")
    return [] if at is None or at.text is None else [*_serve(at.text), _hole(at.text, 1), _hole(at.text, 2)]


def _chart_sizes(pod: Node, words: list[Text]) -> list[Text]:
    """Return the options that the chart of llm-d makes of ``parallelism``."""
    tensor, flag = pod.get("parallelism", "tensor"), "--tensor-parallel-size"
    size = tensor.integer() if tensor is not None else None
    if tensor is None or tensor.text is None or not size or any(flag in word.value for word in words):
        return []
    place = tensor.text
    return [place.stand_in(word) for word in (flag, str(size))]


def _injected(container: Node, place: _Place) -> dict[str, EnvVar]:
    """Return the variables that a LeaderWorkerSet sets in each of its pods."""
    env = {name: EnvVar(name, Node(Unknown(name), container.origin), "manifest") for name in LWS_VARIABLES}
    at = (container.get("name") or container.get("image") or container).text
    if place.number is not None and at is not None:
        env[_INDEX] = EnvVar.of(_INDEX, at.stand_in(str(place.number)), "manifest")
    return env


def _entries(container: Node) -> list[Node]:
    listed = container.get("env")
    return list(listed.elements()) if listed else []


def _is_named(entry: Node, name: str) -> bool:
    found = entry.get("name")
    return found is not None and found.value == name


def _serve(place: Text) -> list[Text]:
    return [place.stand_in(word) for word in ("vllm", "serve")]


def _hole(place: Text, length: int) -> Text:
    """Return a word that is not known; of length 2, any number of them."""
    return place.stand_in(HOLE * length)


def _words(node: Node | None, lookup: Lookup) -> Words:
    return expand((part.text for part in node.elements() if part.text is not None) if node else (), KUBERNETES, lookup)


def _environment(container: Node, maps: Mapping[str, Node] = NO_MAPS, how: Means = "manifest") -> dict[str, EnvVar]:
    """Return the variables of a container; ``maps`` are the ConfigMaps that are known, by name."""
    env = _from_maps(container, maps)

    def lookup(name: str) -> str | None:
        return env[name].value.string() if name in env else None

    for entry in _entries(container):
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


def _further(container: Node, maps: Mapping[str, Node]) -> Origin | None:
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


def _facts(pod: Node, container: Node) -> Container:
    origin = (container.get("name") or container).origin
    facts = Container("manifest", origin)
    facts.image = container.get("image")
    facts.host_network = _true(pod.get("hostNetwork"))
    if _true(pod.get("hostIPC")):
        facts.shm_shared = pod.get("hostIPC").origin  # type: ignore[union-attr]
    facts.privileged = _true(container.get("securityContext", "privileged"))
    runtime = pod.get("runtimeClassName")
    facts.runtime = runtime.string() if runtime else None
    for section in ("requests", "limits"):
        resources = container.get("resources", section)
        for name, amount in resources.items() if resources else ():
            if name == "memory":
                facts.memory = amount if section == "limits" else facts.memory
            else:
                facts.resources[name] = amount
    ports = container.get("ports")
    facts.published = [p for entry in (ports.elements() if ports else ()) if (p := entry.get("containerPort"))]
    _mounts(pod, container, facts)
    return facts


def _placement(pod: Node, around: _Around, facts: Container) -> None:
    said = {
        "node_selector": pod.get("nodeSelector"),
        "tolerations": pod.get("tolerations"),
        "annotations": around.annotations,
    }
    for name, node in said.items():
        if node is not None and node.value and node.complete():
            facts.placement[name] = node.plain()


def _mounts(pod: Node, container: Node, facts: Container) -> None:
    volumes = named_volumes(pod)
    mounts = container.get("volumeMounts")
    given = volumes.get(_KSERVE_SHM)
    if given is not None and any(_is_named(entry, ADDED) for entry in _entries(container)):
        facts.shm_size = given.get("emptyDir", "sizeLimit")  # KServe's own template mounts it
    for mount in mounts.elements() if mounts else ():
        target, name = mount.get("mountPath"), mount.get("name")
        volume = volumes.get(name.value) if name and isinstance(name.value, str) else None
        if target is None or not isinstance(target.value, str):
            continue
        source = volume.get("hostPath", "path") if volume else None
        mode = ":ro" if source is not None and _true(mount.get("readOnly")) else ""
        facts.mounts.append(Node(f"{source.value if source else ''}:{target.value}{mode}", target.origin))
        if source is None:
            facts.volumes.append({"path": target.value, **_volume(volume), **_read_only(mount)})
        if target.value.rstrip("/") == "/dev/shm":
            _shared_memory(volume, target, facts)


def _volume(volume: Node | None) -> dict[str, Any]:
    """Return what a volume is that is no folder of the host."""
    claim = volume.get("persistentVolumeClaim", "claimName") if volume else None
    secret = volume.get("secret", "secretName") if volume else None
    if claim is not None and claim.string():
        return {"pvc": claim.string()}
    if secret is not None and secret.string():
        return {"secret": secret.string()}
    empty = volume.get("emptyDir") if volume else None
    if empty is not None:
        limit = empty.get("sizeLimit")
        return {"empty": True if limit is None or limit.string() is None else limit.string()}
    kinds = [key for key, _ in volume.items() if key != "name"] if volume else []
    return {"kind": kinds[0] if kinds else "a volume that is not there"}


def _read_only(mount: Node) -> dict[str, Any]:
    return {"read_only": True} if _true(mount.get("readOnly")) else {}


def _shared_memory(volume: Node | None, target: Node, facts: Container) -> None:
    """A Memory emptyDir has the size that it names; without one, or as another volume, its size is not known here."""
    limit = volume.get("emptyDir", "sizeLimit") if volume else None
    if limit is not None:
        facts.shm_size = limit
    else:
        facts.shm_shared = target.origin


def _true(node: Node | None) -> bool:
    return node is not None and node.value is True
