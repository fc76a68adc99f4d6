"""Placeholders in what a launch is given."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.placeholder import is_placeholder
from pd_launch.schemas.core.values import Node, Origin

_NOT_LOOKED_AT = frozenset({"chat-template", "served-model-name", "override-generation-config"})


def placeholders(node: NodeLaunch) -> Iterator[tuple[str, Node]]:
    """Iterate over the placeholders of a launch: what each is the value of, and where it is."""
    for what, value in _values(node):
        for leaf in value.walk():
            if isinstance(leaf.value, str) and is_placeholder(leaf.value):
                yield what, leaf


def places(deployment: Deployment) -> frozenset[Origin]:
    """Return where placeholders are."""
    return frozenset(leaf.origin for node in deployment.nodes for _, leaf in placeholders(node))


def _values(node: NodeLaunch) -> Iterator[tuple[str, Node]]:
    if node.model is not None:
        yield "the model", node.model
    for arg in node.args:
        if arg.name not in _NOT_LOOKED_AT and arg.value is not None and arg.value is not node.model:
            for value in (arg.value, *arg.more):
                yield f"--{arg.name}" if arg.name else "an argument", value
    for name, variable in node.env.items():
        yield name, variable.value
    container = node.container
    if container is not None:
        yield from (("a mount", mount) for mount in container.mounts)
        if container.image is not None:
            yield "the image", container.image
