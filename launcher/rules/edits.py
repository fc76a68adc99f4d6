"""Text splices that several rules need: write another word, rename a key, remove an entry of a mapping."""

from __future__ import annotations

import re

from pd_launch.launcher.rules.registry import FixEdits, Msg
from pd_launch.schemas.launch import Deployment
from pd_launch.schemas.values import Node, Origin, SourceFile

Edits = tuple[tuple[Origin, str], ...]


def key_origin(deployment: Deployment, node: Node, name: str) -> Origin | None:
    """Return where the key ``name`` of ``node`` is written, or None where it is not found before the value."""
    if node.key is not None:
        return node.key
    source = _source(deployment, node.origin)
    if source is None:
        return None
    start = source.offset(node.origin.line, node.origin.column)
    line = source.text.rfind("\n", 0, start) + 1
    match = re.search(rf"{re.escape(name)}(?=[\"']?\s*[:=]\s*$)", source.text[line:start])
    return source.origin(line + match.start(), line + match.end()) if match else None


def written(deployment: Deployment, origin: Origin | None) -> str | None:
    """Return the text at ``origin`` as it stands in the file; None where that is no text of an input."""
    source = _source(deployment, origin) if origin else None
    return None if source is None or origin is None else source.text[slice(*_span(source, origin))]


def renamed(
    deployment: Deployment, origin: Origin, old: str, new: str, safe: bool = False, message: Msg | None = None
) -> FixEdits | None:
    """Return the fix that writes ``new`` for ``old`` at ``origin``; None where ``old`` does not stand there once."""
    text = written(deployment, origin)
    if text is None or text.count(old) != 1:
        return None
    return FixEdits(message or Msg(f"write {new}", f"改写为 {new}"), ((origin, text.replace(old, new)),), safe)


def rename_key(deployment: Deployment, node: Node, old: str, new: str) -> Edits | None:
    """Return the splice that renames a key and keeps its quotes, or None where the key is not written as ``old``."""
    place = key_origin(deployment, node, old)
    text = written(deployment, place) if place else None
    if place is None or text is None or text.count(old) != 1:
        return None
    return ((place, text.replace(old, new)),)


def remove_entry(deployment: Deployment, node: Node, name: str) -> Edits | None:
    """Return the splice that removes a mapping's entry with one of the commas beside it; None where it is not found."""
    key = key_origin(deployment, node, name)
    source = _source(deployment, node.origin)
    if key is None or source is None or key.file != node.origin.file:
        return None
    start, end = _span(source, key)[0], _span(source, node.origin)[1]
    text = source.text
    if not re.fullmatch(r"[^{}\[\],]*", text[_span(source, key)[1] : _span(source, node.origin)[0]]):
        return None
    after, before = re.match(r"\s*,\s*", text[end:]), re.search(r",\s*$", text[:start])
    if after:
        end += after.end()
    elif before:
        start = before.start()
    elif not text[:start].rstrip().endswith("{"):
        return None
    return ((source.origin(start, end), ""),)


def _source(deployment: Deployment, origin: Origin) -> SourceFile | None:
    return None if origin.via else deployment.sources.get(origin.file)


def _span(source: SourceFile, origin: Origin) -> tuple[int, int]:
    return source.offset(origin.line, origin.column), source.offset(origin.end_line, origin.end_column)
