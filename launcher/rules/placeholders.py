"""Values that are still placeholders, as guides write them: ``your_ip_here``, ``xxxx``, ``<model>``, ``...``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.values import HOLE, Node, Origin

_PLACEHOLDER = re.compile(
    r"""
    \byour[-_ ]?(?:own[-_ ])?(?:[a-z]{1,20}[-_ ]){0,5}
        (?:ip|addr(?:ess)?|host(?:name)?|nic|interface|port|path|model|token|key|name)(?:[-_ ]here)?\b
    | \b(?:put|insert|replace|change|fill)[-_ ](?:me|this|your|with|in)\b
    | (?<![\w/])(?:local|node\d?|host|prefill|decode|master|remote|nic|card)[-_ ](?:ip|name|addr(?:ess)?)[-_ ]here\b
    | (?<![a-z0-9])x{3,}(?![a-z0-9])
    | (?<![\w.])(?:\d{1,3}\.){1,3}x{1,3}(?:\.(?:x{1,3}|\d{1,3})){0,2}(?![\w.])
    | (?<![\w.])x{1,3}(?:\.x{1,3}){3}(?![\w.])
    | ^/?(?:path|dir)[-_/]to[-_/]
    | (?<=[=:,])/path/to/
    | ^<\w[\w .:/-]*>$
    | (?<![<\w])<[a-z][\w -]{0,60}(?:ip|host|port|addr(?:ess)?|path|dir|name)>
    | ^(?:\.{3}|…)$
    | ^\[?(?:todo|tbd|fixme|changeme|placeholder)\]?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOT_LOOKED_AT = frozenset({"chat-template", "served-model-name", "override-generation-config"})
_MAX = 4096


@lru_cache(maxsize=4096)
def is_placeholder(text: str) -> bool:
    """Whether ``text`` is, or contains, a placeholder. What many engines share is looked at once."""
    return len(text) <= _MAX and HOLE not in text and _PLACEHOLDER.search(text) is not None


def placeholders(node: NodeLaunch) -> Iterator[tuple[str, Node]]:
    """Iterate over the placeholders of a launch: what each is the value of, and where it stands."""
    for what, value in _values(node):
        for leaf in value.walk():
            if isinstance(leaf.value, str) and is_placeholder(leaf.value):
                yield what, leaf


def places(deployment: Deployment) -> frozenset[Origin]:
    """Return where placeholders stand."""
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
