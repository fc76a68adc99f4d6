"""Kthena's ModelBooster: the flags of ``vllm serve`` as a mapping, one for each kind of worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pd_launch.launcher.sources.engine.config_file import add_flags
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.text.templates import usual
from pd_launch.schemas.core.launch import Arg, Container, EnvVar, NodeLaunch
from pd_launch.schemas.core.values import Node, Unknown
from pd_launch.schemas.engine.sides import spoken_side

Variables = Callable[[Node], dict[str, EnvVar]]
"""Reads the list ``env`` of a mapping."""


def read_booster(tree: Node, path: str, found: Found, variables: Variables) -> None:
    """Add the engines of each backend's workers to ``found``."""
    found.forms.add("manifest")
    for backend in _backends(tree):
        kind, workers = _said(backend.get("type")), backend.get("workers")
        if kind is None or not kind.startswith("vLLM"):
            continue
        for worker in workers.elements() if workers else ():
            if isinstance(worker.value, dict):
                node = _engine(backend, worker, path, found)
                node.env = {**variables(backend), **variables(worker)}
                found.nodes.append(node)


def _said(node: Node | None) -> str | None:
    """Return a word that says what a part is; of a template, its default."""
    if node is None or isinstance(node.value, str):
        return node.value if node is not None else None
    return usual(node.text) if node.text is not None else None


def _backends(tree: Node) -> Iterator[Node]:
    spec = tree.get("spec")
    one, many = (spec.get("backend"), spec.get("backends")) if spec else (None, None)
    if one is not None:
        yield one
    yield from many.elements() if many else ()


def _engine(backend: Node, worker: Node, path: str, found: Found) -> NodeLaunch:
    named = worker.get("type")
    label = _said(named) or path
    node = NodeLaunch("manifest", (named or worker).origin, label)
    node.side = spoken_side(label)
    uri = backend.get("modelURI")
    if uri is not None and isinstance(uri.value, str):
        node.model = Node(uri.value.partition("://")[2] or uri.value, uri.origin, key=uri.key)
    elif uri is not None and isinstance(uri.value, Unknown):
        node.model = uri
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
