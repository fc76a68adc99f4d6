"""Kthena's ModelBooster: the flags of ``vllm serve`` as a mapping, one for each kind of worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pd_launch.launcher.sources.engine.config_file import add_flags
from pd_launch.launcher.sources.engine.engines import Found
from pd_launch.schemas.core.launch import Arg, Container, EnvVar, NodeLaunch
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.sides import spoken_side

Variables = Callable[[Node], dict[str, EnvVar]]
"""Reads the list ``env`` of a mapping."""


def read_booster(tree: Node, path: str, found: Found, variables: Variables) -> None:
    """Add the engines of each backend's workers to ``found``."""
    found.forms.add("manifest")
    for backend in _backends(tree):
        kind = backend.get("type")
        if kind is None or not isinstance(kind.value, str) or not kind.value.startswith("vLLM"):
            continue
        workers = backend.get("workers")
        for worker in workers.elements() if workers else ():
            if isinstance(worker.value, dict):
                node = _engine(backend, worker, path, found)
                node.env = {**variables(backend), **variables(worker)}
                found.nodes.append(node)


def _backends(tree: Node) -> Iterator[Node]:
    spec = tree.get("spec")
    one, many = (spec.get("backend"), spec.get("backends")) if spec else (None, None)
    if one is not None:
        yield one
    yield from many.elements() if many else ()


def _engine(backend: Node, worker: Node, path: str, found: Found) -> NodeLaunch:
    named = worker.get("type")
    label = str(named.value) if named is not None else path
    node = NodeLaunch("manifest", (named or worker).origin, label)
    node.side = spoken_side(label)
    uri = backend.get("modelURI")
    if uri is not None and isinstance(uri.value, str):
        node.model = Node(uri.value.partition("://")[2] or uri.value, uri.origin, key=uri.key)
    config = worker.get("config")
    for key, value in config.items() if config else ():
        name = key.replace("_", "-")
        if value.value == "" or value.value is None:  # a switch
            node.add(Arg(name, name, value.key or value.origin, text=value.key_text))
    add_flags(node, config, found.faults)
    node.container = Container("manifest", node.origin, partial=True)  # the operator adds volumes
    node.container.image = worker.get("image")
    pods = worker.get("pods")
    node.container.spread = pods is not None and pods.value not in (0, 1)  # a Ray cluster of so many pods
    resources = worker.get("resources", "limits")
    for name, amount in resources.items() if resources else ():
        if name == "memory":
            node.container.memory = amount
        else:
            node.container.resources[name] = amount
    return node
