"""Where the pod templates of an object are, and what the mappings around them say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pd_launch.launcher.sources.forms.dynamo_graph import MAIN, completed
from pd_launch.launcher.sources.forms.pod_parts import steps_of
from pd_launch.launcher.sources.forms.pod_variables import LWS_INDEX
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node

INJECTS = lazy_pattern(r"lmcache\.ai/.*inject")
"""The label by which LMCache's operator adds ``--kv-transfer-config`` to a pod's command."""
_MOST_WORKERS = 32
"""Pods of one template that are read one by one."""


class Above(NamedTuple):
    """What the mappings around a pod say of it."""

    injected: bool = False
    """Whether the cluster completes the pod's command by itself."""
    grouped: bool = False
    """Whether it is one of several pods that are started together, as one engine may need."""
    indices: range = range(0)
    """Which pods of a LeaderWorkerSet's group are made of it; empty where it is of no group, or not known."""
    replicas: int | None = None
    annotations: Node | None = None
    labels: Node | None = None
    kserve: bool = False
    """Whether KServe gives the main container its command: the template of an LLMInferenceService."""
    referring: bool = False
    """Whether something else of that LLMInferenceService may add arguments, as configurations that it refers to."""
    operated: bool = False
    """Whether Dynamo's operator completes the pod: shared memory, probes and more."""

    def at(self, node: Node) -> Above:
        """Return what is around what is in a mapping."""
        count, annotations = node.get("replicas"), node.get("podAnnotations") or node.get("annotations")
        if node.get("spec") is not None and node.get("apiVersion") is None:  # a template of pods
            annotations = node.get("metadata", "annotations") or annotations
        is_pod = node.get("spec") is not None and (node.get("apiVersion") is None or is_kind(node, "Pod"))
        return self._replace(
            injected=self.injected or _is_injected(node),
            grouped=self.grouped or _is_group(node),
            replicas=self.replicas if count is None else count.integer(),
            annotations=annotations or self.annotations,
            labels=node.get("metadata", "labels") if is_pod else self.labels,
            kserve=self.kserve or is_kind(node, "LLMInferenceService"),
            referring=self.referring or any(node.get(key) is not None for key in ("baseRefs", "kvCacheOffloading")),
            operated=self.operated or str(getattr(node.get("apiVersion"), "value", "")).startswith("nvidia.com/"),
        )

    def of(self, key: str, group: Node) -> Above:
        """Return what is around the template under ``key`` of a group's mapping, which has the others too."""
        if group.get("workerTemplate") is None or key not in ("leaderTemplate", "workerTemplate"):
            return self
        count = group.get("size")
        size = count.integer() if count is not None else None
        if not size or size > _MOST_WORKERS:
            return self
        first = 0 if group.get("leaderTemplate") is None else 1
        return self._replace(indices=range(first, size) if key == "workerTemplate" else range(1))


def pods_of(container: Node, around: Above) -> Sequence[int | None]:
    """Return which pods of a group a container is read for: each where it asks for its index, else one for all."""
    if len(around.indices) < 2:
        return list(around.indices) or [None]
    lists = [container.get(key) for key in ("command", "args")]
    texts = [part.text.value for listed in lists if listed for part in listed.elements() if part.text is not None]
    return list(around.indices) if any(LWS_INDEX in text for text in texts) else [None]


def pod_templates(node: Node, names: list[str], around: Above, steps: bool) -> Iterator[tuple[Node, list[str], Above]]:
    """Find pod templates below ``node``; ``names`` are the keys, names and labels met on the way, the nearest last.

    ``steps`` says whether steps of workflows are looked for.
    """
    if isinstance(node.value, dict):
        names = [*names, *_names(node)]
        around = around.at(node)
        node = completed(node)
        if containers(node):
            yield node, names, around
            return
        if steps and steps_of(node):
            yield node, names, around
        beside = node.get("prefill", "template") is not None  # KServe: the other template is the decode side
        for key, child in node.items():
            yield from pod_templates(
                child,
                [*names, "decode" if beside and key in ("template", "worker") else key],
                around.of(key, node),
                steps,
            )
    for child in node.elements():
        yield from pod_templates(child, names, around, steps)


def containers(pod: Node) -> list[Node]:
    """Return the containers of a pod template, or the one that a service of Dynamo adds to its pods."""
    lists = [pod.get(key) for key in ("containers", "initContainers", "ephemeralContainers")]
    found = [part for listed in lists if listed is not None for part in listed.elements()]
    return [part for part in [*found, pod.get(MAIN)] if part is not None and isinstance(part.value, dict)]


def is_kind(node: Node, kind: str) -> bool:
    """Whether an object is of a kind."""
    said = node.get("kind")
    return said is not None and said.value == kind


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
