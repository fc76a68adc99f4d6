"""Which release an input is checked against: the first known of --target, profile, comment, image, what is installed.

The words of the input itself are read by ``sources/release_words.py`` and ``sources/family_signs.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from pd_launch.launcher.sources.family_signs import signs
from pd_launch.launcher.sources.release_words import By, comment_above, mentions
from pd_launch.schemas.launch import NodeLaunch
from pd_launch.schemas.target import Target, TargetError, ascend_target, newest, vllm_target
from pd_launch.schemas.values import SourceFile

_NO_FILES: Mapping[str, SourceFile] = {}


def families(nodes: Sequence[NodeLaunch], sources: Mapping[str, SourceFile] = _NO_FILES) -> tuple[bool, ...]:
    """Return what an input may be for: Ascend (True), other hardware (False), or both where it gives no sign."""
    said = [sign for node in nodes if (sign := _sign(node, sources)) is not None]
    if not nodes:
        said = [target.is_ascend for target in _alone(sources)[:1]]
    return (True in said,) if said else (True, False)


def is_ascend(nodes: Sequence[NodeLaunch], sources: Mapping[str, SourceFile] = _NO_FILES) -> bool:
    """Whether an input is for Ascend: it says so, or it gives no sign at all."""
    return families(nodes, sources)[0]


def _sign(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> bool | None:
    if node.hardware is None and (named := _of("comment", [node], sources)):
        return named[0].is_ascend
    return signs(node, sources).is_ascend


def decide(
    ascend: bool,
    given: Target | None,
    profile: Target | None,
    nodes: Sequence[NodeLaunch],
    sources: Mapping[str, SourceFile] = _NO_FILES,
) -> Target:
    """Return the target. One of the wrong family is passed over, unless ``--target`` is the only word there is."""
    hardware = any(node.hardware is not None for node in nodes)
    said = _of("comment", nodes, sources) if nodes else _alone(sources)
    said = [target for target in said if target.is_ascend == ascend]
    asked = given is not None and given.decided_by == "--target"
    for target in (given if asked else None, profile, *said, given):
        if target is not None and (target.is_ascend == ascend or (target is given and not hardware)):
            return target
    words: tuple[By, By] = ("image", "requirement")
    found = [target for by in words for target in _of(by, nodes, sources) if target.is_ascend == ascend]
    return found[0] if found else _installed(ascend) or newest(ascend)


def _of(by: By, nodes: Sequence[NodeLaunch], sources: Mapping[str, SourceFile]) -> list[Target]:
    return [m.target for node in nodes for m in mentions(node, sources) if m.by == by and m.target is not None]


def _alone(sources: Mapping[str, SourceFile]) -> list[Target]:
    """Return what comments say in files that hold no engine themselves, as a unit that starts a profile."""
    found = [comment_above(source, 1) for source in sources.values()]
    return [mention.target for mention in found if mention is not None and mention.target is not None]


def _installed(ascend: bool) -> Target | None:
    package, make = ("vllm-ascend", ascend_target) if ascend else ("vllm", vllm_target)
    if find_spec(package.replace("-", "_")) is None:
        return None
    from importlib import metadata  # slow to import, and most machines that check have no engine

    try:
        return make(metadata.version(package), "installed")
    except (metadata.PackageNotFoundError, TargetError):
        return None
