"""What an input itself says of an engine's release: comments for pd-launch, the engine's image, lines that install it.

A plan of ours, which is JSON and has no comments, says it as ``target``.

A word holds for its engine: of several in one file, the nearest above the engine counts, and the first where none
is above. Of a YAML file that is asked of the engine's own document first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.launcher.sources.release.installs import Install, installs
from pd_launch.launcher.sources.text.per_file import Place, per_file, places
from pd_launch.launcher.sources.text.remarks import is_remark, is_shown
from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.target import Target, TargetError, ascend_target, parse_target, vllm_target
from pd_launch.schemas.core.values import Origin, SourceFile

By = Literal["comment", "plan", "image", "requirement"]
FAULT = "comment"
"""The kind of fault of a comment that says nothing."""
MAX_COMMENTS = 500
_COMMENT = lazy_pattern(
    r"(?<![^\s\ufeff])#[ \t]*pd-launch(?P<colon>[ \t]*:[ \t]*|[ \t]+)(?P<word>[A-Za-z-]{1,40})(?P<rest>[^\n]*)"
)
_TARGET = lazy_pattern(
    r"(?:[:=][ \t]*)?[\"']?(?P<target>(?:vllm(?:[-_]ascend)?[ \t]*(?:==|:|@)[ \t]*)?[^\s\"',;]+)", re.I
)
_WORDS = ("ignore", "target")
_EXAMPLE = "# pd-launch: target vllm==0.32.0"


class Mention(NamedTuple):
    """One place that speaks of an engine's release.

    ``target`` is None where the release is not known; ``ascend`` is the family, None where the place does not say it.
    """

    target: Target | None
    by: By
    origin: Origin
    text: str
    ascend: bool | None = None


def mentions(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> list[Mention]:
    """Return what an input says of an engine's release, in order of authority: comment, plan, image, what installs it.

    Args:
        node: the engine.
        sources: the files of its deployment by path.
    """
    at = places(node, sources)
    found = [_of_comment(place.source, place.last, place.within) for place in at]
    if not any(found):
        found = [_of_comment(place.source, place.last) for place in at]
    found += [_of_plan(place.source) for place in at]
    found += [_of_container(node), *(_of_text(place, True) for place in at)]
    found += [_of_text(place, False) for place in at]
    return [mention for mention in found if mention is not None]


def target_comment(target: Target) -> str:
    """Return the comment that names a release, without its line end: what a rendered form carries."""
    name = "vllm-ascend" if target.is_ascend else "vllm"
    return f"# pd-launch: target {name}=={target.asked or target.vllm_ascend or target.vllm}"


def comment_above(source: SourceFile, line: int) -> Mention | None:
    """Return the comment that holds for what is on ``line``, or None where the file has none."""
    return _of_comment(source, line)


class _Comment(NamedTuple):
    line: int
    mention: Mention | None
    fault: Fault | None = None


@per_file
def _comments(source: SourceFile) -> list[_Comment]:
    """Return the comments of a file that name a release, or are meant to."""
    if "pd-launch" not in source.text:
        return []
    matches = (match for match in _COMMENT.finditer(source.text) if _speaks(source, match.start()))
    found = (_comment(source, match) for match in islice(matches, MAX_COMMENTS))
    return [comment for comment in found if comment is not None]


def _speaks(source: SourceFile, at: int) -> bool:
    return is_remark(source, at) and not is_shown(source, at)


def comment_faults(source: SourceFile) -> list[Fault]:
    """Return what is wrong with the comments of a file, each fault of kind :data:`FAULT`."""
    return [comment.fault for comment in _comments(source) if comment.fault is not None]


def _comment(source: SourceFile, match: re.Match[str]) -> _Comment | None:
    origin = source.origin(match.start(), match.start("rest") + len(match["rest"].rstrip()))
    word, rest = match["word"], match["rest"].strip()
    if ":" not in match["colon"]:
        named = _named(rest) if word == "target" else None
        fault = _fault(origin, Msg("a colon is missing in this comment", "这条注释缺少冒号")) if named else None
        return _Comment(origin.line, None, fault) if fault else None
    if word == "target":
        return _target(origin, rest)
    near = nearest(word.lower(), _WORDS, 0.6) if word not in _WORDS else None
    if near is None:
        return None  # an ignore comment, or words of the user's own
    en, zh = f"pd-launch has no comment {word!r}: it has no effect", f"pd-launch 没有 {word!r} 这种注释，它没有作用"
    example = _EXAMPLE if near == "target" else "# pd-launch: ignore[PD406]"
    return _Comment(origin.line, None, _fault(origin, Msg(en, zh), example, near))


def _target(origin: Origin, rest: str) -> _Comment:
    match = _TARGET.match(rest)
    try:
        if match is None:
            raise TargetError(Msg("no release is named", "没有写版本"))
        target = parse_target(match["target"], "comment")
    except ValueFault as fault:
        said = Msg(f"this comment names no valid target: {fault}", f"这条注释没有写出目标版本：{fault.said.zh}")
        return _Comment(origin.line, None, _fault(origin, said))
    return _Comment(origin.line, Mention(target, "comment", origin, match["target"], target.is_ascend))


def _named(text: str) -> bool:
    match = _TARGET.match(text)
    return match is not None and re.match(r"vllm(?:[-_]ascend)?[ \t]*==", match["target"], re.IGNORECASE) is not None


def _fault(origin: Origin, said: Msg, example: str = _EXAMPLE, near: str = "") -> Fault:
    hint = Msg(f"did you mean {near}? ", f"是不是想写 {near}？") if near else NOTHING
    return Fault(FAULT, origin, said, help=Msg(f"{hint.en}write {example}", f"{hint.zh}请写 {example}"))


Placed = TypeVar("Placed")


def _nearest(found: Sequence[Placed], line_of: Callable[[Placed], int], line: int) -> Placed | None:
    above = [item for item in found if line_of(item) <= line]
    return above[-1] if above else found[0] if found else None


def _of_comment(source: SourceFile, line: int, within: range | None = None) -> Mention | None:
    read = [comment for comment in _comments(source) if comment.mention is not None]
    read = read if within is None else [comment for comment in read if comment.line in within]
    found = _nearest(read, lambda comment: comment.line, line)
    return found.mention if found else None


@per_file
def _of_plan(source: SourceFile) -> Mention | None:
    """Return what a plan that ``--format json`` printed was made for."""
    if '"format_version"' not in source.text or not source.text.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    try:
        plan = json.loads(source.text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    said = plan.get("target") if isinstance(plan, dict) and "processes" in plan else None
    if not isinstance(said, dict):
        return None
    ascend = said.get("vllm_ascend") is not None
    version = said.get("vllm_ascend" if ascend else "vllm")
    target = _release(ascend, version, "plan") if isinstance(version, str) else None
    start = max(0, source.text.find('"target"'))
    return Mention(target, "plan", source.origin(start, start + len('"target"')), str(version), ascend)


def _of_container(node: NodeLaunch) -> Mention | None:
    image = node.container.image if node.container else None
    written = (image.text.value if image.text else image.string()) if image else None
    if image is None or not written:
        return None
    said = image_name(written)
    return Mention(_release(said.ascend, said.version, "image"), "image", image.origin, written, said.ascend)


def _of_text(place: Place, image: bool) -> Mention | None:
    """Return what the lines of a file install, or which image they run in; vllm-ascend's vLLM is not the release."""
    source = place.source
    found = [install for install in installs(source) if install.image is image and _holds(install, place)]
    found = [install for install in found if install.ascend] or found
    pinned = [install for install in found if install.version is not None] or found
    install = _nearest(pinned, lambda install: install.line, place.last)
    if install is None:
        return None
    by: Literal["image", "requirement"] = "image" if image else "requirement"
    origin = source.origin(install.start, install.end)
    return Mention(_release(install.ascend, install.version, by), by, origin, install.text, install.ascend)


def _holds(install: Install, place: Place) -> bool:
    """Whether an install is one for an engine: not another document's, and none that another command alone is given."""
    return install.line in place.within and (not install.own or place.first <= install.line <= place.last)


def _release(ascend: bool | None, version: str | None, by: Literal["plan", "image", "requirement"]) -> Target | None:
    if ascend is None or version is None:
        return None
    try:
        return (ascend_target if ascend else vllm_target)(version.removeprefix("v"), by)
    except TargetError:
        return None
