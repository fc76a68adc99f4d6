"""Entries for what names the old release itself: target comments, image tags, pinned packages, a profile's target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pd_launch.launcher.rules.edits import Edits
from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.launcher.sources.release.installs import installs
from pd_launch.launcher.sources.release.release_words import comment_above, mentions
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.launcher.upgrade.entries import Entry
from pd_launch.launcher.upgrade.step import Step
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.pairing import ASCEND_PAIRS
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Text

_WHY = Msg("this names the release that the engines run", "这里写的是引擎所用的版本")
_VERSION = lazy_pattern(r"\d{1,6}(?:\.\d{1,6}){1,3}(?:(?:a|b|rc)\d{1,6}|\.post\d{1,6}|\.dev\d{1,6})?")


def version_of(target: Target) -> str:
    """Return a target's version as a tag or pin writes it."""
    if target.build is not None:
        return target.build.shown(target.is_ascend).partition(" ")[0]
    return target.asked or target.row


def pin_entries(
    deployment: Deployment, nodes: Sequence[NodeLaunch], step: Step, texts: Mapping[str, SourceFile]
) -> Iterator[Entry]:
    """Iterate over what names a release of the family, for the engines of ``nodes``."""
    if deployment.renderer is not None or any(node.form == "profile" for node in nodes):
        yield from _of_profiles(texts, step)
    for node in nodes:
        for mention in mentions(node, deployment.sources):
            family = mention.ascend if mention.ascend is not None else mention.target and mention.target.is_ascend
            if mention.origin.file not in texts or family is not step.b.is_ascend:
                continue
            if mention.by == "image":
                yield from _of_image(node, mention.origin, mention.text, step)
            elif mention.by == "comment" and mention.target is not None:
                yield from _of_text(texts[mention.origin.file], mention.origin, mention.text, step)
        if node.origin.file in texts:
            yield from _of_installs(texts[node.origin.file], step)
    for source in texts.values() if not nodes else ():
        mention_above = comment_above(source, 1)
        if mention_above is not None and mention_above.target is not None:
            yield from _of_text(source, mention_above.origin, mention_above.text, step)


def _of_image(node: NodeLaunch, origin: Origin, written: str, step: Step) -> Iterator[Entry]:
    said = image_name(written)
    if said.version is None:
        return
    old, new = said.version, version_of(step.b)
    if _same(old, step.b):
        return
    image = node.container.image if node.container is not None else None
    text = image.text if image is not None else None
    pinned = "@sha256" in written
    after = written.replace(old, new, 1)
    at = written.rfind(old)
    edits = None
    if said.official and not pinned and text is not None and text.value == written and at >= 0:
        edits = lambda: [text.edit(at, at + len(old), new)]  # noqa: E731
    elif not pinned and node.container is None:
        return
    if not said.official:  # its makers name it after two versions: nobody knows which of them belong together
        after = ""
    yield Entry("needed", "image", origin, written, after, _WHY, "", "certain" if edits else "by-hand", "differs",
                edits, frozenset({"image"}), _image_of(new, said.official))  # fmt: skip


def _image_of(new: str, official: bool) -> Msg:
    if official:
        return Msg(f"use the image of {new}", f"改用 {new} 的镜像")
    return Msg(f"use an image that is built on {new}", f"改用基于 {new} 构建的镜像")


def _same(version: str, target: Target) -> bool:
    return version.removeprefix("v") == version_of(target)


def _of_text(source: SourceFile, origin: Origin, written: str, step: Step) -> Iterator[Entry]:
    match = _VERSION.search(written)
    start, end = source.offset(origin.line, origin.column), source.offset(origin.end_line, origin.end_column)
    at = source.text.find(written, start, end)
    if match is None or at < 0 or _same(match[0], step.b):
        return
    new = version_of(step.b)
    span = Text.verbatim(source, at + match.start(), at + match.end())

    def edits() -> list[Edits | None]:
        return [span.edit(0, len(span.value), new)]

    yield Entry("needed", "target", origin, written, written.replace(match[0], new, 1), _WHY, "", "certain", "cleans",
                edits, frozenset(), Msg(f"write {new}", f"改写为 {new}"))  # fmt: skip


def _of_installs(source: SourceFile, step: Step) -> Iterator[Entry]:
    """Iterate over pinned packages and base images; vLLM's own pin beside vllm-ascend's goes to the one of its row."""
    found = installs(source)
    both = any(one.ascend for one in found)
    for one in found:
        if one.version is None or (not one.ascend and step.b.is_ascend and not both):
            continue
        if one.ascend is not step.b.is_ascend and not (both and step.b.is_ascend and not one.image):
            continue
        new = version_of(step.b) if one.ascend is step.b.is_ascend else step.b.vllm
        old = _VERSION.search(one.text.rpartition("==")[2] if "==" in one.text else one.text.rpartition(":")[2])
        if (
            old is None
            or old[0] == new
            or (step.b.is_ascend and not one.ascend and old[0] not in ASCEND_PAIRS.values())
        ):
            continue
        at = source.text.rfind(old[0], one.start, one.end)
        if at < 0:
            continue  # it comes from a variable
        span = Text.verbatim(source, at, at + len(old[0]))
        edits = lambda span=span, new=new: [span.edit(0, len(span.value), new)]  # noqa: E731
        yield Entry("needed", "package", source.origin(one.start, one.end), one.text,
                    one.text.replace(old[0], new, 1), _WHY, "", "certain", "differs", edits,
                    frozenset({"image", "package"}), Msg(f"install {new}", f"安装 {new}"))  # fmt: skip


def _of_profiles(texts: Mapping[str, SourceFile], step: Step) -> Iterator[Entry]:
    for source in texts.values():
        if not source.path.endswith((".yaml", ".yml")):
            continue
        tree = _tree(source)
        target = tree.get("target") if tree is not None and tree.get("version") is not None else None
        if target is None:
            continue
        if isinstance(target.value, dict):
            for key, value in target.items():
                if (key == "vllm_ascend") is step.b.is_ascend and value.text is not None:
                    yield from _of_text(source, value.origin, value.text.value, step)
        elif target.text is not None:
            yield from _of_text(source, target.origin, target.text.value, step)


def _tree(source: SourceFile) -> Node | None:
    documents, _ = parse_yaml(source)
    return documents[0] if documents else None
