"""What the name of a container image says: the family of its engine, and its release where the tag is one.

A tag counts only in the repositories whose tags are the engine's own versions or start with one, and in mirrors that
keep their last two parts. What others put after the colon is a version of their own product.
"""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.lazy import lazy_pattern

OFFICIAL = {("vllm", "vllm-openai"): False, ("ascend", "vllm-ascend"): True}
"""Last two parts of the repositories whose tags are versions of vLLM, or of vllm-ascend (True)."""
DERIVED = {("aibrix", "vllm-openai"): (False, "-aibrix")}
"""Images that are built on an official one and named after its tag, before a mark of their own: family and mark.

AIBrix documents its names so: ``aibrix/vllm-openai:v0.10.2-aibrix0.5.0-nixl0.7.1`` is built on
``vllm/vllm-openai:v0.10.2``. It brings connectors and packages of its own, so it is not an official one.
"""
_SCHEME = lazy_pattern(r"(?:docker|oci|docker-daemon)://")
_TAG = lazy_pattern(
    r"v?(?P<version>\d{1,6}(?:\.\d{1,6}){2,3}(?:(?:a|b|rc)\d{1,6}|\.post\d{1,6}|\.dev\d{1,6})?)(?:[-+_].*)?"
)
_ASCEND = lazy_pattern(r"ascend|(?<![a-z])(?:npu|cann)(?![a-z])")
_STOCK = lazy_pattern(
    r"vllm-openai|llm-d|nvcr\.io|(?<![a-z])(?:nvidia|cuda|cu1\d\d|rocm|gpu|cpu|xpu|tpu|dynamo)(?![a-z])"
)
MAX_NAME = 1000


class ImageName(NamedTuple):
    """What a name says. ``ascend`` is None where it names no family, ``version`` None where no release is known."""

    ascend: bool | None
    version: str | None = None
    official: bool = False
    """Whether it is one of the engine's own images, or a mirror of one."""


def image_name(text: str) -> ImageName:
    """Return what an image's name says; parts of it may be unknown."""
    name, tag = _parts(text.strip()[:MAX_NAME])
    parts = tuple(name.split("/")[-2:])
    ascend = OFFICIAL.get(parts) if len(parts) == 2 else None
    if ascend is not None:
        match = _TAG.fullmatch(tag)
        return ImageName(ascend, match["version"] if match else None, True)
    family, mark = DERIVED.get(parts, (None, "")) if len(parts) == 2 else (None, "")
    if family is not None:
        match = _TAG.fullmatch(tag.partition(mark)[0]) if mark in tag else None
        return ImageName(family, match["version"] if match else None)
    return ImageName(_family(f"{name}:{tag.lower()}", parts))


def _parts(text: str) -> tuple[str, str]:
    """Return repository and tag of ``REGISTRY:PORT/NAME:TAG@DIGEST``; enroot writes the first slash as ``#``."""
    scheme = _SCHEME.match(text)
    text = text[scheme.end() :] if scheme else text
    text = text.replace("#", "/", 1).partition("@")[0]
    folder, slash, last = text.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{folder}{slash}{name}".lower(), tag


def _family(name: str, parts: tuple[str, ...]) -> bool | None:
    if _ASCEND.search(name):
        return True
    if parts[-1] == "vllm" or parts[0] == "vllm" or _STOCK.search(name):
        return False
    return None
