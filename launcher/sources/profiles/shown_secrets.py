"""Secrets in those parts of a profile that rendered forms copy as they are: refused, as a mask would not work there.

What ``env`` and ``engine`` hold is asked for by every form instead of being shown; a patch, labels, an image and the
like have no such place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pd_launch.launcher.secrets.masking import Held, is_held, is_secret_flag, tells
from pd_launch.launcher.secrets.written import written_spans
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node

_COPIED = ("name", "patch", "container", "network")
_OF_NODES = ("prefill", "decode")
_FIELDS = frozenset({"key", "token", "pass", "secret", "topologyKey", "secretKey"})
"""Fields of Kubernetes that only look like names of secrets: they name something."""
_TOLD = Msg(
    "a secret, which every rendered form would show here",
    "机密值，渲染出的各种形式都会在这里把它原样写出",
)
_COPY = Msg(
    "this contains a secret of this profile, and every rendered form would show it here",
    "这里含有本配置文件中的机密值，渲染出的各种形式都会把它原样写出",
)
_HELP = Msg(
    "set it as a variable in env, which every form asks for without showing it; in a patch, refer to a Secret: "
    "valueFrom: {secretKeyRef: {name: NAME, key: KEY}}",
    "把它写成 env 中的变量，各种形式会在运行时索取而不写出；在 patch 中请引用 Secret："
    "valueFrom: {secretKeyRef: {name: NAME, key: KEY}}",
)


def shown_secrets(tree: Node) -> list[Fault]:
    """Return a fault at each secret that a rendered form would copy."""
    parts = [part for name in _COPIED if (part := tree.get(name)) is not None]
    for side in _OF_NODES:
        nodes = tree.get("nodes", side)
        parts += [a for n in (nodes.elements() if nodes else ()) if (a := n.get("address")) is not None]
    if not parts:
        return []
    held = Held.of_values(set(_held(tree)))
    faults: dict[int, Fault] = {}
    for part in parts:
        for node in _told(part):
            faults[id(node)] = Fault("profile", node.origin, _TOLD, help=_HELP)
        for node in part.walk():
            if isinstance(node.value, str) and id(node) not in faults and held.has_copy(node.value):
                faults[id(node)] = Fault("profile", node.origin, _COPY, help=_HELP)
    return list(faults.values())


def _held(tree: Node) -> Iterator[str]:
    """Iterate over the secrets that the rest of the profile holds."""
    for key, part in tree.items():
        if key not in _COPIED:
            yield from _values(part, False)


def _values(node: Node, secret: bool) -> Iterator[str]:
    for key, child in node.items():
        yield from _values(child, secret or tells(key, child.value) or is_secret_flag(key))
    for child in node.elements():
        yield from _values(child, secret)
    if secret and is_held(node.value):
        yield str(node.value)
    elif isinstance(node.value, str):
        yield from (node.value[start:end] for start, end in written_spans(node.value))


def _told(node: Node) -> Iterator[Node]:
    """Iterate over the values that a name tells to be secrets: that of their key, of their entry, or in their text."""
    named, value = node.get("name"), node.get("value")
    if named is not None and value is not None and tells(str(named.value), value.value) and _is_literal(value):
        yield value
    for key, child in node.items():
        if key not in _FIELDS and tells(key, child.value):
            yield from (one for one in (child, *child.elements()) if _is_literal(one))
        yield from _told(child)
    elements = tuple(node.elements())
    for child in elements:
        yield from _told(child)
    words = [child.value for child in elements if isinstance(child.value, str)]
    if len(words) > 1 and any(word.startswith("-") for word in words) and written_spans(json.dumps(words)):
        yield node  # a flag, and its value as the next word
    if isinstance(node.value, str) and written_spans(node.value):
        yield node


def _is_literal(node: Node) -> bool:
    """Whether a value is written out, and does not only name a variable."""
    if not isinstance(node.value, str):
        return is_held(node.value)
    return bool(written_spans(f"A_PASSWORD={json.dumps(node.value)}"))
