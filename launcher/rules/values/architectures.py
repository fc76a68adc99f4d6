"""PD007's look at an architecture that ``--hf-overrides`` names: whether the model's own name contradicts it."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node

_PARTS = lazy_pattern(r"[-_]")
_OTHERS = frozenset({"omni", "vision", "ocr", "audio", "captioner", "multimodal"})
"""Words of a name that may stand for what is seen or heard, by whatever class it is read."""


def architectures(node: NodeLaunch, _: Deployment) -> Iterator[Hit]:
    """Yield a class for images and text of a model whose name says that it is for text alone, and the reverse."""
    overrides = node.value("hf-overrides")
    listed = overrides.get("architectures") if overrides is not None else None
    name = node.model.string() if node.model is not None else None
    if listed is None or not name:
        return
    own = name.rstrip("/").rpartition("/")[2]
    for entry in listed.elements() if isinstance(listed.value, list) else ():
        yield from _one(entry, own)


def _one(entry: Node, own: str) -> Iterator[Hit]:
    architecture = entry.string() or ""
    head, is_class, _ = architecture.partition("For")
    sees = "VL" in head
    family = head.replace("VL", "").replace("Moe", "").strip("_").replace("_", ".").lower()
    words = _PARTS.split(own.lower())
    if not is_class or not family or words[0] != family or not _OTHERS.isdisjoint(words) or sees == ("vl" in words):
        return
    kind, kind_zh = ("a vision-language model", "视觉语言模型") if sees else ("a text model", "文本模型")
    yield Hit(
        entry.origin,
        Msg(
            f"{architecture} is the class of {kind}, which {own} is not, judging by its name",
            f"{architecture} 是{kind_zh}的架构，而从名称看，{own} 不是{kind_zh}",
        ),
        Msg("name the architecture of this model, or leave it out", "请写这个模型自己的架构，或者不写"),
        "warning",
    )
