"""What scripts ask engines for with curl: the address, and the model that the request names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.launch import Request
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node, Text

_COMPLETION = lazy_pattern(
    r"(?:http://)?(?:localhost|127\.0\.0\.1|<[\w .-]{1,40}>):(?:\d{1,5}|<[\w .-]{1,40}>)/v1/(?:chat/)?completions\b"
)
"""Where a completion is asked for: this machine, or a placeholder for the one that answers."""
_DATA = lazy_pattern(r"-d|--data(?:-raw|-binary|-ascii)?|--json")


def requested(words: Sequence[Text]) -> Request | None:
    """Return what a command asks for, where it is curl and asks for a completion."""
    if not words or words[0].value != "curl":
        return None
    address = next((word.node() for word in words[1:] if _COMPLETION.match(word.value)), None)
    return None if address is None else Request(address, _model(words))


def _model(words: Sequence[Text]) -> Node | None:
    """Return the model that the body of a request names; None where the body is not there, or not known."""
    for option, word in pairwise(words):
        if _DATA.fullmatch(option.value) and word.value.lstrip().startswith("{"):
            tree, faults = parse_json(word)
            return None if faults else tree.get("model")
    return None
